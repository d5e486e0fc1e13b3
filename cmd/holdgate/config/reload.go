package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// reloadable are the keys of the file whose values can be replaced while the sidecar
// runs.
var reloadable = []string{"approver", "people", "agents", "credentials", "routes", "gates", "prices",
	"limits.pending", "limits.held_bytes", "limits.decisions_per_second", "limits.log_bytes_per_hour"}

// With is c with what can be replaced while the sidecar runs as n has it.
func (c Config) With(n Config) Config {
	c.File, c.Digest = n.File, n.Digest
	c.Approver, c.People, c.Agents, c.Credentials, c.Routes, c.Gates = n.Approver, n.People, n.Agents, n.Credentials, n.Routes, n.Gates
	c.Prices = n.Prices
	l := &c.Limits
	l.Pending, l.HeldBytes, l.Decisions, l.LogBytes = n.Limits.Pending, n.Limits.HeldBytes, n.Limits.Decisions, n.Limits.LogBytes
	return c
}

// NeedsRestart are the keys that differ between two configurations and that a
// sidecar takes up at its start alone, as listen.approvers or plugins.slack.
func NeedsRestart(was, is Config) []string {
	var keys []string
	differing("", reflect.ValueOf(was), reflect.ValueOf(is), &keys)
	return keys
}

// differing adds the keys below prefix that differ: of structs and of maps by name
// each, of everything else as a whole.
func differing(prefix string, was, is reflect.Value, keys *[]string) {
	join := func(name string) string { return strings.TrimPrefix(prefix+"."+name, ".") }
	switch was.Kind() {
	case reflect.Struct:
		for f := range was.Type().Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "-" || !f.IsExported() || slices.Contains(reloadable, join(name)) {
				continue
			}
			differing(join(name), was.FieldByIndex(f.Index), is.FieldByIndex(f.Index), keys)
		}
	case reflect.Map:
		for _, name := range slices.Sorted(maps.Keys(named(was, is))) {
			a, b := was.MapIndex(reflect.ValueOf(name)), is.MapIndex(reflect.ValueOf(name))
			if !a.IsValid() || !b.IsValid() || !reflect.DeepEqual(a.Interface(), b.Interface()) {
				*keys = append(*keys, join(name))
			}
		}
	default:
		if !reflect.DeepEqual(was.Interface(), is.Interface()) {
			*keys = append(*keys, prefix)
		}
	}
}

// named are the keys of both maps.
func named(was, is reflect.Value) map[string]bool {
	names := map[string]bool{}
	for _, m := range []reflect.Value{was, is} {
		for _, k := range m.MapKeys() {
			names[k.String()] = true
		}
	}
	return names
}

// A Change is what differs between two configurations of what can be replaced while
// the sidecar runs. Its lines are for people, and hold no secret.
type Change struct {
	Lines []string // everything that differs
	// Loosens are those changes after which somebody can do more than before, or is
	// told of less: what people, roles, routes and credentials no longer ask for.
	Loosens []string
}

// Empty reports whether nothing differs.
func (c Change) Empty() bool { return len(c.Lines) == 0 }

func (c *Change) add(loosens bool, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	c.Lines = append(c.Lines, line)
	if loosens {
		c.Loosens = append(c.Loosens, line)
	}
}

// Compare says what differs. What it cannot tell counts as looser.
func Compare(was, is Config) Change {
	var c Change
	c.people(was, is)
	c.agents(was, is)
	c.credentials(was.Credentials, is.Credentials)
	c.routes(was.Routes, is.Routes)
	c.gates(was.Gates, is.Gates)
	c.limits(was.Limits, is.Limits)
	if !reflect.DeepEqual(was.Prices, is.Prices) {
		c.add(true, "prices are changed") // a budget may be used up later, or an unknown cost become 0
	}
	return c
}

// limits compares what one agent may have, ask for and write. More is looser.
func (c *Change) limits(was, is Limits) {
	for _, l := range []struct {
		key     string
		was, is int64
		shown   [2]fmt.Stringer
	}{
		{"limits.pending", int64(was.Pending), int64(is.Pending), [2]fmt.Stringer{count(was.Pending), count(is.Pending)}},
		{"limits.held_bytes", int64(was.HeldBytes), int64(is.HeldBytes), [2]fmt.Stringer{was.HeldBytes, is.HeldBytes}},
		{"limits.decisions_per_second", int64(was.Decisions), int64(is.Decisions), [2]fmt.Stringer{count(was.Decisions), count(is.Decisions)}},
		{"limits.log_bytes_per_hour", int64(was.LogBytes), int64(is.LogBytes), [2]fmt.Stringer{was.LogBytes, is.LogBytes}},
	} {
		if l.was != l.is {
			c.add(l.is > l.was, "%s is %s, and was %s", l.key, l.shown[1], l.shown[0])
		}
	}
}

