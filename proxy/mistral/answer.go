package mistral

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxCalls is how many calls one answer may have.
const maxCalls = 1024

// An answer is a whole answer that came as one JSON document.
type answer struct {
	body    []byte
	entries []*entry
	parts   []wire.Part
}

// A callTag marks the part of one call.
type callTag struct {
	entry        *entry
	whole        []byte // the entry, as a plain answer has it
	conversation string
	events       []event // in a stream
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) { return readAnswer(body) }

func readAnswer(body []byte) (*answer, error) {
	a := &answer{body: body}
	found := false
	for m, err := range wire.Members(body) {
		if err == nil {
			if string(m.Name) == "outputs" && wire.KindOf(m.Value) == "an array" {
				found = true
				err = wire.EachElement(m.Value, a.read)
			} else {
				err = wire.NoCall(m, "outputs", "conversation_id")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading an answer in a conversation: %w", err)
		}
	}
	if !found {
		return nil, errors.New("reading an answer in a conversation: it has no outputs")
	}
	return a, nil
}

func (a *answer) read(object []byte) error {
	e, err := readEntry(object)
	if err != nil {
		return err
	}
	e.index = len(a.entries)
	if e.typ == functionCall && slices.ContainsFunc(a.entries, e.sameCall) {
		return fmt.Errorf("two calls have the id %.100q or are %.100q", e.id, e.callID)
	}
	a.entries = append(a.entries, e)
	if e.typ != functionCall && e.typ != toolExecution {
		return nil
	}
	if len(a.parts) == maxCalls {
		return fmt.Errorf("there are more than %d calls", maxCalls)
	}
	seen, err := e.seen(e.args)
	if err != nil {
		return err
	}
	a.parts = append(a.parts, wire.Part{
		Bytes: object, Call: seen, Observed: e.typ == toolExecution, Fixed: e.pending,
		Tag: callTag{entry: e, whole: object, conversation: wire.TextIn(a.body, "conversation_id")},
	})
	return nil
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where an answer, or its last event, has what it used.
var usageForm = wire.UsageForm{Input: "prompt_tokens+connector_tokens", Output: "completion_tokens"}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Usage implements [wire.Stream].
func (s *stream) Usage() holdgate.Usage { return s.metered.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.over }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	edits := make(map[int][]byte)
	for i, p := range a.parts {
		if p.Observed {
			continue
		}
		e := p.Tag.(callTag).entry
		note := func(words string) []byte { return said(e.raw, messageOutput, words, 0) }
		edit := func(_, arguments []byte) []byte { return withArguments(e, arguments) }
		if own := wire.Under(e.raw, settled(e, wire.VerdictOf(verdicts, i)), note, edit); own != nil {
			edits[e.index] = own
		}
	}
	if len(edits) == 0 {
		return a.body
	}
	return wire.EditMember(a.body, "outputs", func(list []byte) []byte {
		return wire.ReplaceElements(list, edits)
	})
}

// settled is what counts of a verdict. A call that the provider runs once it is
// confirmed, and that was edited, is refused: nobody has approved what the provider has.
func settled(e *entry, v holdgate.Verdict) holdgate.Verdict {
	if e.pending && v.Release && v.Arguments != nil {
		return holdgate.Verdict{Notice: wire.Mark + "The call to " + e.name + " was not run: its arguments were edited, and the provider has others."}
	}
	return v
}

// withArguments returns a call with other arguments, in the form that it came in.
func withArguments(e *entry, arguments []byte) []byte {
	if wire.KindOf(e.args) != "an object" {
		arguments = wire.AppendText(nil, string(arguments))
	}
	return wire.SetMember(e.raw, "arguments", arguments)
}
