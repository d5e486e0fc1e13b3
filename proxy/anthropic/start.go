package anthropic

import (
	"bytes"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A start is a message_start that has blocks in it already, with what becomes
// of them.
type start struct {
	blocks []block
	kept   [][]byte
	texts  []string // notices and notes, which are blocks of their own
	done   int      // how many blocks have been looked at
	edited bool
}

// begin takes a message_start. One with calls in it is a part for each of them,
// of which the last carries its bytes.
func (r *reader) begin(raw []byte, e event) error {
	content, err := contentOf(e.message)
	if err != nil {
		return err
	}
	r.blocks = len(content)
	m := mark{role: roleStart, blocks: r.blocks, text: none, start: &start{blocks: content}}
	var parts []wire.Part
	for i := range content {
		b := &content[i]
		if b.kind != kindCall && b.kind != kindObserved {
			continue
		}
		c, err := b.call(nil)
		if err != nil {
			return err
		}
		m.index = i
		parts = append(parts, wire.Part{Call: c, Observed: b.kind == kindObserved, Fixed: b.fixed(), Tag: m})
	}
	if len(parts) == 0 {
		r.flows(raw)
		return nil
	}
	last := &parts[len(parts)-1]
	m.last = true
	last.Bytes, last.Tag = raw, m
	r.flush()
	r.parts = append(r.parts, parts...)
	return nil
}

// start takes the verdict on one call of a message_start and returns, once it
// has them all, the event. What was refused is not in it; the texts follow as
// blocks of their own, for not every client shows those in a message_start.
func (w *writer) start(p wire.Part, m mark, v holdgate.Verdict) []byte {
	s := m.start
	if p.Observed {
		v = holdgate.Verdict{Release: true}
	} else if v.Release {
		w.released++
	} else {
		w.refused++
	}
	s.take(m.index, v)
	if !m.last {
		return nil
	}
	w.begun = true
	s.keep(len(s.blocks))
	if len(s.texts) == 0 && !s.edited {
		return p.Bytes
	}
	w.shift = len(s.kept) + len(s.texts) - len(s.blocks)
	out := rewritten(p.Bytes, func(data []byte) []byte { return wire.EditMember(data, "message", s.message) })
	for i, text := range s.texts {
		out = append(out, textBlock(len(s.kept)+i, text)...)
	}
	return out
}

// keep keeps the blocks up to this one as they are.
func (s *start) keep(to int) {
	for ; s.done < to; s.done++ {
		s.kept = append(s.kept, s.blocks[s.done].raw)
	}
}

func (s *start) take(index int, v holdgate.Verdict) {
	s.keep(index)
	s.done++
	raw := s.blocks[index].raw
	switch {
	case !v.Release:
		s.texts = append(s.texts, wire.Word(v))
		return
	case v.Arguments != nil:
		s.edited = true
		raw = withInput(raw, v.Arguments)
	}
	if v.Note != "" {
		s.texts = append(s.texts, v.Note)
	}
	s.kept = append(s.kept, raw)
}

// message returns the message with the blocks that are left.
func (s *start) message(message []byte) []byte {
	calls := false
	for _, raw := range s.kept {
		b, err := readBlock(raw)
		calls = calls || err == nil && b.kind == kindCall
	}
	return wire.RewriteMembers(message, func(m wire.Member) []byte {
		switch {
		case string(m.Name) == "content":
			return bytes.Join([][]byte{{'['}, bytes.Join(s.kept, []byte{','}), {']'}}, nil)
		case string(m.Name) == "stop_reason" && !calls:
			return withoutCall(m.Value)
		}
		return m.Value
	})
}
