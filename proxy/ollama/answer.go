package ollama

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer is a whole answer that came as one JSON document.
type answer struct {
	line  line
	parts []wire.Part
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) {
	data := bytes.TrimSpace(body)
	r, err := readReply(data)
	if err != nil {
		return nil, fmt.Errorf("reading an answer of Ollama: %w", err)
	}
	l := line{wire.Line{Raw: body, Data: data}, r}
	a := &answer{line: l}
	for _, p := range callParts(l) {
		p.Bytes = p.Tag.(callTag).call.raw
		a.parts = append(a.parts, p)
	}
	return a, nil
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where an answer, or its last line, has what it used.
var usageForm = wire.UsageForm{Input: "prompt_eval_count", Output: "eval_count"}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(a.line.Data) }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	for i, c := range a.line.reply.calls {
		c.verdict = wire.VerdictOf(verdicts, i)
	}
	var w writer
	out, changed := w.reply(a.line.reply, a.line.Data)
	if !changed {
		return a.line.Raw
	}
	return out
}

// Expand turns a plain answer into a stream that says the same: one line.
func (c *Codec) Expand(plain []byte) ([]byte, error) {
	if _, err := c.Answer(plain); err != nil {
		return nil, err
	}
	return wire.AppendLine(nil, bytes.TrimSpace(plain)), nil
}

// Collect turns a whole stream into the plain answer that says the same: texts
// and calls are joined, and of every other member the last value counts.
func (*Codec) Collect(raw []byte) ([]byte, error) {
	var lines wire.LineScanner
	lines.Push(raw)
	lines.End()
	var top, message wire.Object
	for {
		l, ok, err := lines.Next()
		if err == nil && ok && l.Data != nil {
			err = collect(&top, &message, l.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("collecting a streamed answer of Ollama: %w", err)
		}
		if !ok {
			break
		}
	}
	if len(message) > 0 {
		top.Set("message", message.JSON())
	}
	out := top.JSON()
	if err := wire.Strict(out); err != nil {
		return nil, fmt.Errorf("collecting a streamed answer of Ollama: %w", err)
	}
	return out, nil
}

func collect(top, message *wire.Object, data []byte) error {
	if err := wire.StrictEvent(data); err != nil {
		return err
	}
	r, err := readReply(data)
	switch {
	case err != nil:
		return err
	case r.failed:
		return errors.New("the stream ends in an error")
	}
	for m, err := range wire.Members(data) {
		switch {
		case err != nil:
			return err
		case string(m.Name) != "message" || wire.IsNull(m.Value):
			add(top, m)
			continue
		}
		for m, err := range wire.Members(m.Value) {
			if err != nil {
				return err
			}
			add(message, m)
		}
	}
	return nil
}

// add adds a member to one that grows: what comes piece by piece is joined, all
// else replaced, but not by null.
func add(o *wire.Object, m wire.Member) {
	name := string(m.Name)
	switch old := o.Value(name); {
	case old != nil && wire.IsNull(m.Value):
	case !pieces[name], wire.IsEmpty(old), m.Value[0] != old[0] || m.Value[0] != '"' && m.Value[0] != '[':
		o.Set(name, m.Value)
	case wire.IsEmpty(m.Value):
	case old[0] == '[':
		o.Set(name, append(append(bytes.Clone(old[:len(old)-1]), ','), m.Value[1:]...))
	default:
		o.Set(name, append(bytes.Clone(old[:len(old)-1]), m.Value[1:]...))
	}
}

// pieces are the members that come piece by piece.
var pieces = map[string]bool{"content": true, "thinking": true, "tool_calls": true, "response": true, "logprobs": true, "images": true}
