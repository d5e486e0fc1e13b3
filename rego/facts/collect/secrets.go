package collect

import (
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// Secrets notes the kinds of credential in a text, never their values. One
// of each kind is enough for each place.
func (x *Findings) Secrets(at *Place, s string) {
	note := func(kind string) { x.secret(kind, at) }
	x.find(s, note)
	if joined, ok := secrets.Unquote(s); ok {
		x.find(joined, note)
	}
}

// Spelled notes credentials in a part of an address, as it stands and decoded.
func (x *Findings) Spelled(at *Place, s string) {
	x.Secrets(at, s)
	if plain, err := url.QueryUnescape(s); err == nil && plain != s {
		x.Secrets(at, plain)
	}
}

// address notes credentials in an address that facts list.
func (x *Findings) address(s string) {
	x.Joined(s)
	if plain, err := url.QueryUnescape(s); err == nil && plain != s {
		x.Joined(plain)
	}
}

// Joined notes credentials in a text that facts have put together from parts of
// the argument at hand: none of the parts may show them. What is known to stand
// there, or in a part of it, is not said again.
func (x *Findings) Joined(s string) {
	x.find(s, func(kind string) {
		pointer := x.At.pointer()
		if !slices.ContainsFunc(x.Facts.Secrets, func(s holdgate.Secret) bool {
			rest, below := strings.CutPrefix(s.Pointer, pointer)
			return s.Kind == kind && below && (rest == "" || rest[0] == '/')
		}) {
			x.secret(kind, x.At)
		}
	})
}

// find calls found with each kind of credential in a text, and keeps the text.
func (x *Findings) find(s string, found func(kind string)) {
	secrets.Find(s, x.Budget, func(kind string) {
		if !slices.Contains(x.Held, s) {
			x.Held = append(x.Held, s)
		}
		found(kind)
	})
}

func (x *Findings) secret(kind string, at *Place) {
	if pointer := at.pointer(); x.Once("secret", kind, pointer) {
		x.Facts.Secrets = append(x.Facts.Secrets, holdgate.Secret{Kind: kind, Pointer: pointer})
	}
}
