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

// An answer is a message with the places of what may change in it.
type answer struct {
	body  []byte
	calls []wire.Part
	spots []span // of the calls, in the body
	stop  span   // of the stop reason where that is tool_use; else empty
}

type span struct{ start, end int }

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
			err = a.readContent(m)
		case "stop_reason":
			var reason string
			if reason, err = optionalText(m.Value); reason == "tool_use" {
				a.stop = span{m.ValueStart, m.End}
			}
		default:
			err = exact(m.Name, "type", "content", "stop_reason", "error")
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

func (a *answer) readContent(content wire.Member) error {
	if isNull(content.Value) {
		return nil
	}
	for e, err := range wire.Elements(content.Value) {
		if err != nil {
			return err
		}
		b, err := readBlock(e.Value)
		if err != nil {
			return err
		}
		if b.kind != kindCall && b.kind != kindObserved {
			continue
		}
		c, err := b.call(nil)
		if err != nil {
			return err
		}
		a.calls = append(a.calls, wire.Part{Bytes: e.Value, Call: c, Observed: b.kind == kindObserved})
		a.spots = append(a.spots, span{content.ValueStart + e.Start, content.ValueStart + e.End})
	}
	return nil
}

// Calls returns the calls, and those that the provider has run by itself, in
// order.
func (a *answer) Calls() []wire.Part { return a.calls }

// Render returns the message with a text block in the place of each refused
// call. A verdict that is missing refuses.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	var edits []edit
	released := 0
	for i, p := range a.calls {
		var v holdgate.Verdict
		if i < len(verdicts) {
			v = verdicts[i]
		}
		switch {
		case p.Observed:
		case v.Release:
			released++
		default:
			edits = append(edits, edit{a.spots[i], `{"type":"text","text":` + quote(notice(v)) + `}`})
		}
	}
	if len(edits) == 0 {
		return a.body
	}
	if released == 0 && a.stop != (span{}) {
		edits = append(edits, edit{a.stop, `"end_turn"`})
	}
	return apply(a.body, edits)
}

// notice returns the text that takes a refused call's place.
func notice(v holdgate.Verdict) string {
	if v.Notice == "" {
		return "[holdgate] This call was not run." // an empty text would make clients ask again
	}
	return v.Notice
}
