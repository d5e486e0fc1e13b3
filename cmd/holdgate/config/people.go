package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/approvals/passkeys"
)

// People are those who may answer, by name.
type People map[PersonName]Person

// A Person is somebody who may answer. There must be a way to know them: a
// token, a user on a channel, or the state folder's token ([Config.Approver]).
type Person struct {
	// Roles say what they may do ("approve", "operate", "admin"), and which
	// rules they may answer that ask for a role of your own.
	Roles       []Role    `yaml:"roles"`
	TokenSHA256 TokenHash `yaml:"token_sha256"`
	// Channels name the person's user on a channel, by the channel's name.
	Channels map[string]string `yaml:"channels"`
	// Passkeys are the fingerprints of the person's keys that count from the first on: see
	// package approvals/passkeys.
	Passkeys []Passkey `yaml:"passkeys"`
}

// A Passkey is the fingerprint of a person's key.
type Passkey string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (p *Passkey) UnmarshalYAML(n *yaml.Node) error {
	return scalar(n, p, func(s string) (Passkey, error) { return Passkey(s), passkeys.CheckFingerprint(s) })
}

// reservedNames are who ends a request where no person does.
var reservedNames = []string{"policy", "holdgate", "auto"}

// PersonName names a person: it stands in votes, the audit log and messages.
type PersonName string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (p *PersonName) UnmarshalYAML(n *yaml.Node) error { return scalar(n, p, ParsePersonName) }

// ParsePersonName reads a person's name.
func ParsePersonName(s string) (PersonName, error) {
	switch {
	case !goodName.MatchString(s):
		return "", fmt.Errorf("%q is no name for a person: use a-z, 0-9, '-', '_' and '.', at most 63 characters, beginning with a letter or digit", s)
	case slices.Contains(reservedNames, s):
		return "", fmt.Errorf("%q is the name of what is done without a person", s)
	}
	return PersonName(s), nil
}

// Role is the name of a role, as rules ask for it.
type Role string

var goodRole = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// UnmarshalYAML implements [yaml.Unmarshaler].
func (r *Role) UnmarshalYAML(n *yaml.Node) error { return scalar(n, r, ParseRole) }

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	if !goodRole.MatchString(s) {
		return "", fmt.Errorf("%q is no name for a role: use a-z, 0-9, '-' and '_', at most 63 characters, beginning with a letter", s)
	}
	return Role(s), nil
}

// Roles are those of Holdgate, "approve", "operate" and "admin", and those that
// people have in the configuration or that a route names.
func (c Config) Roles() []string {
	var own []string
	for _, p := range c.People {
		for _, r := range p.Roles {
			own = append(own, string(r))
		}
	}
	for _, r := range c.Routes {
		own = slices.Concat(own, r.Match.Roles, r.Roles)
		for _, n := range r.Then {
			own = append(own, n.Roles...)
		}
	}
	slices.Sort(own)
	known := []string{"approve", "operate", "admin"}
	for _, r := range own {
		if !slices.Contains(known, r) {
			known = append(known, r)
		}
	}
	return known
}

// TokenHash is SHA-256 of a person's token. The zero value is no token.
type TokenHash [sha256.Size]byte

// UnmarshalYAML implements [yaml.Unmarshaler].
func (h *TokenHash) UnmarshalYAML(n *yaml.Node) error {
	return scalar(n, h, func(s string) (TokenHash, error) {
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != len(h) || TokenHash(b) == (TokenHash{}) {
			return TokenHash{}, errors.New("a token's hash has 64 hex digits: holdgate people add prints one")
		}
		return TokenHash(b), nil
	})
}

// String hides the hash: with it a program could pass for the sidecar.
func (h TokenHash) String() string {
	if h == (TokenHash{}) {
		return ""
	}
	return secret
}

// GoString is String.
func (h TokenHash) GoString() string { return h.String() }

// Hex is the hash as the file holds it.
func (h TokenHash) Hex() string { return hex.EncodeToString(h[:]) }

// people checks what one person's keys cannot say of themselves.
func (f *faults) people(c Config) {
	tokens, users := map[TokenHash]PersonName{}, map[string]PersonName{}
	for _, name := range slices.Sorted(maps.Keys(c.People)) {
		p, key := c.People[name], "people."+string(name)
		if len(p.Roles) == 0 {
			f.add("%s.roles: must name at least one role, such as approve", key)
		}
		if p.TokenSHA256 == (TokenHash{}) && len(p.Channels) == 0 && string(name) != c.Approver {
			f.add("%s: has neither token_sha256 nor channels, so that nobody can be known as %s", key, name)
		}
		if p.TokenSHA256 != (TokenHash{}) {
			if other, taken := tokens[p.TokenSHA256]; taken {
				f.add("%s.token_sha256: is also that of people.%s: a token is one person's", key, other)
			}
			tokens[p.TokenSHA256] = name
		}
		for _, channel := range slices.Sorted(maps.Keys(p.Channels)) {
			user, where := p.Channels[channel], key+".channels."+channel
			if _, known := c.Plugins[channel]; !known && !(channel == ChannelOIDC && c.OIDC.On()) {
				f.add("%s: there is no channel %q under plugins", where, channel)
			}
			if user == "" {
				f.add("%s: must name the person's user there", where)
				continue
			}
			id := channel + ":" + user
			if other, taken := users[id]; taken {
				f.add("%s: %q is also people.%s's user there: a user is one person", where, user, other)
			}
			users[id] = name
		}
	}
}
