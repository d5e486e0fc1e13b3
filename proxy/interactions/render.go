package interactions

import (
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes the parts of a stream under their verdicts.
type writer struct {
	id       string // of the interaction, once it has begun
	over     bool
	shift    int         // how many steps of our own were written
	next     int         // the number of the next step, as the client counts
	at       map[int]int // the numbers of steps that have begun, where they differ from their own
	verdicts map[string]holdgate.Verdict
	released int
}

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case event:
		return s.w.event(t)
	case callTag:
		return s.w.call(p.Bytes, t, v)
	}
	return p.Bytes
}

func (w *writer) event(e event) []byte {
	switch e.typ {
	case "":
		return e.Raw
	case stepStart, stepDelta, stepStop:
		return w.numbered(e)
	case created:
		w.id = wire.TextIn(e.interaction, "id")
		if w.verdicts == nil {
			w.verdicts = make(map[string]holdgate.Verdict)
		}
	case completed, failed:
		w.over = true
	}
	return w.whole(e)
}

// whole writes an event of the whole interaction: with the calls that are left, and a
// status that fits.
func (w *writer) whole(e event) []byte {
	noneLeft := len(w.verdicts) > 0 && w.released == 0
	edits := make(map[int][]byte)
	for n, id := range e.calls {
		again := element(wire.Find(e.interaction, "steps"), n)
		if edit := wire.Under(again, w.verdicts[id], said, withArguments); edit != nil {
			edits[n] = edit
		}
	}
	if len(edits) == 0 && !noneLeft {
		return e.Raw
	}
	data := e.Data
	if e.interaction != nil {
		data = wire.EditMember(data, "interaction", func(own []byte) []byte { return withSteps(own, edits, noneLeft) })
	}
	if noneLeft {
		data = wire.EditMember(data, "status", withoutAction)
	}
	return wire.AppendEvent(nil, e.Type, data)
}

// element returns the nth element of an array.
func element(array []byte, n int) []byte {
	list, err := wire.List(array)
	if err != nil || n >= len(list) {
		return nil
	}
	return list[n]
}

// numbered writes an event of a step with the number that the step has for the client.
func (w *writer) numbered(e event) []byte {
	index := e.index
	switch at, moved := w.at[e.index]; {
	case moved:
		index = at
	case e.typ == stepStart && w.shift > 0:
		index += w.shift
		w.move(e.index, index)
	}
	w.next = max(w.next, index+1)
	if e.typ == stepStop {
		delete(w.at, e.index)
	}
	if index == e.index {
		return e.Raw
	}
	return wire.AppendEvent(nil, e.Type, wire.SetMember(e.Data, "index", number(index)))
}

func (w *writer) move(from, to int) {
	if w.at == nil {
		w.at = make(map[int]int)
	}
	w.at[from] = to
}

// call writes a call: as it came, with other arguments or another number, or as the notice
// that stands for it.
func (w *writer) call(raw []byte, t callTag, v holdgate.Verdict) (out []byte) {
	if w.verdicts == nil {
		w.verdicts = make(map[string]holdgate.Verdict)
	}
	w.verdicts[t.step.id] = v
	index := t.step.index + w.shift
	if word := wire.Word(v); word != "" {
		out = w.said(word, index)
		if v.Release {
			w.shift++
			index++
		}
	}
	if v.Release {
		w.released++
		w.next = max(w.next, index+1)
		if v.Arguments == nil && index == t.step.index {
			return append(out, raw...)
		}
	}
	wrote := false // the arguments
	for _, e := range t.events {
		own := e.typ == stepStart || e.typ == stepDelta || e.typ == stepStop
		switch {
		case !own:
			out = append(out, w.event(e)...)
			continue
		case !v.Release:
			continue
		case v.Arguments != nil && e.typ != stepStart && !wrote:
			wrote = true
			out = appendArguments(out, index, wire.AppendText(nil, string(v.Arguments)))
		}
		if v.Arguments != nil && e.typ == stepDelta && wire.TextIn(e.delta, "type") == argumentsDelta {
			continue
		}
		out = wire.AppendEvent(out, e.Type, wire.SetMember(e.Data, "index", number(index)))
	}
	return out
}

// said writes a step of our own.
func (w *writer) said(text string, index int) []byte {
	w.next = max(w.next, index+1)
	return appendWords(nil, index, text)
}

// appendWords appends the events of a step with a text.
func appendWords(dst []byte, index int, text string) []byte {
	dst = appendEvent(dst, stepStart, index, `"step":{"type":"`+modelOutput+`"}`)
	dst = appendEvent(dst, stepDelta, index, `"delta":`+string(textContent(wire.AppendText(nil, text))))
	return appendEvent(dst, stepStop, index, "")
}

// appendArguments appends an event with arguments of a call, a JSON string.
func appendArguments(dst []byte, index int, arguments []byte) []byte {
	return appendEvent(dst, stepDelta, index, `"delta":{"type":"`+argumentsDelta+`","arguments":`+string(arguments)+`}`)
}

func appendEvent(dst []byte, typ string, index int, members string) []byte {
	if members != "" {
		members += ","
	}
	return wire.AppendEvent(dst, typ, []byte(`{"index":`+strconv.Itoa(index)+`,`+members+`"event_type":"`+typ+`"}`))
}

func number(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// Idle implements [wire.Stream]: an event that says that the interaction goes on, and a
// comment where it has no id.
func (s *stream) Idle() []byte {
	if s.w.id == "" || s.w.over {
		return []byte(": wait\n\n")
	}
	return wire.AppendEvent(nil, statusUpdate, []byte(`{"interaction_id":`+wire.Quote(s.w.id)+`,"status":"in_progress","event_type":"`+statusUpdate+`"}`))
}

// Notice returns a step that shows the agent's user a text, as the model's; nothing before
// the interaction has begun and behind its end.
func (s *stream) Notice(text string) []byte {
	if s.w.verdicts == nil || s.w.over {
		return nil
	}
	out := s.w.said(text, s.w.next)
	s.w.shift++
	return out
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	return wire.AppendEvent(nil, failed, []byte(`{"event_type":"`+failed+`","error":`+string(errorObject("internal_error", message))+`}`))
}
