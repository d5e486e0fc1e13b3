package agents

import (
	"cmp"
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
	names []string // the agent's own, and that of the request
	agent string
	what  string
	from  time.Time // when it was let go on first
	to    time.Time // when the next one of its session was; zero: none was
}

// ranCalls are calls in the order in which they were let go on first.
type ranCalls struct {
	list []*ranCall

	last, known map[string]*ranCall // by agent and session; and by name, too
}

// read reads the calls of tools that the log says were let go on.
func (all *ranCalls) read(e *env, c *cli.Context) error {
	return e.WithLog(c, func(l command.Log) error {
		return command.Each(c, l, audit.Query{}, func(n audit.Entry) error {
			all.add(n)
			return nil
		})
	})
}

func (all *ranCalls) add(n audit.Entry) {
	if n.Call == nil || n.Call.Kind != holdgate.KindToolCall {
		return
	}
	if allowed := n.Type == audit.TypeDecision && n.Decision != nil && n.Decision.Action == holdgate.Allow; !allowed && n.Type != audit.TypeUsed {
		return
	}
	if all.last == nil {
		all.last, all.known = map[string]*ranCall{}, map[string]*ranCall{}
	}
	key := n.Call.Agent + "\x00" + n.Call.Session
	var names []string // by which it is known as one that was decided again, or of which an approval was used
	if n.Call.ID != "" {
		names = append(names, key+"\x00call\x00"+string(n.Call.Digest)+"\x00"+n.Call.ID)
	}
	if n.RequestID != "" {
		names = append(names, key+"\x00request\x00"+n.RequestID)
	}
	last := all.last[key]
	var r *ranCall
	for _, name := range names {
		r = cmp.Or(r, all.known[name])
	}
	if last != nil && last != r {
		last.to = n.Time
	}
	if r == nil {
		r = &ranCall{agent: n.Call.Agent, from: n.Time}
		if n.Call.Tool != nil {
			r.what = n.Call.Tool.Name
		}
		all.list = append(all.list, r)
	}
	r.to = time.Time{}
	r.add(n)
	all.last[key] = r
	for _, name := range names {
		all.known[name] = r
	}
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

// in is the run in which a call ran: the latest of its agent's that went on then.
func (r *ranCall) in(list []undo.Entry) *undo.Entry {
	for i, e := range list { // the latest first
		if e.Agent == r.agent && e.Undoes == "" && !e.Began.After(r.from) && (e.Running || e.Ended.After(r.from)) {
			return &list[i]
		}
	}
	return nil
}

// named finds the only call of a name, and the run in which it ran; none where no call
// has that name.
func (all *ranCalls) named(name string, list []undo.Entry) (call *ranCall, run *undo.Entry, err error) {
	for _, r := range all.list {
		if !slices.Contains(r.names, name) {
			continue
		}
		in := r.in(list)
		switch {
		case in == nil && call == nil:
			err = &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("no run in which %s ran is kept", holdgate.Visible(name)), Hint: "holdgate undo --list lists those that are"}
		case in == nil:
		case call != nil:
			return nil, nil, ambiguous(name, call, r, run, in)
		default:
			call, run, err = r, in, nil
		}
	}
	return call, run, err
}

// callNamed finds the call of a name, and the run in which it ran. Calls that ran at
// the same time are told.
func (e *env) callNamed(c *cli.Context, w io.Writer, list []undo.Entry, name string) (*undo.Entry, *ranCall, error) {
	var calls ranCalls
	if err := calls.read(e, c); err != nil {
		return nil, nil, err
	}
	call, run, err := calls.named(name, list)
	if err != nil || call == nil {
		return nil, nil, err
	}
	var others []string
	for _, o := range calls.list {
		if o != call && o.agent == call.agent && o.from.After(run.Began) && call.overlaps(o) {
			others = append(others, strings.TrimSpace(o.what+" "+strings.Join(o.names[:min(1, len(o.names))], "")))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "note: what these calls changed at the same time is part of it: %s\n", holdgate.Visible(strings.Join(others, ", ")))
	}
	return run, call, nil
}

// ambiguous refuses a name that several calls have.
func ambiguous(name string, a, b *ranCall, inA, inB *undo.Entry) error {
	tell := func(r *ranCall, in *undo.Entry) string {
		return fmt.Sprintf("%s of %s at %s in run %s", r.what, r.agent, r.from.Local().Format(time.TimeOnly), in.ID)
	}
	return &command.Exit{
		Code: command.ExitUsage,
		Text: holdgate.Visible(fmt.Sprintf("%s names several calls: %s; %s", name, tell(a, inA), tell(b, inB))),
		Hint: "take the request's id, where the call was asked about, or a run with paths: " + command.CommandLine([]string{"undo", inB.ID, "PATH"}),
	}
}
