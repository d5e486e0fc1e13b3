package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

// A Route says who is told of which requests, where, and who next if nobody
// looks at them.
type Route struct {
	Match Match
	Steps []Step
}

// A Match says which requests a route is for: those that fit every list which
// is not empty. Rules, Gates, Tools and Agents are patterns of [path.Match].
type Match struct {
	Risks  []string
	Rules  []string
	Gates  []string
	Tools  []string
	Agents []string
	Roles  []string // that policy asks for among the approvers
	Hours  *Hours   // when the request was made
}

// A Step tells some channels when nobody has looked at a request for a time:
// After of it since the request was made or somebody last opened it, voted, or
// had it claimed.
type Step struct {
	After    time.Duration
	Channels []string
	// People and Roles are whom the step is for, besides those whom policy asks:
	// they are told by their names in the channel.
	People []string
	Roles  []string
}

// Hours are a time of day in a zone, on some days of the week. Where they end
// before they begin they end on the next day.
type Hours struct {
	From, To time.Duration  // since midnight, by the clock on the wall
	Zone     *time.Location // nil: that of this machine
	Days     []time.Weekday // on which they begin; none: all
}

// Quiet are hours in which a channel tells nobody of new requests, but for
// those whose risk is in Pass. What comes then is told when they end.
type Quiet struct {
	Hours
	Pass []string
}

// routes are the configured ones, and know where everybody can be reached.
type routes struct {
	all    []Route
	people func() *people.People
}

// validate says what is wrong with the routes, among the channels that there are.
func (r routes) validate(channels map[string]bool) error {
	var errs []error
	for i, one := range r.all {
		if len(one.Steps) == 0 {
			errs = append(errs, fmt.Errorf("routes[%d]: it tells nobody", i))
		}
		for _, s := range one.Steps {
			for _, name := range s.Channels {
				if !channels[name] {
					errs = append(errs, fmt.Errorf("routes[%d]: there is no channel %q", i, name))
				}
			}
		}
		for _, pattern := range slices.Concat(one.Match.Rules, one.Match.Gates, one.Match.Tools, one.Match.Agents) {
			if _, err := path.Match(pattern, ""); err != nil {
				errs = append(errs, fmt.Errorf("routes[%d]: %q is no pattern", i, pattern))
			}
		}
	}
	return errors.Join(errs...)
}

// plan says when a channel is to tell of a pending request, and whom; ok is
// false where it is not to; late says that others were told before. Looked is when somebody is known to have opened
// the request last. Where no route fits, every channel tells at once: a
// question that nobody sees is the worse fault.
func (r routes) plan(q approvals.Request, channel string, looked time.Time) (at time.Time, to []string, late, ok bool) {
	i := slices.IndexFunc(r.all, func(one Route) bool { return one.Match.fits(q) })
	if i < 0 {
		return q.CreatedAt, r.users(q, channel, Step{}), false, true
	}
	for _, s := range r.all[i].Steps {
		if !slices.Contains(s.Channels, channel) {
			continue
		}
		due := q.CreatedAt
		if s.After > 0 {
			due = latest(q, looked).Add(s.After)
		}
		if !ok || due.Before(at) {
			at, to, late, ok = due, r.users(q, channel, s), s.After > 0, true
		}
	}
	return at, to, late, ok
}

// latest is when somebody was busy with the request last.
func latest(q approvals.Request, looked time.Time) time.Time {
	at := q.CreatedAt
	for _, v := range q.Votes {
		if v.At.After(at) {
			at = v.At
		}
	}
	if q.Claim != nil && q.Claim.Until.After(at) {
		at = q.Claim.Until
	}
	if looked.After(at) {
		at = looked
	}
	return at
}

