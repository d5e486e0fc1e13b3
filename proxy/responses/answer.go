package responses

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer is a response that came as one JSON document.
type answer struct {
	body  []byte
	calls []*call
	parts []wire.Part
}

// Answer reads a response, or a compacted conversation, that came as one JSON
// document. A document without output must be an error, which has no calls.
func (c *Codec) Answer(body []byte) (wire.Answer, error) {
	if err := wire.Strict(body); err != nil {
		return nil, fmt.Errorf("reading a response: %w", err)
	}
	id, output, err := readResponse(bytes.TrimLeft(body, " \t\r\n"))
	if err != nil {
		return nil, err
	}
	if wire.Find(body, "output") == nil && !isError(body) {
		return nil, errors.New("reading a response: it has no output")
	}
	a := &answer{body: body}
	conversation := conversationOf(body)
	for at := range output {
		it := output[at]
		if it.kind == kindOther {
			continue
		}
		hc, err := it.call()
		if err != nil {
			return nil, fmt.Errorf("reading a response: %w", err)
		}
		a.calls = append(a.calls, &call{response: id, conversation: conversation, index: at, item: it})
		a.parts = append(a.parts, wire.Part{Bytes: it.raw, Call: hc, Observed: it.kind == kindObserved, Fixed: it.fixed, Tag: callTag{call: a.calls[len(a.calls)-1]}})
	}
	return a, nil
}

// isError reports whether a document is an error, and nothing that a client of
// another format could take for an answer.
func isError(body []byte) bool {
	failed := false
	for m, err := range wire.Members(body) {
		switch {
		case err != nil:
			return false
		case string(m.Name) == "error":
			failed = !wire.IsNull(m.Value)
		case wire.KindOf(m.Value) == "an array":
			return false
		}
	}
	return failed
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where a response has what it used.
var usageForm = wire.UsageForm{Input: "input_tokens", Output: "output_tokens", CacheRead: "input_tokens_details.cached_tokens", CacheWrite: "input_tokens_details.cache_write_tokens"}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Usage implements [wire.Stream]. The event that ends the response says it.
func (s *stream) Usage() holdgate.Usage { return s.used.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.ended }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	at := make(map[int]*call)
	changed := false
	for i, c := range a.calls {
		v := wire.VerdictOf(verdicts, i)
		c.verdict = settled(&c.item, v)
		at[c.index] = c
		changed = changed || c.verdict.changes()
	}
	if !changed {
		return a.body
	}
	return rewriteResponse(a.body, func(n int, value []byte) []byte {
		return bytes.Join(rewriteItem(value, at[n]), []byte{','})
	})
}
