// Package learn judges past calls, as the audit log has them, by a policy of
// today: what another policy would change ([Replay]), and which questions people
// could have been spared ([Suggest]).
//
// Nothing is guessed. A call is judged again only where the log has all that the
// policy reads and the facts come out as they were; any other is unknown
// ([rego.UnjudgedError]), and counts as unknown in a replay, and against a
// suggestion.
package learn

import (
	"context"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// A Log gives entries of an audit log in order, until fn returns an error, which
// it returns.
type Log func(ctx context.Context, fn func(audit.Entry) error) error

// Judged reports whether the entry is a decision that policy made of a call.
func Judged(e audit.Entry) bool {
	return (e.Type == audit.TypeDecision || e.Type == audit.TypeGranted) && e.Call != nil && e.Decision != nil
}

// byHoldgate reports whether Holdgate itself decided, without policy: over a
// limit, paused, malformed. A policy that failed is another matter.
func byHoldgate(e audit.Entry) bool {
	return strings.HasPrefix(e.Decision.Rule, "holdgate.") && e.Decision.Rule != holdgate.RulePolicyError
}

// PastOf is the call of a decision, as policy saw it.
func PastOf(e audit.Entry, own rego.Own) rego.Past {
	a := e.Call
	c := holdgate.Call{ID: a.ID, Kind: a.Kind, Door: e.Door, Agent: holdgate.Agent{ID: a.Agent}, Session: holdgate.Session{ID: a.Session}, Time: e.Time}
	switch {
	case a.Tool != nil:
		c.Tool = &holdgate.Tool{Name: a.Tool.Name, Server: a.Tool.Server, Arguments: e.Input}
	case a.Kind == holdgate.KindModelRequest:
		c.Model = &holdgate.Model{Name: a.Model}
	case a.MCP != "":
		cut := strings.LastIndex(a.MCP, " ") // a method has no blanks
		if cut < 0 {
			cut = 0
		}
		c.MCP = &holdgate.MCP{Server: a.MCP[:cut], Method: strings.TrimPrefix(a.MCP[cut:], " ")}
	case a.HTTP != "":
		method, rest, _ := strings.Cut(a.HTTP, " ")
		host, path := rest, ""
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			host, path = rest[:i], rest[i:]
		}
		c.HTTP = &holdgate.HTTP{Method: method, Host: host, Path: path}
	}
	return rego.Past{Call: c, Seen: e.Seen, Own: own}
}
