package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// people compares who may answer, and then by what they are known: somebody who was
// not known, or as somebody else, or who has a role more, can do more than before.
func (c *Change) people(was, is Config) {
	if was.Approver != is.Approver {
		c.add(false, "the state folder's token is that of %s; before: of %s", is.Approver, was.Approver)
	}
	for _, name := range both(was.People, is.People) {
		old, had := was.People[name]
		n, has := is.People[name]
		switch {
		case !has:
			c.add(false, "%s is removed", name)
		case !had:
			c.add(false, "%s is added, with %s", name, roles(n.Roles))
		case !reflect.DeepEqual(old.Roles, n.Roles):
			c.add(false, "%s has %s; before: %s", name, roles(n.Roles), roles(old.Roles))
		case !reflect.DeepEqual(old, n):
			c.add(false, "%s is known by something else", name)
		}
	}
	before, now := was.powers(), is.powers()
	for _, by := range slices.Sorted(maps.Keys(now)) {
		c.Loosens = append(c.Loosens, before.looser(by, now[by])...)
	}
	if before.admin() && !now.admin() {
		c.add(false, "nobody has the role admin any more: only a restart takes up what needs one")
	}
}

// powers say what somebody may who is known by something: the state folder's token,
// a token of their own, a user on a channel, or any user of a channel.
type powers map[string]power

// A power is a person's. What it is known by is a secret in part, so words say it.
type power struct {
	name  string
	roles []string
	words string
}

// Where nobody is named, whoever a channel lets in is the one person.
const anyUser = "channel"

// passkeyPower begins what a passkey is known by.
const passkeyPower = "passkey "

// powers are those of the configuration.
func (c Config) powers() powers {
	all := powers{}
	everything := []string{"admin", "approve", "operate"}
	holder := power{c.Approver, everything, "the state folder's token"}
	if len(c.People) == 0 {
		all["local"] = holder
		all[anyUser] = power{c.Approver, everything, "any user of a channel"}
		return all
	}
	for name, p := range c.People {
		var list []string
		for _, r := range p.Roles {
			list = append(list, string(r))
		}
		if string(name) == c.Approver {
			holder.roles = list
		}
		if p.TokenSHA256 != (TokenHash{}) {
			all["token "+p.TokenSHA256.Hex()] = power{string(name), list, "a token of their own"}
		}
		for _, key := range p.Passkeys {
			all[passkeyPower+string(key)] = power{string(name), list, "a passkey"}
		}
		for channel, user := range p.Channels {
			all["channel "+channel+":"+user] = power{string(name), list, "a user of " + channel}
		}
	}
	all["local"] = holder
	return all
}

// admin reports whether somebody has that role. A passkey signs in with a token of its
// person's, and is no way in by itself.
func (p powers) admin() bool {
	for by, o := range p {
		if slices.Contains(o.roles, "admin") && !strings.HasPrefix(by, passkeyPower) {
			return true
		}
	}
	return false
}

// looser says what a power is more than before.
func (p powers) looser(by string, n power) []string {
	old, had := p[by]
	if !had && strings.HasPrefix(by, anyUser+" ") {
		old, had = p[anyUser]
	}
	switch {
	case by == anyUser && !had:
		return []string{"nobody is named any more: whoever a channel lets in, and the holder of the state folder's token, have every role"}
	case !had:
		return []string{fmt.Sprintf("%s, known by %s, gets %s", n.name, n.words, roles(n.roles))}
	case old.name != n.name:
		return []string{fmt.Sprintf("%s is that of %s; before: of %s", n.words, n.name, old.name)}
	}
	var more []string
	for _, r := range n.roles {
		if !slices.Contains(old.roles, r) {
			more = append(more, r)
		}
	}
	if len(more) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s, known by %s, gets %s too", n.name, n.words, roles(more))}
}

// roles names roles in words.
func roles[R ~string](list []R) string {
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = string(r)
	}
	if len(words) == 1 {
		return "the role " + words[0]
	}
	return "the roles " + strings.Join(words, ", ")
}
