package coherev1

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole stream, of lines or of server-sent events, into the plain answer
// that says the same: the response at its end. What that leaves out comes from before.
func (c *Codec) Collect(raw []byte) ([]byte, error) {
	s := c.Stream()
	if first := bytes.TrimLeft(raw, wire.Blanks); len(first) > 0 && first[0] == '{' {
		s = c.lines()
	}
	parts, err := s.Push(raw)
	if err != nil {
		return nil, err
	}
	rest, err := s.End()
	if err != nil {
		return nil, err
	}
	var calls [][]byte
	var out, text []byte
	add := func(e event) {
		switch e.typ {
		case textGeneration:
			inside, _ := wire.Inside(wire.Find(e.Data, "text")) // a string, or nothing
			text = append(text, inside...)
		case streamEnd:
			out = e.reply.raw
			if reason := wire.Find(e.Data, "finish_reason"); reason != nil && wire.Find(out, "finish_reason") == nil {
				out = wire.SetMember(out, "finish_reason", reason)
			}
		}
	}
	for _, p := range slices.Concat(parts, rest) {
		switch t := p.Tag.(type) {
		case event:
			add(t)
		case callTag:
			calls = append(calls, t.group.calls[t.n].element())
			if p.Bytes != nil {
				for _, e := range t.group.events {
					add(e)
				}
			}
		}
	}
	if out == nil {
		return nil, errors.New("collecting a streamed answer of Cohere: it has no end")
	}
	if wire.Find(out, "text") == nil {
		out = wire.SetMember(out, "text", slices.Concat([]byte{'"'}, text, []byte{'"'}))
	}
	if len(calls) > 0 && wire.IsEmpty(wire.Find(out, "tool_calls")) {
		out = wire.SetMember(out, "tool_calls", wire.Array(calls...))
	}
	if err := wire.Strict(out); err != nil {
		return nil, fmt.Errorf("collecting a streamed answer of Cohere: %w", err)
	}
	return out, nil
}

// Expand turns a plain answer into a stream of lines that says the same: the text and the
// calls whole.
func (*Codec) Expand(plain []byte) ([]byte, error) {
	a, err := readAnswer(plain)
	if err != nil {
		return nil, err
	}
	w := writer{lines: true}
	id := wire.Find(plain, "generation_id")
	if id == nil {
		id = []byte(`""`)
	}
	out := w.made(nil, streamStart, `"generation_id":`+string(id))
	if text := wire.Find(plain, "text"); !wire.IsEmpty(text) {
		out = w.made(out, textGeneration, `"text":`+string(text))
	}
	if len(a.reply.calls) > 0 {
		out = w.made(out, callsGeneration, `"tool_calls":`+string(wire.Find(plain, "tool_calls")))
	}
	reason := wire.Find(plain, "finish_reason")
	if reason == nil {
		reason = []byte(`"COMPLETE"`)
	}
	return w.made(out, streamEnd, `"finish_reason":`+string(reason)+`,"response":`+string(plain)), nil
}
