package facts

import (
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// secrets notes the kinds of credential in a text, never their values. One
// of each kind is enough for each place.
func (x *extraction) secrets(at *place, s string) {
	note := func(kind string) { x.secret(kind, at) }
	x.find(s, note)
	if joined, ok := secrets.Unquote(s); ok {
		x.find(joined, note)
	}
}

// spelled notes credentials in a part of an address, as it stands and decoded.
func (x *extraction) spelled(at *place, s string) {
	x.secrets(at, s)
	if plain, err := url.QueryUnescape(s); err == nil && plain != s {
		x.secrets(at, plain)
	}
}

// address notes credentials in an address that facts list.
func (x *extraction) address(s string) {
	x.joined(s)
	if plain, err := url.QueryUnescape(s); err == nil && plain != s {
		x.joined(plain)
	}
}

// joined notes credentials in a text that facts have put together from parts of
// the argument at hand: none of the parts may show them. What is known to stand
// there, or in a part of it, is not said again.
func (x *extraction) joined(s string) {
	x.find(s, func(kind string) {
		pointer := x.at.pointer()
		if !slices.ContainsFunc(x.facts.Secrets, func(s Secret) bool {
			rest, below := strings.CutPrefix(s.Pointer, pointer)
			return s.Kind == kind && below && (rest == "" || rest[0] == '/')
		}) {
			x.secret(kind, x.at)
		}
	})
}

// find calls found with each kind of credential in a text, and keeps the text.
func (x *extraction) find(s string, found func(kind string)) {
	secrets.Find(s, x.Budget, func(kind string) {
		if !slices.Contains(x.held, s) {
			x.held = append(x.held, s)
		}
		found(kind)
	})
}

func (x *extraction) secret(kind string, at *place) {
	if pointer := at.pointer(); x.once("secret", kind, pointer) {
		x.facts.Secrets = append(x.facts.Secrets, Secret{Kind: kind, Pointer: pointer})
	}
}
