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
func People(c config.Config) (*people.People, error) { return peopleWith(c, nil) }

// peopleWith are the people of a configuration with those who were added, and without
// those who were removed, while the sidecar ran.
func peopleWith(c config.Config, entries []roster.Entry) (*people.People, error) {
	if len(c.People) == 0 && len(entries) == 0 {
		return people.Alone(c.Approver), nil
	}
	var list []people.Person
	for _, name := range slices.Sorted(maps.Keys(c.People)) {
		if removed(entries, string(name)) {
			continue
		}
		p := c.People[name]
		person := people.Person{Name: string(name)}
		for _, r := range p.Roles {
			person.Roles = append(person.Roles, string(r))
		}
		for _, channel := range slices.Sorted(maps.Keys(p.Channels)) {
			person.Accounts = append(person.Accounts, channel+":"+p.Channels[channel])
		}
		for _, k := range p.Passkeys {
			person.Passkeys = append(person.Passkeys, string(k))
		}
		list = append(list, person)
	}
	for _, e := range entries {
		if !e.Removed {
			list = append(list, people.Person{Name: e.Name, Roles: e.Roles, Accounts: e.Accounts})
		}
	}
	if _, named := c.People[config.PersonName(c.Approver)]; !named {
		list = append(list, people.Person{Name: c.Approver, Roles: []string{people.RoleApprove, people.RoleOperate, people.RoleAdmin}})
	}
	people, err := people.New(c.Approver, list)
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	return people, nil
}

// removed reports whether a person of the configuration was removed.
func removed(entries []roster.Entry, name string) bool {
	return slices.ContainsFunc(entries, func(e roster.Entry) bool { return e.Removed && e.Name == name })
}

// tokens say whose each token is: the state folder's, local, is the local
// approver's, and the configuration and the roster name the rest.
func tokens(c config.Config, entries []roster.Entry, local string) []api.Credential {
	list := []api.Credential{{Person: c.Approver, Token: api.HashToken(local)}}
	for _, name := range slices.Sorted(maps.Keys(c.People)) {
		if p := c.People[name]; p.TokenSHA256 != (config.TokenHash{}) && !removed(entries, string(name)) {
			list = append(list, api.Credential{Person: string(name), Token: api.TokenHash(p.TokenSHA256)})
		}
	}
	for _, e := range entries {
		if !e.Removed && len(e.Token) == len(api.TokenHash{}) {
			list = append(list, api.Credential{Person: e.Name, Token: api.TokenHash(e.Token)})
		}
	}
	return list
}
