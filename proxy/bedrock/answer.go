package bedrock

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer is a whole answer of Converse.
type answer struct {
	body  []byte
	parts []wire.Part
	at    []int // which block of the content each part is
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Converse) Answer(body []byte) (wire.Answer, error) {
	a, err := readAnswer(body)
	if err != nil {
		return nil, fmt.Errorf("reading an answer of Converse: %w", err)
	}
	return a, nil
}

func readAnswer(body []byte) (*answer, error) {
	a := &answer{body: body}
	found := false
	for m, err := range wire.Members(body) {
		switch {
		case err != nil:
			return nil, err
		case string(m.Name) != "output":
			err = noCall(m, "output", "stopReason")
		case !wire.IsNull(m.Value):
			found = true
			err = a.readOutput(m.Value)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, errors.New("it has no output")
	}
	return a, nil
}

func (a *answer) readOutput(output []byte) error {
	for m, err := range wire.Members(output) {
		switch {
		case err != nil:
			return err
		case string(m.Name) != "message":
			if err := noCall(m, "message"); err != nil {
				return err
			}
			continue
		case wire.IsNull(m.Value):
			continue
		}
		for m, err := range wire.Members(m.Value) {
			if err == nil && string(m.Name) != "content" {
				err = noCall(m, "content", "role")
			} else if err == nil {
				err = a.readContent(m.Value)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *answer) readContent(content []byte) error {
	n := 0
	return wire.EachElement(content, func(block []byte) error {
		kind, value, err := only(block, blockKinds)
		if err == nil && kind == toolUse {
			err = a.add(block, value, n)
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", n, err)
		}
		n++
		return nil
	})
}

func (a *answer) add(block, value []byte, n int) error {
	c, err := readCall(value, n)
	if err != nil {
		return err
	}
	seen, err := c.seen()
	a.parts = append(a.parts, wire.Part{Bytes: block, Call: seen, Observed: c.server, Tag: callTag{call: c}})
	a.at = append(a.at, n)
	return err
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where an answer, or its metadata, has what it used.
var usageForm = wire.UsageForm{
	Input: "inputTokens", Output: "outputTokens",
	CacheRead: "cacheReadInputTokens", CacheWrite: "cacheWriteInputTokens", CacheApart: true,
}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Usage implements [wire.Stream].
func (r *reader) Usage() holdgate.Usage { return r.metered.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (r *reader) UsedAll() bool { return r.metered.All }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	changed := make(map[int][]byte) // by block
	released := 0
	for i, p := range a.parts {
		if p.Observed {
			continue
		}
		v := wire.VerdictOf(verdicts, i)
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
		case "output":
			return wire.EditMember(m.Value, "message", func(message []byte) []byte {
				return wire.EditMember(message, "content", func(content []byte) []byte {
					return wire.ReplaceElements(content, changed)
				})
			})
		case "stopReason":
			if released == 0 {
				return withoutCall(m.Value)
			}
		}
		return m.Value
	})
}

func withInput(block, input []byte) []byte {
	return wire.EditMember(block, toolUse, func(call []byte) []byte { return wire.SetMember(call, "input", input) })
}

func plainText(words string) []byte { return []byte(`{"text":` + wire.Quote(words) + `}`) }