func (m Match) fits(q approvals.Request) bool {
	tool := ""
	if q.Call.Tool != nil {
		tool = q.Call.Tool.Name
	}
	for _, f := range []struct {
		patterns []string
		value    string
	}{{m.Rules, q.Rule}, {m.Gates, q.Gate}, {m.Tools, tool}, {m.Agents, q.Agent.ID}} {
		if len(f.patterns) > 0 && !slices.ContainsFunc(f.patterns, func(p string) bool {
			ok, err := path.Match(p, f.value)
			return err == nil && ok
		}) {
			return false
		}
	}
	if len(m.Risks) > 0 && !slices.Contains(m.Risks, string(q.Risk)) {
		return false
	}
	if len(m.Roles) > 0 && !slices.ContainsFunc(m.Roles, func(role string) bool { return slices.Contains(q.Approvers.Roles, role) }) {
		return false
	}
	return m.Hours == nil || m.Hours.has(q.CreatedAt)
}

// users are the channel's users that a request is for: those of the people
// whom policy or the step names, by name or role. None where neither names
// anybody, or nobody of them is there.
func (r routes) users(q approvals.Request, channel string, s Step) (to []string) {
	roles, names := slices.Concat(q.Approvers.Roles, s.Roles), slices.Concat(q.Approvers.Users, s.People)
	for _, e := range q.Approvers.Escalate[:min(q.Escalated, len(q.Approvers.Escalate))] {
		roles, names = append(roles, e.Roles...), append(names, e.Users...)
	}
	for _, d := range q.Delegations {
		names = append(names, d.To)
	}
	people := r.people()
	if people == nil || people.Alone() {
		return nil
	}
	for _, p := range people.All() {
		if !slices.Contains(names, p.Name) && !slices.ContainsFunc(roles, p.Has) {
			continue
		}
		to = append(to, accounts(p, channel)...)
	}
	return to
}

// voters are the channel's users who may approve a request.
func (r routes) voters(q approvals.Request, channel string) (users []string) {
	people := r.people()
	if people == nil {
		return nil
	}
	for _, p := range q.Able(people) {
		users = append(users, accounts(p, channel)...)
	}
	return users
}

// accounts are a person's names in a channel.
func accounts(p people.Person, channel string) (users []string) {
	for _, a := range p.Accounts {
		if user, ok := cutChannel(a, channel); ok {
			users = append(users, user)
		}
	}
	return users
}

func cutChannel(account, channel string) (user string, ok bool) {
	if len(account) <= len(channel) || account[:len(channel)] != channel || account[len(channel)] != ':' {
		return "", false
	}
	return account[len(channel)+1:], true
}

// has reports whether the moment is in the hours.
func (h *Hours) has(at time.Time) bool {
	_, in := h.endsAt(at)
	return in
}

// endsAt returns when the hours that the moment is in are over.
func (h *Hours) endsAt(at time.Time) (end time.Time, in bool) {
	zone := h.Zone
	if zone == nil {
		zone = time.Local
	}
	at = at.In(zone)
	for back := range 2 { // those that begin today, and those that began yesterday
		day := time.Date(at.Year(), at.Month(), at.Day()-back, 0, 0, 0, 0, zone)
		if len(h.Days) > 0 && !slices.Contains(h.Days, day.Weekday()) {
			continue
		}
		from, to := clock(day, h.From, 0), clock(day, h.To, 0)
		if h.To <= h.From {
			to = clock(day, h.To, 1)
		}
		if !at.Before(from) && at.Before(to) {
			return to, true
		}
	}
	return time.Time{}, false
}

// clock is when a clock on the wall shows the time, some days after the day.
func clock(day time.Time, since time.Duration, days int) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day()+days, int(since.Hours()), int(since.Minutes())%60, 0, 0, day.Location())
}

// until returns when a request may be told that could be told at the moment.
func (q *Quiet) until(at time.Time, risk string) time.Time {
	if q == nil || slices.Contains(q.Pass, risk) {
		return at
	}
	for range 8 { // quiet hours that follow each other, a week at most
		end, in := q.endsAt(at)
		if !in {
			break
		}
		at = end
	}
	return at
}
