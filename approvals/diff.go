package approvals

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// briefEdited is a briefing that begins with what was changed.
func briefEdited(from *storedRequest, editor string, q Question) Briefing {
	before := holdgate.Call{Kind: from.Call.Kind, Tool: &holdgate.Tool{Name: from.Call.Tool, Server: from.Call.Server, Arguments: from.Call.Arguments}}
	before, _ = redact(before, q.Decision.Redact)
	after, hidden := redact(q.Call, q.Decision.Redact)
	old, ok := members(before.Tool.Arguments)
	now, also := members(after.Tool.Arguments)
	w := &briefer{b: Briefing{Hidden: hidden}}
	w.also(q.Decision)
	if ok && also {
		w.line("changed by " + editor + " from what the agent asked for:")
		w.changes(old, now)
		w.line("the whole call:")
	}
	w.tool(after.Tool)
	return w.finish()
}

// changes shows what differs between two lists of arguments.
func (w *briefer) changes(old, now []member) {
	for _, o := range old {
		i := slices.IndexFunc(now, func(n member) bool { return n.name == o.name })
		switch {
		case i < 0:
			w.changed("- ", o.name, o.shown())
		case o.shown() != now[i].shown():
			w.change(o.name, o.shown(), now[i].shown())
		}
	}
	for _, n := range now {
		if !slices.ContainsFunc(old, func(o member) bool { return n.name == o.name }) {
			w.changed("+ ", n.name, n.shown())
		}
	}
}

// change shows one argument before and after, without the lines that are the
// same at its beginning and its end.
func (w *briefer) change(name, old, now string) {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	w.changed("- ", name, strings.Join(a, "\n"))
	w.changed("+ ", name, strings.Join(b, "\n"))
}

func (w *briefer) changed(sign, name, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		w.line(sign + name + ": " + line)
	}
}

// shown is the member as a person reads it.
func (m member) shown() string {
	if m.isText {
		return m.text
	}
	return m.json()
}
