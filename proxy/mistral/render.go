package mistral

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes the parts of a stream under their verdicts.
type writer struct {
	over  bool
	next  int // the number of the next entry, as the client counts
	shift int // how many entries of our own were written

	idle []byte // an event that adds nothing to the message that came last; nil where there is none
}

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case event:
		return s.w.event(t)
	case callTag:
		return s.w.call(p.Bytes, t, settled(t.entry, v))
	}
	return p.Bytes
}

func (w *writer) event(e event) []byte {
	if e.entry == nil {
		return e.Raw
	}
	switch e.entry.typ {
	case responseStarted:
		return e.Raw
	case responseDone, responseError:
		w.over = true
		return e.Raw
	}
	w.next = max(w.next, e.entry.index+w.shift+1)
	out := w.numbered(e)
	w.idle = nil
	if e.entry.typ == messageDelta && e.entry.text {
		w.idle = said(e.Data, messageDelta, "", e.entry.index+w.shift)
	}
	return out
}

// numbered writes an event with the number that its entry has for the client.
func (w *writer) numbered(e event) []byte {
	if w.shift == 0 {
		return e.Raw
	}
	return wire.AppendEvent(nil, e.Type, wire.SetMember(e.Data, "output_index", number(e.entry.index+w.shift)))
}

// call writes a call: as it came, with other arguments or another number, or as the
// notice that stands for it.
func (w *writer) call(raw []byte, t callTag, v holdgate.Verdict) (out []byte) {
	index := t.entry.index + w.shift
	if word := wire.Word(v); word != "" {
		out = w.said(t.entry.raw, word, index)
		if !v.Release {
			return out
		}
		w.shift++
		index++
	}
	w.next, w.idle = max(w.next, index+1), nil
	switch {
	case v.Arguments != nil:
		first := t.events[0]
		first.Data = wire.SetMember(first.Data, "arguments", wire.AppendText(nil, string(v.Arguments)))
		return wire.AppendEvent(out, first.Type, wire.SetMember(first.Data, "output_index", number(index)))
	case w.shift == 0:
		return append(out, raw...)
	}
	for _, e := range t.events {
		if e.entry == nil {
			out = append(out, e.Raw...)
		} else {
			out = append(out, w.numbered(e)...)
		}
	}
	return out
}

// said writes an event with a text of our own, in an entry like this one.
func (w *writer) said(like []byte, text string, index int) []byte {
	w.next = max(w.next, index+1)
	w.idle = said(like, messageDelta, "", index)
	return wire.AppendEvent(nil, messageDelta, said(like, messageDelta, text, index))
}

// Idle implements [wire.Stream]: an empty piece of the message that came last, and a
// comment where there is none.
func (s *stream) Idle() []byte {
	if s.w.idle == nil || s.w.over {
		return []byte(": wait\n\n")
	}
	return wire.AppendEvent(nil, messageDelta, s.w.idle)
}

// Notice returns a message that shows the agent's user a text, as the model's.
func (s *stream) Notice(text string) []byte {
	if s.conversation == "" || s.w.over {
		return nil
	}
	out := s.w.said([]byte(`{"id":"msg_holdgate"}`), text, s.w.next)
	s.w.shift++
	return out
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	return wire.AppendEvent(nil, responseError, []byte(`{"type":"`+responseError+`","message":`+wire.Quote(message)+`,"code":500}`))
}
