package gemini

import (
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer is a whole answer that came as one JSON document.
type answer struct {
	body     []byte
	response *response
	calls    []*call
	parts    []wire.Part
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) {
	a, err := readAnswer(body)
	if err != nil {
		return nil, fmt.Errorf("reading an answer of Gemini: %w", err)
	}
	return a, nil
}

func readAnswer(body []byte) (*answer, error) {
	r, err := readResponse(body)
	if err != nil {
		return nil, err
	}
	a := &answer{body: body, response: r}
	for i := range r.candidates {
		c := &r.candidates[i]
		for j := range c.fragments {
			if err := a.add(&c.fragments[j]); err != nil {
				return nil, fmt.Errorf("candidate %d: %w", c.index, err)
			}
		}
	}
	return a, nil
}

func (a *answer) add(f *fragment) error {
	f.call = &call{}
	if err := f.call.take(f); err != nil {
		return err
	}
	if f.call.open {
		return fmt.Errorf("the call of %q is not complete", f.call.name)
	}
	hc, err := f.call.complete()
	if err != nil {
		return err
	}
	a.calls = append(a.calls, f.call)
	a.parts = append(a.parts, wire.Part{Bytes: f.raw, Call: hc, Observed: f.call.observed(), Tag: callTag{call: f.call}})
	return nil
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where a response has what was used up to it.
var usageForm = wire.UsageForm{
	Input: "promptTokenCount+toolUsePromptTokenCount", Output: "candidatesTokenCount+thoughtsTokenCount", CacheRead: "cachedContentTokenCount",
}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(a.response.usage) }

// Usage implements [wire.Stream].
func (s *stream) Usage() holdgate.Usage { return s.used.Usage(&usageForm) }

// UsedAll implements [wire.Stream]: any response may say more, up to the stream's end.
func (*stream) UsedAll() bool { return false }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	for i, c := range a.calls {
		c.begun = false
		switch {
		case c.observed():
			c.verdict = holdgate.Verdict{Release: true}
		default:
			c.verdict = wire.VerdictOf(verdicts, i)
		}
	}
	w := newWriter(nil)
	out, _ := w.response(a.response, a.body)
	return out
}
