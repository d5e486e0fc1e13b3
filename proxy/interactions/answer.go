package interactions

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxCalls is how many calls one answer may have.
const maxCalls = 1024

// An answer is a whole interaction that came as one JSON document.
type answer struct {
	body  []byte
	steps []*step
	parts []wire.Part
}

// A callTag marks the part of one call.
type callTag struct {
	step        *step
	interaction string  // its id
	events      []event // in a stream
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) { return readAnswer(body) }

func readAnswer(body []byte) (*answer, error) {
	a := &answer{body: body}
	found := false
	for m, err := range wire.Members(body) {
		if err == nil {
			switch string(m.Name) {
			case "steps":
				err = wire.EachElement(m.Value, a.read)
			case "status":
				if found = true; wire.KindOf(m.Value) != "a string" {
					err = fmt.Errorf("its status is %s, not a string", wire.KindOf(m.Value))
				}
			case "outputs":
				err = errors.New("it is in the schema of before May 2026, which is not gated: send the header Api-Revision: 2026-05-20")
			default:
				err = wire.NoCall(m, "steps", "status", "outputs", "id")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading an interaction: %w", err)
		}
	}
	if !found {
		return nil, errors.New("reading an interaction: it has no status")
	}
	return a, nil
}

func (a *answer) read(object []byte) error {
	s, err := readStep(object)
	if err != nil {
		return err
	}
	s.index = len(a.steps)
	a.steps = append(a.steps, s)
	if !s.isCall() {
		return nil
	}
	if len(a.parts) == maxCalls {
		return fmt.Errorf("there are more than %d calls", maxCalls)
	}
	seen, err := s.seen()
	if err != nil {
		return err
	}
	a.parts = append(a.parts, wire.Part{
		Bytes: object, Call: seen, Observed: s.observed(), Tag: callTag{step: s, interaction: wire.TextIn(a.body, "id")},
	})
	return nil
}

// usageForm is where an interaction has what it used.
var usageForm = wire.UsageForm{
	Input: "total_input_tokens+total_tool_use_tokens", Output: "total_output_tokens+total_thought_tokens", CacheRead: "total_cached_tokens",
}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Usage implements [wire.Stream].
func (s *stream) Usage() holdgate.Usage { return s.used.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.used.All }

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	edits, left := make(map[int][]byte), 0
	for i, p := range a.parts {
		if p.Observed {
			continue
		}
		v := wire.VerdictOf(verdicts, i)
		if v.Release {
			left++
		}
		s := p.Tag.(callTag).step
		if edit := wire.Under(s.raw, v, said, withArguments); edit != nil {
			edits[s.index] = edit
		}
	}
	if len(edits) == 0 {
		return a.body
	}
	return withSteps(a.body, edits, left == 0)
}

func withArguments(call, arguments []byte) []byte {
	return wire.SetMember(call, "arguments", arguments)
}

// withSteps returns an interaction with edits of its steps. Where no call is left, nobody
// waits for a result.
func withSteps(interaction []byte, edits map[int][]byte, noneLeft bool) []byte {
	return wire.RewriteMembers(interaction, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "steps":
			return wire.ReplaceElements(m.Value, edits)
		case "status":
			if noneLeft {
				return withoutAction(m.Value)
			}
		}
		return m.Value
	})
}

// withoutAction returns the status of an interaction in which no call is left.
func withoutAction(status []byte) []byte {
	if text, err := wire.Text(status); err == nil && text == "requires_action" {
		return []byte(`"completed"`)
	}
	return status
}
