package gemini

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// unsigned is the thought signature that Google documents for calls that have
// none of their own ("Thought signatures", Gemini API documentation).
const unsigned = `"skip_thought_signature_validator"`

// A writer writes responses under the verdicts of their calls.
type writer struct {
	framing    framing // nil for a plain answer
	wrapped    bool    // as the latest response was
	seen       bool    // a response has been written
	candidates map[int]*written
}

// written is what has been written of a candidate.
type written struct {
	text     bool // something that is not empty
	released int  // calls
	unsigned bool // a refused call had the signature of those that follow
}

func newWriter(f framing) writer { return writer{framing: f, candidates: map[int]*written{}} }

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case chunk:
		return s.w.chunk(t)
	case callTag:
		if t.call.verdict = v; p.Observed {
			t.call.verdict = holdgate.Verdict{Release: true}
		}
		if !t.last {
			return nil
		}
		var out []byte
		for _, c := range t.group {
			out = append(out, s.w.chunk(c)...)
		}
		return out
	}
	return p.Bytes
}

// Idle implements [wire.Stream]: a response with an empty text. Before anything
// is known of the answer there is nothing that every client takes.
func (s *stream) Idle() []byte {
	if !s.w.seen {
		return nil
	}
	return s.w.framing.frameOf(s.w.text(""))
}

// Notice returns a response that shows the agent's user a text, as the model's.
func (s *stream) Notice(text string) []byte {
	if s.w.candidate(0).text {
		text = wire.Apart + text
	}
	return s.w.framing.frameOf(s.w.text(text))
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	out := s.w.framing.frameOf((&Codec{}).Error(500, message))
	if _, ok := s.w.framing.(*array); ok {
		out = append(out, ']')
	}
	return out
}

// text returns a response that adds text to the first candidate.
func (w *writer) text(text string) []byte {
	b := []byte(`{"candidates":[{"content":{"parts":[`)
	b = append(appendPart(b, text), `],"role":"model"},"index":0}]}`...)
	if w.wrapped {
		b = append(append([]byte(`{"response":`), b...), '}')
	}
	return b
}

func appendPart(b []byte, text string) []byte {
	return append(wire.AppendText(append(b, `{"text":`...), text), '}')
}

func (w *writer) candidate(index int) *written {
	c := w.candidates[index]
	if c == nil {
		c = &written{}
		w.candidates[index] = c
	}
	return c
}

// chunk writes one frame of a stream.
func (w *writer) chunk(c chunk) []byte {
	if c.response == nil {
		return w.framing.same(c.frame)
	}
	w.seen, w.wrapped = true, c.response.wrapped
	data, changed := w.response(c.response, c.frame.data)
	if !changed {
		return w.framing.same(c.frame)
	}
	return w.framing.other(c.frame, data)
}

// response returns a response as it is to be sent, and whether that differs
// from how it came.
func (w *writer) response(r *response, data []byte) ([]byte, bool) {
	changes := make([]map[int][]byte, len(r.candidates)) // by part
	changed := false
	for i := range r.candidates {
		changes[i] = w.changes(&r.candidates[i])
		changed = changed || len(changes[i]) > 0
	}
	if !changed {
		return data, false
	}
	return rewriteParts(data, func(n, part int, value []byte) []byte {
		if other, ok := changes[n][part]; ok {
			return other
		}
		return value
	}), true
}

// changes returns what takes the place of a candidate's parts, where one cannot
// go out as it came.
func (w *writer) changes(c *candidate) map[int][]byte {
	var changes map[int][]byte
	st := w.candidate(c.index)
	for i := range c.fragments {
		f := &c.fragments[i]
		st.text = st.text || f.textFirst
		if b := st.fragment(f); b != nil {
			if changes == nil {
				changes = map[int][]byte{}
			}
			changes[f.part] = b
		}
	}
	st.text = st.text || c.text
	return changes
}

// fragment returns what takes the place of a part with a fragment of a call,
// or nil where it stays. One that goes on with what was changed says nothing
// any more.
func (st *written) fragment(f *fragment) []byte {
	c := f.call
	v := c.verdict
	first := !c.begun
	c.begun = true
	switch {
	case v.Release && v.Arguments == nil && !first:
		return nil
	case !first:
		return appendPart(nil, "")
	case !v.Release:
		st.unsigned = st.unsigned || c.signature && st.released == 0
		text := v.Notice + "\n"
		if st.text {
			text = wire.Apart + text
		}
		st.text = true
		return appendPart(nil, text)
	}
	part := f.raw
	if v.Arguments != nil {
		part = wire.RewriteMembers(part, func(m wire.Member) []byte {
			if string(m.Name) == f.member {
				return c.edited(f.value)
			}
			return m.Value
		})
	}
	if st.unsigned && st.released == 0 && !c.signature && plainName(c.member) == memberFunction {
		part = wire.AppendMember(part, "thoughtSignature", []byte(unsigned))
	}
	st.released++
	if v.Note != "" {
		text := v.Note + "\n"
		if st.text {
			text = wire.Apart + text
		}
		st.text = true
		part = append(append(appendPart(nil, text), ','), part...)
	} else if v.Arguments == nil && len(part) == len(f.raw) {
		return nil
	}
	return part
}

// rewriteParts rewrites the parts of all candidates of a response; n counts
// the candidates as they come.
func rewriteParts(data []byte, edit func(n, part int, value []byte) []byte) []byte {
	return wire.RewriteMembers(data, func(m wire.Member) []byte {
		switch {
		case string(m.Name) == "response" && !wire.IsNull(m.Value):
			return rewriteParts(m.Value, edit)
		case string(m.Name) != "candidates" || wire.IsNull(m.Value):
			return m.Value
		}
		return wire.RewriteElements(m.Value, func(n int, candidate []byte) []byte {
			return wire.RewriteMembers(candidate, func(m wire.Member) []byte {
				if string(m.Name) != "content" || wire.IsNull(m.Value) {
					return m.Value
				}
				return wire.RewriteMembers(m.Value, func(m wire.Member) []byte {
					if string(m.Name) != "parts" || wire.IsNull(m.Value) {
						return m.Value
					}
					return wire.RewriteElements(m.Value, func(part int, value []byte) []byte { return edit(n, part, value) })
				})
			})
		})
	})
}
