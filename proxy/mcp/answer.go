package mcp

import (
	"errors"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// An Answer is a response of a server's: what it says to one request.
type Answer struct {
	ID      []byte // as written
	Body    []byte // the result, or the error in its place
	IsError bool   // it is an error, or the result of a tool that failed
	member  string
}

// ReadAnswer reads a message of a server's as a response. ok is false where no
// reader, however lax, takes it for one; an error says that two readers could
// take it differently.
func ReadAnswer(message []byte) (a Answer, ok bool, err error) {
	for m, err := range wire.Members(message) {
		if err != nil {
			return a, false, err
		}
		if name := string(m.Name); strings.EqualFold(name, "result") || strings.EqualFold(name, "error") {
			ok = true
			a.Body, a.member = m.Value, name
		}
	}
	if !ok {
		return a, false, nil
	}
	if err := errors.Join(wire.Strict(message), wire.Known(message, "id", "method", "result", "error")); err != nil {
		return a, true, err
	}
	if wire.Find(message, "result") != nil && wire.Find(message, "error") != nil {
		return a, true, errors.New("a response has a result and an error")
	}
	a.ID = wire.Find(message, "id")
	if a.IsError = a.member == "error"; !a.IsError && wire.KindOf(a.Body) == "an object" {
		if err := wire.Known(a.Body, "isError"); err != nil {
			return a, true, err
		}
		a.IsError = string(wire.Find(a.Body, "isError")) == "true"
	}
	return a, true, nil
}

// With returns the message with another body in the answer's place; all other
// bytes stay.
func (a Answer) With(message, body []byte) []byte { return setMember(message, a.member, body) }

// WithID returns a response under another id.
func WithID(message, id []byte) []byte { return setMember(message, "id", id) }

// housekeeping are the methods whose answers say nothing that a tool, a resource
// or a prompt has brought.
var housekeeping = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "logging/setLevel": true,
	"tools/list": true, "resources/list": true, "resources/templates/list": true, "prompts/list": true, "tasks/list": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "subscriptions/listen": true,
}

// Brings reports whether the answer to a request with this method may bring
// something of the world: a method that is not known may.
func Brings(method string) bool { return !housekeeping[method] }
