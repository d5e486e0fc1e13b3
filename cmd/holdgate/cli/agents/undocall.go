package agents

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/undo"
	"github.com/holdgate/holdgate/store/audit"
)

// A ranCall is a call that was let go on, as the audit log has it.
type ranCall struct {
	names   []string // the agent's own, and that of the request
	agent   string
	session string
	what    string
	from    time.Time // when it was let go on
	to      time.Time // when the next one of its session was; zero: none was
}

// ranCalls are the calls of tools that the log says were let go on.
func (e *env) ranCalls(c *cli.Context) (list []*ranCall, err error) {
	last := map[string]*ranCall{} // by agent and session
	err = e.WithLog(c, func(l command.Log) error {
		return command.Each(c, l, audit.Query{}, func(n audit.Entry) error {
			if n.Call == nil || n.Call.Kind != holdgate.KindToolCall {
				return nil
			}
			allowed := n.Type == audit.TypeDecision && n.Decision != nil && n.Decision.Action == holdgate.Allow
			if !allowed && n.Type != audit.TypeUsed {
				return nil
			}
			key := n.Call.Agent + "\x00" + n.Call.Session
			r := last[key]
			same := r != nil && (n.Call.ID != "" && slices.Contains(r.names, n.Call.ID) || n.RequestID != "" && slices.Contains(r.names, n.RequestID))
			if same { // it was decided again, or its approval was used
				r.from = n.Time
				r.add(n)
				return nil
			}
			if r != nil {
				r.to = n.Time
			}
			r = &ranCall{agent: n.Call.Agent, session: n.Call.Session, from: n.Time}
			if n.Call.Tool != nil {
				r.what = n.Call.Tool.Name
			}
			r.add(n)
			last[key], list = r, append(list, r)
			return nil
		})
	})
	return list, err
}

// add adds the names that an entry has for the call.
func (r *ranCall) add(n audit.Entry) {
	for _, name := range []string{n.Call.ID, n.RequestID} {
		if name != "" && !slices.Contains(r.names, name) {
			r.names = append(r.names, name)
		}
	}
}

// overlaps reports whether two calls ran at the same time, as far as is known.
func (r *ranCall) overlaps(o *ranCall) bool {
	return (r.to.IsZero() || o.from.Before(r.to)) && (o.to.IsZero() || r.from.Before(o.to))
}

// callNamed finds the call of a name, and the run in which it ran. Calls that ran at
// the same time are told.
func (e *env) callNamed(c *cli.Context, w io.Writer, list []undo.Entry, name string) (*undo.Entry, *ranCall, error) {
	calls, err := e.ranCalls(c)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(calls, func(r *ranCall) bool { return slices.Contains(r.names, name) })
	if i < 0 {
		return nil, nil, nil
	}
	r := calls[i]
	for _, entry := range list { // the latest first
		if entry.Agent != r.agent || entry.Undoes != "" || entry.Began.After(r.from) {
			continue
		}
		var others []string
		for _, o := range calls {
			if o != r && o.agent == r.agent && o.from.After(entry.Began) && r.overlaps(o) {
				others = append(others, strings.TrimSpace(o.what+" "+strings.Join(o.names[:min(1, len(o.names))], "")))
			}
		}
		if len(others) > 0 {
			fmt.Fprintf(w, "note: what these calls changed at the same time is part of it: %s\n", holdgate.Visible(strings.Join(others, ", ")))
		}
		return &entry, r, nil
	}
	return nil, nil, &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("no run in which %s ran is kept", holdgate.Visible(name)), Hint: "holdgate undo --list lists those that are"}
}