// agents compares who is known by what. An agent that somebody else can pass for
// now has what people granted to it, and a new one what credentials are for all.
func (c *Change) agents(was, is Config) {
	for _, name := range both(was.Agents, is.Agents) {
		old, had := was.Agents[name]
		n, has := is.Agents[name]
		switch {
		case !has:
			c.add(false, "agent %s is removed", name)
		case !had:
			uses := usable(is.Credentials, name)
			c.add(len(uses) > 0, "agent %s is added%s", name, prefixed(", who may use the credentials ", uses))
		case !reflect.DeepEqual(old, n):
			c.add(old.looser(n), "agent %s is changed", name)
		}
	}
}

// looser reports whether somebody can pass for the agent who could not before, or
// whom it works for has changed.
func (a Agent) looser(n Agent) bool {
	token := n.TokenSHA256 != (TokenHash{}) && n.TokenSHA256 != a.TokenSHA256
	user := a.UID != nil && (n.UID == nil || *n.UID != *a.UID)
	word := n.AuthZEN != nil && (a.AuthZEN == nil || n.AuthZEN.Subject == SubjectTrusted && a.AuthZEN.Subject != SubjectTrusted)
	return token || user || word || !subset(n.ServiceAccounts, a.ServiceAccounts) || a.Labels["owner"] != n.Labels["owner"]
}

// usable are the credentials that an agent of the name may use.
func usable(all map[string]*Credential, agent string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].isFor(agent) {
			names = append(names, name)
		}
	}
	return names
}

// credentials compares what Holdgate holds for agents. Only fewer agents are less:
// where one is gone, its placeholder would go out in its place.
func (c *Change) credentials(was, is map[string]*Credential) {
	for _, name := range both(was, is) {
		old, n := was[name], is[name]
		switch {
		case n == nil:
			c.add(true, "credential %s is removed", name)
		case old == nil:
			c.add(true, "credential %s is added", name)
		case !reflect.DeepEqual(*old, *n):
			less := *old
			less.Agents = n.Agents
			narrower := reflect.DeepEqual(less, *n) && len(n.Agents) > 0 && (len(old.Agents) == 0 || subset(n.Agents, old.Agents))
			c.add(!narrower, "credential %s is changed", name)
		}
	}
}

// routes compares who is told of what.
func (c *Change) routes(was, is []Route) {
	switch {
	case len(was) == len(is) && (len(was) == 0 || reflect.DeepEqual(was, is)):
	case len(is) == 0:
		c.add(true, "there are no routes any more")
	default:
		wider := len(was) == len(is)
		for i := range was {
			wider = wider && was[i].within(is[i])
		}
		c.add(!wider, "routes are changed, from %d to %d", len(was), len(is))
	}
}

// within reports whether n tells of the same requests, of each all that r tells, and
// no later.
func (r Route) within(n Route) bool {
	if !reflect.DeepEqual(r.Match, n.Match) || !r.Step.within(n.Step) || len(r.Then) > len(n.Then) {
		return false
	}
	for i, next := range r.Then {
		if n.Then[i].After > next.After || !next.Step.within(n.Then[i].Step) {
			return false
		}
	}
	return true
}

func (s Step) within(n Step) bool {
	return subset(s.Tell, n.Tell) && subset(s.People, n.People) && subset(s.Roles, n.Roles)
}

// gates compares the types of gate. One may be changed as a rule may; that all are
// gone is what an empty file says.
func (c *Change) gates(was, is map[string]Gate) {
	if len(was) > 0 && len(is) == 0 {
		c.add(true, "there are no gates any more")
		return
	}
	for _, name := range both(was, is) {
		old, had := was[name]
		n, has := is[name]
		switch {
		case !has:
			c.add(false, "gate %s is removed", name)
		case !had:
			c.add(false, "gate %s is added", name)
		case !reflect.DeepEqual(old, n):
			c.add(false, "gate %s is changed", name)
		}
	}
}

// both are the names in either map, sorted.
func both[K ~string, V any](was, is map[K]V) []K {
	all := maps.Clone(was)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, is)
	return slices.Sorted(maps.Keys(all))
}

func subset(of, in []string) bool {
	return !slices.ContainsFunc(of, func(s string) bool { return !slices.Contains(in, s) })
}

// prefixed is a list behind words, and nothing where it is empty.
func prefixed(words string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return words + strings.Join(list, ", ")
}
