package cohere

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer is a whole answer that came as one JSON document.
type answer struct {
	body  []byte
	text  bool // it has some
	calls []*call
	parts []wire.Part
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) { return readAnswer(body) }

func readAnswer(body []byte) (*answer, error) {
	a := &answer{body: body}
	found := false
	for m, err := range wire.Members(body) {
		if err == nil {
			if string(m.Name) == "message" && wire.KindOf(m.Value) == "an object" {
				found = true
				err = a.readMessage(m.Value)
			} else {
				err = wire.NoCall(m, "message", "finish_reason")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading an answer of Cohere: %w", err)
		}
	}
	if !found {
		return nil, errors.New("reading an answer of Cohere: it has no message")
	}
	return a, nil
}

func (a *answer) readMessage(object []byte) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "tool_calls":
			err = wire.EachElement(m.Value, a.readCall)
		case "content":
			a.text = !wire.IsEmpty(m.Value)
			err = wire.HiddenCall(m.Value)
		default:
			err = wire.NoCall(m, "tool_calls", "content")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) readCall(element []byte) error {
	c, err := readCall(element)
	if err != nil {
		return err
	}
	seen, err := c.part()
	if err == nil && len(a.calls) == maxCalls {
		err = fmt.Errorf("there are more than %d calls", maxCalls)
	}
	if c.id != "" && slices.ContainsFunc(a.calls, func(o *call) bool { return o.id == c.id }) {
		err = fmt.Errorf("two calls have the id %.100q", c.id)
	}
	a.calls = append(a.calls, c)
	a.parts = append(a.parts, wire.Part{Bytes: element, Call: seen, Tag: c})
	return err
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where an answer, or its last event, has what it used: what is billed, where
// that is said.
var usageForm = wire.UsageForm{
	Input: "billed_units.input_tokens|tokens.input_tokens", Output: "billed_units.output_tokens|tokens.output_tokens", CacheRead: "cached_tokens",
}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Usage implements [wire.Stream].
func (s *stream) Usage() holdgate.Usage { return s.metered.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.metered.All }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	var left [][]byte
	words, changed := "", false
	for i, c := range a.calls {
		v := wire.VerdictOf(verdicts, i)
		if word := wire.Word(v); word != "" {
			if a.text || words != "" {
				words += wire.Apart
			}
			words += word
		}
		changed = changed || !v.Release || v.Note != "" || v.Arguments != nil
		switch {
		case !v.Release:
		case v.Arguments != nil:
			left = append(left, withArguments(c.raw, wire.AppendText(nil, string(v.Arguments))))
		default:
			left = append(left, c.raw)
		}
	}
	if !changed {
		return a.body
	}
	out := wire.EditMember(a.body, "message", func(message []byte) []byte {
		message = wire.EditMember(message, "tool_calls", func([]byte) []byte {
			if len(left) == 0 {
				return nil
			}
			return wire.Array(left...)
		})
		if words == "" {
			return message
		}
		return withText(message, words)
	})
	if len(left) > 0 {
		return out
	}
	return wire.EditMember(out, "finish_reason", withoutCall)
}

// withText returns a message with one more text in its content.
func withText(message []byte, text string) []byte {
	block := []byte(`{"type":"text","text":` + wire.Quote(text) + `}`)
	content := wire.Find(message, "content")
	switch wire.KindOf(content) {
	case "an array":
		return wire.SetMember(message, "content", wire.AppendElements(content, block))
	case "a string":
		own, _ := wire.Text(content)
		return wire.SetMember(message, "content", wire.AppendText(nil, own+text))
	}
	return wire.SetMember(message, "content", wire.Array(block))
}

// withoutCall returns the finish_reason of an answer in which no call is left.
func withoutCall(reason []byte) []byte {
	if text, err := wire.Text(reason); err == nil && text == "TOOL_CALL" {
		return []byte(`"COMPLETE"`)
	}
	return reason
}
