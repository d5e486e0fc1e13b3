package responses

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes parts. It remembers what the client has seen.
type writer struct {
	begun    bool   // an event has been written
	named    bool   // events have an event field
	last     int64  // the sequence number written last, none where there are none
	shift    int64  // what is added to those of the stream
	highest  int    // output_index of the stream, of what was written
	response string // its id
	added    []addition
}

// An addition is a message before an item of the stream, so that the item and
// those that follow are numbered higher.
type addition struct {
	before int   // output_index in the stream
	call   *call // whose note it is; nil for what was said while it waited
	message
}

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case *event:
		if c := t.call; c != nil && c.verdict.changes() {
			return s.writer.changed(t, c, false)
		}
		return s.writer.event(t)
	case callTag:
		t.call.verdict = settled(&t.call.item, v)
		if t.group != nil {
			return s.writer.group(t.group, p.Bytes)
		}
	}
	return nil
}

// Idle implements [wire.Stream].
func (s *stream) Idle() []byte {
	w := &s.writer
	if !w.begun {
		return []byte(": holdgate\n\n")
	}
	data := `{"type":"keepalive"`
	if w.last != none {
		data += `,"sequence_number":` + strconv.FormatInt(w.last, 10)
	}
	return wire.AppendEvent(nil, w.field(keepalive), []byte(data+"}"))
}

// Notice returns a message that says something to the agent's user while a
// call waits. The client must have been sent all that comes before the call;
// where that is nothing yet, or text is empty, there is no notice.
func (s *stream) Notice(text string) []byte {
	w := &s.writer
	if !w.begun || text == "" {
		return nil
	}
	before := w.highest + 1
	m := message{messageID("waiting_", w.response, "", before), text}
	out := w.message(nil, before+w.before(before), m)
	w.added = append(w.added, addition{before, nil, m})
	return out
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	w := &s.writer
	data := `{"type":"error"`
	if w.last != none {
		data += `,"sequence_number":` + strconv.FormatInt(w.last+1, 10)
	}
	data += `,"code":"holdgate","message":` + wire.Quote(message) + `,"param":null,"error":` + string(errorObject("server_error", message)) + "}"
	return wire.AppendEvent(nil, w.field(failure), []byte(data))
}

// field returns the event field of an event of ours.
func (w *writer) field(typ string) string {
	if !w.named {
		return ""
	}
	return typ
}

// before returns how many messages were added before an item, at its place
// too.
func (w *writer) before(index int) (n int) {
	for _, a := range w.added {
		if a.before <= index {
			n++
		}
	}
	return n
}

func (w *writer) group(g *group, raw []byte) []byte {
	plain := w.shift == 0 && len(w.added) == 0
	for _, c := range g.calls {
		plain = plain && !c.verdict.changes()
	}
	for _, e := range g.events {
		plain = plain && !w.rewrites(e)
	}
	if plain {
		for _, e := range g.events {
			w.note(e)
		}
		return raw
	}
	var out []byte
	written := make(map[*call]bool)
	for _, e := range g.events {
		c := e.call
		if c == nil || !c.verdict.changes() {
			out = append(out, w.event(e)...)
			continue
		}
		out = append(out, w.changed(e, c, !written[c])...)
		written[c] = true
	}
	return out
}

// changed returns an event of a call that was refused, edited or noted; first
// says that it is the call's first.
func (w *writer) changed(e *event, c *call, first bool) []byte {
	var out []byte
	w.number(e)
	switch {
	case first && !c.verdict.Release:
		w.highest = max(w.highest, c.index)
		out = w.message(out, c.index+w.before(c.index), c.notice())
	case first && c.verdict.Note != "":
		out = w.message(out, c.index+w.before(c.index), c.note())
		w.added = append(w.added, addition{c.index, c, c.note()})
	}
	if !c.verdict.Release || c.verdict.Arguments != nil && c.leavesOut(e) {
		if e.number != none {
			w.shift--
		}
		return out
	}
	return append(out, w.event(e)...)
}

