package coherev1

import (
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes the parts of a stream under their verdicts.
type writer struct {
	lines       bool // and no server-sent events
	begun, over bool
	text, plan  bool   // some has been written
	words       string // that were added, for the response at the end
	left        [][]byte
	changed     bool
}

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case event:
		return s.w.event(t)
	case callTag:
		t.group.verdicts[t.n] = v
		if t.n < len(t.group.calls)-1 {
			return nil
		}
		return s.w.group(t.group)
	}
	return p.Bytes
}

// event writes an event that is none of a group's.
func (w *writer) event(e event) []byte {
	w.begun = w.begun || e.typ != ""
	switch {
	case e.typ == textGeneration:
		w.text = w.text || e.text != ""
	case e.typ == callsChunk:
		w.plan = w.plan || e.text != ""
	case e.typ == streamEnd:
		w.over = true
		if w.changed || w.words != "" {
			return w.end(e)
		}
	}
	return e.Raw
}

// end writes the end of a stream, whose response says what the stream has said.
func (w *writer) end(e event) []byte {
	response := e.reply.raw
	left := w.left
	if !w.changed { // nothing but a notice was added
		for _, c := range e.reply.calls {
			left = append(left, c.raw)
		}
	}
	words := w.words
	if wire.Find(response, "text") == nil {
		words = ""
	}
	r := *e.reply
	return w.again(nil, e, wire.SetMember(e.Data, "response", r.with(left, words)))
}

// group writes the events of a group.
func (w *writer) group(g *group) (out []byte) {
	left, words, changed := settled(g.calls, g.verdicts)
	if w.changed = changed; changed {
		w.left = left
		if words != "" {
			out = w.said(out, words)
		}
	}
	wrote := !changed
	write := func() {
		if !wrote && g.pieces {
			out = w.inPieces(out, left)
		}
		wrote = true
	}
	for _, e := range g.events {
		switch {
		case !changed, e.typ == "":
			out = append(out, w.event(e)...)
		case e.piece != nil:
			out = w.planned(out, e.text)
		case e.typ == callsGeneration && len(e.calls) > 0:
			if write(); len(left) > 0 {
				out = w.again(out, e, wire.SetMember(e.Data, "tool_calls", wire.Array(left...)))
			} else if !w.plan {
				out = w.planned(out, e.text)
			}
		default:
			if e.typ == streamEnd {
				write()
			}
			out = append(out, w.event(e)...)
		}
	}
	return out
}

// inPieces appends the calls as they come in pieces: a name, and all parameters.
func (w *writer) inPieces(out []byte, left [][]byte) []byte {
	for n, c := range left {
		index := `"tool_call_delta":{"index":` + strconv.Itoa(n)
		out = w.made(out, callsChunk, index+`,"name":`+string(wire.Find(c, "name"))+`}`)
		parameters := wire.Find(c, "parameters")
		if wire.IsNull(parameters) {
			parameters = []byte("{}")
		}
		out = w.made(out, callsChunk, index+`,"parameters":`+wire.Quote(string(parameters))+`}`)
	}
	return out
}

// planned appends a piece of the plan.
func (w *writer) planned(out []byte, text string) []byte {
	if text == "" {
		return out
	}
	w.plan = true
	return w.made(out, callsChunk, `"text":`+wire.Quote(text))
}

// said appends words of our own.
func (w *writer) said(out []byte, words string) []byte {
	if w.words != "" {
		w.words += wire.Apart
	}
	w.words += words
	if w.text {
		words = wire.Apart + words
	}
	w.text = true
	return w.made(out, textGeneration, `"text":`+wire.Quote(words))
}

// made appends an event of our own.
func (w *writer) made(out []byte, typ, members string) []byte {
	return w.frame(out, typ, []byte(`{"is_finished":`+strconv.FormatBool(typ == streamEnd)+`,"event_type":"`+typ+`",`+members+`}`))
}

// again appends an event with other data.
func (w *writer) again(out []byte, e event, data []byte) []byte { return w.frame(out, e.Type, data) }

func (w *writer) frame(out []byte, typ string, data []byte) []byte {
	if w.lines {
		return wire.AppendLine(out, data)
	}
	return wire.AppendEvent(out, typ, data)
}

// Idle implements [wire.Stream]: an event that adds nothing to the text.
func (s *stream) Idle() []byte {
	if !s.w.begun || s.w.over {
		return nil
	}
	return s.w.made(nil, textGeneration, `"text":""`)
}

// Notice returns an event that shows the agent's user a text, as the model's; nothing
// where [stream.Idle] has nothing either.
func (s *stream) Notice(text string) []byte {
	if !s.w.begun || s.w.over {
		return nil
	}
	return s.w.said(nil, text)
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	return s.w.made(nil, streamEnd, `"finish_reason":"ERROR","response":{"text":`+wire.Quote(message)+`,"finish_reason":"ERROR"}`)
}
