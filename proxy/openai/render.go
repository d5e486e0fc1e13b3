package openai

import (
	"bytes"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case callTag:
		t.call.settle(v)
		if !t.last {
			return nil
		}
		return s.renderGroup(t.group, p.Bytes)
	case *group:
		return s.renderGroup(t, p.Bytes)
	case *chunk:
		return s.renderChunk(t)
	}
	return p.Bytes
}

// Idle implements [wire.Stream]: a chunk that adds nothing to the content.
// Before anything is known of the stream it is a comment.
func (s *stream) Idle() []byte {
	if s.head.id == nil {
		return []byte(": holdgate\n\n")
	}
	return s.head.content(s.head.choice, "")
}

// Notice returns an event that shows the agent's user a text, as content of
// the model.
func (s *stream) Notice(text string) []byte {
	if s.choice(s.head.choice).content {
		text = wire.Apart + text
	}
	return s.head.content(s.head.choice, text)
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	return wire.AppendEvent(nil, "", errorObject("server_error", message))
}

func (s *stream) renderGroup(g *group, raw []byte) []byte {
	for _, k := range g.calls {
		k.choice.anew = false
	}
	for _, k := range g.calls {
		k.choice.settle(k)
	}
	changed := false
	for _, k := range g.calls {
		if !k.choice.anew {
			k.choice.released++ // as it came; else it is counted where it is written
		}
	}
	for _, c := range g.chunks {
		changed = changed || s.touches(c)
	}
	if !changed {
		return raw
	}
	var out []byte
	for _, c := range g.chunks {
		out = append(out, s.renderChunk(c)...)
	}
	return out
}

// settle takes the verdict of one more call, and says whether the calls of its
// group are written anew: they are where one of the group changes, from the
// first refusal on, and where a client could not tell a call that stands as it
// came from one that was written before.
func (s *choiceState) settle(k *call) {
	s.refused = s.refused || !k.verdict.Release
	s.changed = s.changed || k.changed()
	s.odd = s.odd || k.odd
	s.anew = s.anew || k.changed() || s.refused || s.changed && s.odd
}

// touches reports whether a chunk cannot go out as it came.
func (s *stream) touches(c *chunk) bool {
	for i := range c.doc.choices {
		ch := &c.doc.choices[i]
		st := s.choices[ch.index]
		if st != nil && (st.gap && ch.content || st.rewrites(ch)) {
			return true
		}
	}
	return false
}

// rewrites reports whether a choice of a chunk cannot stand as it came.
func (s *choiceState) rewrites(ch *choice) bool {
	return s.anew && len(ch.elements) > 0 || s.endsWithout(ch.finish)
}

// endsWithout reports whether a finish_reason speaks of calls of which none is
// left.
func (s *choiceState) endsWithout(finish string) bool {
	return s.refused && s.released == 0 && (finish == "tool_calls" || finish == "function_call")
}

func (s *stream) renderChunk(c *chunk) []byte {
	if !s.touches(c) {
		return c.event.Raw
	}
	var before []byte // events of our own
	rewrite := false
	for i := range c.doc.choices {
		ch := &c.doc.choices[i]
		st := s.choice(ch.index)
		if st.gap && ch.content {
			before = append(before, s.head.content(ch.index, wire.Apart)...)
			st.gap = false
		}
		rewrite = rewrite || st.rewrites(ch)
	}
	if !rewrite {
		return append(before, c.event.Raw...)
	}
	says := len(c.doc.choices) > 1
	data := wire.RewriteMembers(bytes.TrimSpace(c.event.Data), func(m wire.Member) []byte {
		switch string(m.Name) {
		case "choices":
			return wire.RewriteElements(m.Value, func(n int, value []byte) []byte {
				r := s.rewrite(&c.doc.choices[n], c.first)
				out := r.choice(value, "delta")
				says = says || r.says
				return out
			})
		case "usage":
			says = says || !wire.IsEmpty(m.Value)
		}
		return m.Value
	})
	if !says {
		return before
	}
	return wire.AppendEvent(before, c.event.Type, data)
}

