package app

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/roster"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// maxRoster bounds how many people are added and removed while the sidecar runs.
const maxRoster = 1000

var _ api.Roster = (*configs)(nil)

// People implements [api.Roster].
func (c *configs) People() []api.PersonState {
	n := c.a.current.Load()
	var list []api.PersonState
	for _, name := range slices.Sorted(maps.Keys(n.c.People)) {
		p := n.c.People[name]
		s := api.PersonState{Name: string(name), Source: api.SourceFile, Roles: []string{}}
		for _, r := range p.Roles {
			s.Roles = append(s.Roles, string(r))
		}
		for _, channel := range slices.Sorted(maps.Keys(p.Channels)) {
			s.Accounts = append(s.Accounts, channel+":"+p.Channels[channel])
		}
		s.Token = p.TokenSHA256 != (config.TokenHash{}) || s.Name == n.c.Approver
		if i := slices.IndexFunc(n.roster, func(e roster.Entry) bool { return e.Removed && e.Name == s.Name }); i >= 0 {
			s.Removed, s.By, s.At = true, n.roster[i].By, n.roster[i].At
		}
		list = append(list, s)
	}
	for _, e := range n.roster {
		switch _, ofFile := n.c.People[config.PersonName(e.Name)]; {
		case e.Removed && !ofFile:
			list = append(list, api.PersonState{Name: e.Name, Source: api.SourceProvider, Roles: []string{}, Removed: true, By: e.By, At: e.At})
		case !e.Removed:
			list = append(list, api.PersonState{Name: e.Name, Source: api.SourceHere, Roles: e.Roles, Accounts: e.Accounts, Token: len(e.Token) > 0, By: e.By, At: e.At})
		}
	}
	if _, named := n.c.People[config.PersonName(n.c.Approver)]; !named {
		list = append(list, api.PersonState{Name: n.c.Approver, Source: api.SourceLocal, Roles: []string{people.RoleApprove, people.RoleOperate, people.RoleAdmin}, Token: true})
	}
	for _, p := range n.queue.People.All() {
		if !slices.ContainsFunc(list, func(s api.PersonState) bool { return s.Name == p.Name }) {
			list = append(list, api.PersonState{Name: p.Name, Source: api.SourceProvider, Roles: p.Roles, Accounts: p.Accounts})
		}
	}
	for i, s := range list {
		linked := slices.ContainsFunc(s.Accounts, func(a string) bool { return strings.HasPrefix(a, config.ChannelOIDC+":") })
		list[i].Unlinked = n.c.OIDC.On() && !linked && !s.Removed && slices.Contains(s.Roles, people.RoleApprove)
	}
	slices.SortFunc(list, func(a, b api.PersonState) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// warnUnlinked warns of people who would count twice for a quorum: once as who they are
// here, and once as whom the provider calls something else. It says so of the same people
// once.
func (c *configs) warnUnlinked() {
	var names []string
	for _, p := range c.People() {
		if p.Unlinked {
			names = append(names, p.Name)
		}
	}
	if slices.Equal(names, c.unlinked) {
		return
	}
	if c.unlinked = names; len(names) > 0 {
		c.a.log.Warn("these people can answer twice: once under their name here, and once under the name that they sign in with; to make both one person, add their sign-in name to each of them in the configuration", "people", strings.Join(names, ", "), "key", "channels."+config.ChannelOIDC)
	}
}

// PutPerson implements [api.Roster].
func (c *configs) PutPerson(ctx context.Context, by, name string, p api.PersonPut) error {
	return c.changeRoster(ctx, by, name, func(n *inForce, was *roster.Entry) (*roster.Entry, string, error) {
		e, err := entryOf(name, p)
		if err != nil {
			return nil, "", &api.RosterError{Text: err.Error()}
		}
		if was != nil && was.Removed {
			return nil, "", &api.RosterError{Text: name + " was removed by " + was.By + ": restore them first"}
		}
		for _, a := range e.Accounts {
			if i := slices.IndexFunc(n.roster, func(o roster.Entry) bool {
				return o.Removed && (slices.Contains(o.Accounts, a) || inFile(n.c.People, o.Name, a))
			}); i >= 0 {
				return nil, "", &api.RosterError{Text: a + " is of " + n.roster[i].Name + ", who was removed: restore them first"}
			}
			channel, _, _ := strings.Cut(a, ":")
			if _, known := n.c.Plugins[channel]; !known && !(channel == config.ChannelOIDC && n.c.OIDC.On()) {
				return nil, "", &api.RosterError{Text: fmt.Sprintf("there is no channel %q: plugins in the configuration names those that there are", channel)}
			}
		}
		note := "%s added %s, with " + wordsOf(e.Roles)
		if was != nil {
			note = "%s changed %s, who has " + wordsOf(e.Roles) + "; before: " + strings.ReplaceAll(wordsOf(was.Roles), "%", "%%")
			switch {
			case p.TokenSHA256 == "":
				e.Token = was.Token
			case len(was.Token) > 0:
				note += ", and a new token in place of the old one"
			}
		}
		if len(e.Token) == 0 && len(e.Accounts) == 0 {
			return nil, "", &api.RosterError{Text: name + " has neither a token nor a user on a channel, so that nobody can be known as them"}
		}
		return &e, fmt.Sprintf(note, by, name), nil
	})
}

// inFile reports whether the configuration's file gives a person the account.
func inFile(people map[config.PersonName]config.Person, name, account string) bool {
	channel, user, _ := strings.Cut(account, ":")
	p, ok := people[config.PersonName(name)]
	return ok && p.Channels[channel] == user && user != ""
}

// entryOf reads what is put.
func entryOf(name string, p api.PersonPut) (roster.Entry, error) {
	e := roster.Entry{Name: name, Roles: p.Roles, Accounts: p.Accounts}
	if _, err := config.ParsePersonName(name); err != nil {
		return e, err
	}
	for _, r := range p.Roles {
		if _, err := config.ParseRole(r); err != nil {
			return e, err
		}
	}
	if p.TokenSHA256 != "" {
		b, err := hex.DecodeString(p.TokenSHA256)
		if err != nil || len(b) != len(api.TokenHash{}) || api.TokenHash(b) == (api.TokenHash{}) {
			return e, errors.New("token_sha256: the SHA-256 of a token has 64 hex digits")
		}
		e.Token = b
	}
	return e, nil
}

func wordsOf(roles []string) string {
	if len(roles) == 0 {
		return "no role"
	}
	if len(roles) == 1 {
		return "the role " + roles[0]
	}
	return "the roles " + strings.Join(roles, ", ")
}

// RemovePerson implements [api.Roster].
func (c *configs) RemovePerson(ctx context.Context, by, name string) error {
	return c.changeRoster(ctx, by, name, func(n *inForce, was *roster.Entry) (*roster.Entry, string, error) {
		_, ofFile := n.c.People[config.PersonName(name)]
		switch {
		case name == n.c.Approver:
			return nil, "", &api.RosterError{Text: name + " holds the state folder's token, and is removed with it alone"}
		case ofFile && was == nil:
			return &roster.Entry{Name: name, Removed: true}, by + " removed " + name + ", until the configuration no longer names them", nil
		case was != nil && was.Removed:
			return nil, "", api.ErrNoPerson
		case was != nil && !n.c.OIDC.On():
			return nil, by + " removed " + name, nil
		case was != nil:
			return goneAtProvider(name, was.Accounts), by + " removed " + name + ", at the provider too", nil
		case n.c.OIDC.On() && wellFormed(name):
			return goneAtProvider(name, nil), by + " removed " + name + ", who signs in at the provider", nil
		}
		return nil, "", api.ErrNoPerson
	})
}

// goneAtProvider says that somebody was removed, so that they do not count again by signing
// in at the provider: under their name, and under what they were linked to.
func goneAtProvider(name string, accounts []string) *roster.Entry {
	e := &roster.Entry{Name: name, Removed: true, Accounts: []string{signed{name: name}.account()}}
	for _, a := range accounts {
		if strings.HasPrefix(a, config.ChannelOIDC+":") && !slices.Contains(e.Accounts, a) {
			e.Accounts = append(e.Accounts, a)
		}
	}
	return e
}

// wellFormed reports whether somebody at the provider could have the name here.
func wellFormed(name string) bool {
	_, err := people.New("", []people.Person{{Name: name, Roles: []string{people.RoleApprove}, Accounts: []string{signed{name: name}.account()}}})
	return err == nil
}

// RestorePerson implements [api.Roster].
func (c *configs) RestorePerson(ctx context.Context, by, name string) error {
	return c.changeRoster(ctx, by, name, func(_ *inForce, was *roster.Entry) (*roster.Entry, string, error) {
		if was == nil || !was.Removed {
			return nil, "", api.ErrNoPerson
		}
		return nil, by + " took back that " + name + " was removed: they count again as the configuration and the provider say", nil
	})
}

// changeRoster puts what make makes of the entry of a name in force, nil deletes it,
// and writes it into the store with its audit entry. by must have the role admin.
func (c *configs) changeRoster(ctx context.Context, by, name string, make func(n *inForce, was *roster.Entry) (*roster.Entry, string, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.a.current.Load()
	if err := entitled(by)(n.queue); err != nil {
		return err
	}
	list := slices.Clone(n.roster)
	i := slices.IndexFunc(list, func(e roster.Entry) bool { return e.Name == name })
	var was *roster.Entry
	if i >= 0 {
		was = &n.roster[i]
		list = slices.Delete(list, i, i+1)
	}
	e, note, err := make(n, was)
	if err != nil {
		return err
	}
	if e != nil {
		e.By, e.At = by, time.Now().UTC().Truncate(time.Second)
		if _, ofFile := n.c.People[config.PersonName(name)]; !e.Removed && (ofFile || name == n.c.Approver) {
			return &api.RosterError{Text: name + " is of the configuration, and is changed there"}
		}
		list = append(list, *e)
	}
	if len(list) > maxRoster {
		return &api.RosterError{Text: fmt.Sprintf("at most %d people are added or removed here: name them in the configuration", maxRoster)}
	}
	if c.a.o.Auto != "" {
		return &api.RosterError{Text: "every request is answered by itself (--auto), which is none of the people"}
	}
	slices.SortFunc(list, func(a, b roster.Entry) int { return cmp.Compare(a.Name, b.Name) })
	next, err := n.withPeople(c.a, list, n.signed)
	if err != nil {
		return &api.RosterError{Text: err.Error()}
	}
	if n.administered() && !next.administered() {
		return &api.RosterError{Text: "nobody with a token would have the role admin any more"}
	}
	write := func(tx store.Tx) error {
		if e == nil {
			return roster.Delete(tx, name)
		}
		return roster.Put(tx, *e)
	}
	entry := audit.Entry{Type: audit.TypePeople, Note: note}
	if err := c.a.queue.Replace(context.WithoutCancel(ctx), record.EventConfig, entry, entitled(by), write, func() { c.a.current.Store(next) }); err != nil {
		return err
	}
	c.a.log.Warn("who may answer has changed", "what", note)
	c.remake()
	c.follow(ctx, next)
	return nil
}

// entitled refuses whoever has not the role admin among those who may answer; by is
// empty where nobody needs to.
func entitled(by string) func(approvals.InForce) error {
	return func(in approvals.InForce) error {
		if p, known := in.People.Find(by); by != "" && !(known && p.Has(people.RoleAdmin)) {
			return people.ErrNotEntitled
		}
		return nil
	}
}

// administered reports whether somebody who has a token has the role admin, whatever the
// provider says.
func (n *inForce) administered() bool {
	all, tokens, err := known(n.c, n.roster, nil)
	return err == nil && slices.ContainsFunc(append(tokens, api.Credential{Person: n.c.Approver}), func(t api.Credential) bool {
		p, known := all.Find(t.Person)
		return known && p.Has(people.RoleAdmin)
	})
}

// remake makes what waits to be accepted anew, with the roster of now.
func (c *configs) remake() {
	if c.next == nil {
		return
	}
	next, err := c.make(c.next.c)
	if err != nil {
		c.state.Waiting, c.next, c.state.Fault = nil, nil, err.Error()
		return
	}
	c.next = next
}

// openRoster takes up who was added and removed before, in place of the configuration's
// people alone.
func (a *App) openRoster(ctx context.Context) error {
	list, err := roster.Load(ctx, a.store)
	if err != nil || len(list) == 0 {
		return err
	}
	if a.o.Auto != "" {
		return errors.New("--auto answers every request by itself, which is none of the people that were added on the page: remove them, or leave it out")
	}
	kept, over := roster.Settle(list, namedIn(a.c))
	next, err := a.current.Load().withPeople(a, kept, nil)
	if err != nil {
		return fmt.Errorf("with the people that were added on the page: %w", err)
	}
	err = a.store.Update(ctx, func(tx store.Tx) error { return a.settle(over)(tx) })
	if err == nil {
		a.current.Store(next)
	}
	return err
}

// namedIn reports whether a configuration names a person.
func namedIn(c config.Config) func(name string) bool {
	return func(name string) bool {
		_, named := c.People[config.PersonName(name)]
		return named || name == c.Approver
	}
}

// settle deletes entries that count no longer.
func (a *App) settle(over []roster.Entry) func(store.Tx) error {
	return func(tx store.Tx) error {
		for _, e := range over {
			if err := roster.Delete(tx, e.Name); err != nil {
				return err
			}
		}
		return nil
	}
}
