package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/roster"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// People are who may answer: those whom the configuration names, and the holder
// of the state folder's token, who has every role unless it says otherwise.
func People(c config.Config) (*people.People, error) {
	p, _, err := known(c, nil, nil)
	return p, err
}

// A signed is somebody who has signed in at the OpenID Connect provider.
type signed struct {
	name   string   // as the provider says it
	roles  []string // that their groups give
	tokens []api.TokenHash
}

// account is how a person is linked to what the provider calls them.
func (s signed) account() string { return config.ChannelOIDC + ":" + s.name }

// is reports whether somebody who has signed in is the person.
func (s signed) is(p people.Person) bool { return slices.Contains(p.Accounts, s.account()) }

// known are the people of a configuration with those who were added, and without those
// who were removed, while the sidecar ran, and with those who have signed in at the
// provider; and whose each of their tokens is.
func known(c config.Config, entries []roster.Entry, in []signed) (*people.People, []api.Credential, error) {
	if len(c.People) == 0 && len(entries) == 0 && !c.OIDC.On() {
		return people.Alone(c.Approver), nil, nil
	}
	var list []people.Person
	var tokens []api.Credential
	var gone []string // accounts of people who were removed
	for _, name := range slices.Sorted(maps.Keys(c.People)) {
		p := c.People[name]
		if removed(entries, string(name)) {
			gone = append(gone, config.ChannelOIDC+":"+p.Channels[config.ChannelOIDC])
			continue
		}
		list = append(list, personOf(string(name), p))
		if p.TokenSHA256 != (config.TokenHash{}) {
			tokens = append(tokens, api.Credential{Person: string(name), Token: api.TokenHash(p.TokenSHA256)})
		}
	}
	for _, e := range entries {
		if e.Removed {
			gone = append(gone, e.Accounts...)
			continue
		}
		list = append(list, people.Person{Name: e.Name, Roles: slices.Clone(e.Roles), Accounts: e.Accounts})
		if len(e.Token) == len(api.TokenHash{}) {
			tokens = append(tokens, api.Credential{Person: e.Name, Token: api.TokenHash(e.Token)})
		}
	}
	if _, named := c.People[config.PersonName(c.Approver)]; !named {
		list = append(list, people.Person{Name: c.Approver, Roles: []string{people.RoleApprove, people.RoleOperate, people.RoleAdmin}})
	}
	for _, s := range in {
		name := s.join(&list, slices.Contains(gone, s.account()) || removed(entries, s.name))
		for _, t := range s.tokens {
			if name != "" {
				tokens = append(tokens, api.Credential{Person: name, Token: t})
			}
		}
	}
	all, err := people.New(c.Approver, list)
	if err != nil {
		return nil, nil, fmt.Errorf("people: %w", err)
	}
	return all, tokens, nil
}

// join adds somebody who has signed in to the people, and returns as whom they count:
// the person who is linked to them, with the roles of their groups besides, or somebody
// of their own. It is nobody where they were removed, where another person has the name,
// and where no group of theirs has a role.
func (s signed) join(list *[]people.Person, removed bool) string {
	if removed {
		return ""
	}
	if i := slices.IndexFunc(*list, s.is); i >= 0 {
		p := &(*list)[i]
		for _, r := range s.roles {
			if !slices.Contains(p.Roles, r) {
				p.Roles = append(p.Roles, r)
			}
		}
		return p.Name
	}
	if len(s.roles) == 0 || slices.ContainsFunc(*list, func(p people.Person) bool { return p.Name == s.name }) {
		return ""
	}
	*list = append(*list, people.Person{Name: s.name, Roles: slices.Clone(s.roles), Accounts: []string{s.account()}})
	return s.name
}

// personOf is a person as the configuration has them.
func personOf(name string, p config.Person) people.Person {
	person := people.Person{Name: name}
	for _, r := range p.Roles {
		person.Roles = append(person.Roles, string(r))
	}
	for _, channel := range slices.Sorted(maps.Keys(p.Channels)) {
		person.Accounts = append(person.Accounts, channel+":"+p.Channels[channel])
	}
	for _, k := range p.Passkeys {
		person.Passkeys = append(person.Passkeys, string(k))
	}
	return person
}

// removed reports whether whoever has the name was removed.
func removed(entries []roster.Entry, name string) bool {
	return slices.ContainsFunc(entries, func(e roster.Entry) bool { return e.Removed && e.Name == name })
}
