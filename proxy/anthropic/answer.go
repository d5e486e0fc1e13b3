package anthropic

import (
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Answer reads a message that came as one JSON document. A document of type
// error has no calls.
func (c *Codec) Answer(body []byte) (wire.Answer, error) {
	if err := wire.Strict(body); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	a, err := readAnswer(body)
	if err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	return a, nil
}

// An answer is a message with the places of its calls.
type answer struct {
	body  []byte
	calls []wire.Part
	at    []int // which block of the content each call is
}

func readAnswer(body []byte) (*answer, error) {
	a := &answer{body: body}
	found, typ := false, ""
	for m, err := range wire.Members(body) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "type":
			typ, err = wire.Text(m.Value)
		case "content":
			found = true
			err = a.readContent(m.Value)
		default:
			err = wire.NoCall(m, "type", "content", "stop_reason", "error")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", m.Name, err)
		}
	}
	switch {
	case !found && typ != failure:
		return nil, fmt.Errorf("it has no content")
	case typ != "message" && typ != failure && typ != "":
		return nil, fmt.Errorf("it is of the unknown type %q", typ)
	}
	return a, nil
}

func (a *answer) readContent(content []byte) error {
	if wire.IsNull(content) {
		return nil
	}
	n := 0
	for e, err := range wire.Elements(content) {
		if err != nil {
			return err
		}
		b, err := readBlock(e.Value)
		if err != nil {
			return err
		}
		if b.kind == kindCall || b.kind == kindObserved {
			c, err := b.call(nil)
			if err != nil {
				return err
			}
			a.calls = append(a.calls, wire.Part{Bytes: e.Value, Call: c, Observed: b.kind == kindObserved, Fixed: b.fixed()})
			a.at = append(a.at, n)
		}
		n++
	}
	return nil
}

// Calls returns the calls, and those that the provider has run by itself, in
// order.
func (a *answer) Calls() []wire.Part { return a.calls }

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Render returns the message with a text block in the place of each refused
// call, other input in each edited one, and a text block before each one that
// comes with a note. A verdict that is missing refuses.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	changed := make(map[int][]byte) // by block
	released := 0
	for i, p := range a.calls {
		if p.Observed {
			continue
		}
		v := settled(p, wire.VerdictOf(verdicts, i))
		if v.Release {
			released++
		}
		if block := wire.Under(p.Bytes, v, plainText, withInput); block != nil {
			changed[a.at[i]] = block
		}
	}
	if len(changed) == 0 {
		return a.body
	}
	return wire.RewriteMembers(a.body, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "content":
			return wire.ReplaceElements(m.Value, changed)
		case "stop_reason":
			if released == 0 {
				return withoutCall(m.Value)
			}
		}
		return m.Value
	})
}

func plainText(text string) []byte {
	return []byte(`{"type":"text","text":` + wire.Quote(text) + `}`)
}

// withInput returns a call's block with another input, which is added where it
// had none.
func withInput(block, input []byte) []byte {
	found := false
	out := wire.EditMember(block, "input", func([]byte) []byte {
		found = true
		return input
	})
	if !found {
		return wire.AppendMember(block, "input", input)
	}
	return out
}

// withoutCall returns the stop reason of a message in which no call is left.
func withoutCall(reason []byte) []byte {
	if text, err := wire.Text(reason); err == nil && text == "tool_use" {
		return []byte(`"end_turn"`)
	}
	return reason
}

// settled returns the verdict that counts for a call: one that cannot be
// edited is refused rather than run with arguments that nobody approved.
func settled(p wire.Part, v holdgate.Verdict) holdgate.Verdict {
	if v.Release && v.Arguments != nil && p.Fixed {
		return holdgate.Verdict{Notice: "[holdgate] The call to " + p.Call.Tool.Name +
			" was not run: its arguments were edited, and a call of this kind has no place for others."}
	}
	return v
}