// rewrite says what becomes of a choice of a chunk in which calls begin.
func (s *stream) rewrite(ch *choice, begun []*call) *rewrite {
	st := s.choice(ch.index)
	r := &rewrite{finish: ch.finish, unchanged: !st.rewrites(ch)}
	if r.unchanged {
		return r
	}
	for _, k := range begun {
		if k.choice != st {
			continue
		}
		if word := wire.Word(k.verdict); word != "" {
			if k.after || ch.content || st.gap {
				r.notice += wire.Apart
			}
			r.notice += word
			st.gap = true
		}
		switch {
		case !k.verdict.Release:
		case k.legacy:
			r.legacy = k.appendBody(nil)
			st.released++
		default:
			r.elements = append(r.elements, k.appendElement(nil, st.released))
			st.released++
		}
	}
	if st.endsWithout(ch.finish) {
		r.finish = "stop"
	}
	return r
}

// A rewrite is what becomes of one choice with a call in it that is refused,
// edited or noted, in a stream or in a whole answer.
type rewrite struct {
	unchanged bool
	notice    string // notices and notes, to be added to the content
	finish    string // the finish_reason, or empty to leave it

	// In a stream, where calls came in fragments: what is to stand for them.
	elements [][]byte // of tool_calls
	legacy   []byte   // the function_call

	// In a whole answer: what becomes of the elements of tool_calls, by place,
	// and of the function_call; nil where it goes.
	keep       map[int][]byte
	keepLegacy []byte

	says bool // something is left in the message
}

// choice rewrites an element of choices, whose message is named body.
func (r *rewrite) choice(object []byte, body string) []byte {
	if r.unchanged {
		r.says = true
		return object
	}
	r.says = r.finish != ""
	return wire.RewriteMembers(object, func(m wire.Member) []byte {
		switch {
		case string(m.Name) == body && !wire.IsNull(m.Value):
			return r.message(m.Value)
		case string(m.Name) == "finish_reason" && r.finish != "":
			return wire.AppendText(nil, r.finish)
		}
		return m.Value
	})
}

func (r *rewrite) message(object []byte) []byte {
	contentSeen := false
	out := wire.RewriteMembers(object, func(m wire.Member) []byte {
		value := m.Value
		switch string(m.Name) {
		case "tool_calls":
			if len(r.keep) == 0 {
				return nil
			}
			value = wire.RewriteElements(value, func(n int, _ []byte) []byte { return r.keep[n] })
		case "function_call":
			if r.keepLegacy == nil {
				return nil
			}
			value = r.keepLegacy
		case "content":
			contentSeen = true
			value = r.content(value)
		}
		r.says = r.says || !wire.IsEmpty(value)
		return value
	})
	if r.notice != "" && !contentSeen {
		out = wire.AppendMember(out, "content", wire.AppendText(nil, r.notice))
		r.says = true
	}
	if len(r.elements) > 0 {
		list := append([]byte{'['}, bytes.Join(r.elements, []byte{','})...)
		out = wire.AppendMember(out, "tool_calls", append(list, ']'))
		r.says = true
	}
	if r.legacy != nil {
		out = wire.AppendMember(out, "function_call", r.legacy)
		r.says = true
	}
	return out
}

// content adds the notice to a content member.
func (r *rewrite) content(value []byte) []byte {
	notice := wire.AppendText(nil, r.notice)
	switch {
	case r.notice == "":
		return value
	case value[0] == '"':
		return append(append([]byte(nil), value[:len(value)-1]...), notice[1:]...)
	case value[0] == '[': // a list of blocks, as Mistral has it
		block := append(append([]byte(`{"type":"text","text":`), notice...), '}')
		return wire.AppendElements(value, block)
	}
	return notice
}