// message appends the events of a message.
func (w *writer) message(dst []byte, index int, m message) []byte {
	for _, e := range m.events(index) {
		data := `{"type":"` + e[0] + `"`
		if w.last != none {
			w.last++
			w.shift++
			data += `,"sequence_number":` + strconv.FormatInt(w.last, 10)
		}
		dst = wire.AppendEvent(dst, w.field(e[0]), []byte(data+e[1]+"}"))
	}
	return dst
}

// number learns from the stream's first number what comes before it.
func (w *writer) number(e *event) {
	if w.last == none && e.number != none {
		w.last = e.number + w.shift - 1
	}
	if e.typ != "" {
		w.named = e.wire.Type != ""
	}
}

// note keeps in mind an event that is written.
func (w *writer) note(e *event) {
	w.number(e)
	if e.typ != "" {
		w.begun = true
	}
	if e.number != none {
		w.last = e.number + w.shift
	}
	w.highest = max(w.highest, e.index)
	if e.snap != nil && w.response == "" {
		w.response = e.snap.id
	}
}

// event returns an event as it came or, where something before it or in it has
// changed, written anew.
func (w *writer) event(e *event) []byte {
	w.note(e)
	c := e.call
	edited := c != nil && c.verdict.Arguments != nil
	higher := e.index != none && w.before(e.index) > 0
	if e.typ == "" || !(edited || higher || w.shift != 0 && e.number != none || w.rewrites(e)) {
		return e.wire.Raw
	}
	data := wire.RewriteMembers(e.wire.Data, func(m wire.Member) []byte {
		switch name := string(m.Name); {
		case name == "sequence_number" && e.number != none:
			return strconv.AppendInt(nil, e.number+w.shift, 10)
		case name == "output_index" && higher:
			return strconv.AppendInt(nil, int64(e.index+w.before(e.index)), 10)
		case name == "response" && e.snap != nil:
			return w.snapshot(m.Value, e.snap)
		case edited:
			return c.edited(e, m)
		}
		return m.Value
	})
	return wire.AppendEvent(nil, e.wire.Type, data)
}

// rewrites reports whether the snapshot in an event has changed.
func (w *writer) rewrites(e *event) bool {
	if e.snap == nil {
		return false
	}
	for _, c := range e.snap.calls {
		if c.verdict.changes() {
			return true
		}
	}
	return slices.ContainsFunc(w.added, func(a addition) bool { return a.call == nil && a.before < e.snap.items })
}

// snapshot returns a response with messages in the place of what was refused,
// and before what came with a note.
func (w *writer) snapshot(response []byte, snap *snapshot) []byte {
	return rewriteResponse(response, func(n int, value []byte) []byte {
		var out [][]byte
		for _, a := range w.added {
			if a.call == nil && a.before == n {
				out = append(out, []byte(a.item()))
			}
		}
		return bytes.Join(append(out, rewriteItem(value, snap.calls[n])...), []byte{','})
	})
}

// rewriteResponse returns a response with other items. A text of the whole
// output that some providers add would no longer be right, and is left out.
func rewriteResponse(response []byte, edit func(n int, value []byte) []byte) []byte {
	return wire.RewriteMembers(response, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "output":
			if wire.IsNull(m.Value) {
				return m.Value
			}
			return wire.RewriteElements(m.Value, edit)
		case "output_text":
			return nil
		}
		return m.Value
	})
}

// rewriteItem returns the items that stand in the place of one.
func rewriteItem(value []byte, c *call) [][]byte {
	switch {
	case c == nil || !c.verdict.changes():
		return [][]byte{value}
	case !c.verdict.Release:
		return [][]byte{[]byte(c.notice().item())}
	}
	var out [][]byte
	if c.verdict.Note != "" {
		out = append(out, []byte(c.note().item()))
	}
	if c.verdict.Arguments != nil {
		it := c.item
		it.raw = value
		value = it.withArguments(c.verdict.Arguments)
	}
	return append(out, value)
}
