package openai

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer is a whole answer that came as one JSON document.
type answer struct {
	body    []byte
	choices []choice
	states  []*choiceState // of each element of choices
	parts   []wire.Part
	calls   []*call // of each part
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) {
	doc, err := plainForm().read(body, nil)
	if err != nil {
		return nil, fmt.Errorf("reading a chat answer: %w", err)
	}
	a := &answer{body: body, choices: doc.choices}
	for i := range a.choices {
		if err := a.add(&a.choices[i]); err != nil {
			return nil, fmt.Errorf("reading a chat answer: choice %d: %w", i, err)
		}
	}
	return a, nil
}

func (a *answer) add(ch *choice) error {
	st := &choiceState{index: ch.index, content: ch.content}
	a.states = append(a.states, st)
	ch.elements = slices.DeleteFunc(ch.elements, func(e element) bool { return e.empty() })
	for i := range ch.elements {
		e := &ch.elements[i]
		e.index = i // what stands in a list is a call each, whatever it says
		k, err := st.begin(e)
		if err != nil {
			return err
		}
		if err := k.take(e); err != nil {
			return err
		}
		hc, err := k.complete()
		if err != nil {
			return err
		}
		a.calls = append(a.calls, k)
		a.parts = append(a.parts, wire.Part{Bytes: e.raw, Call: hc, Fixed: k.custom, Tag: callTag{call: k}})
	}
	return nil
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where a chat completion has what it used.
var usageForm = wire.UsageForm{
	Input: "prompt_tokens", Output: "completion_tokens",
	CacheRead: "prompt_tokens_details.cached_tokens", CacheWrite: "prompt_tokens_details.cache_write_tokens",
}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.body, "usage")) }

// Usage implements [wire.Stream]. The last chunk says it where the client has asked for it.
func (s *stream) Usage() holdgate.Usage { return s.used.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.used.All }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	changed := false
	for _, st := range a.states {
		st.refused, st.changed = false, false
	}
	for i, k := range a.calls {
		v := wire.VerdictOf(verdicts, i)
		k.settle(v)
		k.choice.refused = k.choice.refused || !k.verdict.Release
		k.choice.changed = k.choice.changed || k.changed()
		changed = changed || k.changed()
	}
	if !changed {
		return a.body
	}
	return wire.RewriteMembers(a.body, func(m wire.Member) []byte {
		if string(m.Name) != "choices" {
			return m.Value
		}
		return wire.RewriteElements(m.Value, func(n int, value []byte) []byte {
			return a.rewrite(n).choice(value, "message")
		})
	})
}

// rewrite says what becomes of one choice.
func (a *answer) rewrite(n int) *rewrite {
	st, ch := a.states[n], &a.choices[n]
	r := &rewrite{unchanged: !st.changed, finish: ch.finish, keep: make(map[int][]byte)}
	left := 0
	for i, k := range st.calls {
		if word := wire.Word(k.verdict); word != "" {
			if ch.content || r.notice != "" {
				r.notice += wire.Apart
			}
			r.notice += word
		}
		e := &ch.elements[i]
		switch {
		case !k.verdict.Release:
			continue
		case k.legacy:
			r.keepLegacy = k.withArguments(e.raw)
		default:
			r.keep[e.at] = e.written(k, left)
		}
		left++
	}
	st.released = left
	if st.endsWithout(ch.finish) {
		r.finish = "stop"
	}
	return r
}

// written returns an element as it came, but for its number, where it has one,
// and for arguments that were edited.
func (e *element) written(k *call, index int) []byte {
	return wire.RewriteMembers(e.raw, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "index":
			if !wire.IsNull(m.Value) {
				return strconv.AppendInt(nil, int64(index), 10)
			}
		case "function":
			return k.withArguments(m.Value)
		}
		return m.Value
	})
}

// withArguments returns a function, with the arguments that a person put in
// place of its own if there are such.
func (c *call) withArguments(function []byte) []byte {
	if c.verdict.Arguments == nil {
		return function
	}
	found := false
	out := wire.RewriteMembers(function, func(m wire.Member) []byte {
		if string(m.Name) == "arguments" {
			found = true
			return c.edited()
		}
		return m.Value
	})
	if !found {
		return wire.AppendMember(function, "arguments", c.edited())
	}
	return out
}
