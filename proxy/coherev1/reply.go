package coherev1

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxCalls is how many calls one answer may have.
const maxCalls = 1024

// A call is one call of an answer.
type call struct {
	raw  []byte // the element of tool_calls
	name string
	args []byte // the parameters; in pieces, the inside of their text
}

// seen returns the call for policy. Parameters that came in pieces are a text.
func (c *call) seen() (*holdgate.Call, error) {
	args := string(c.args)
	if c.raw == nil {
		var err error
		if args, err = wire.Text(slices.Concat([]byte{'"'}, c.args, []byte{'"'})); err != nil {
			return nil, fmt.Errorf("reading the parameters of %q: %w", c.name, err)
		}
	}
	if c.name == "" {
		return nil, errors.New("a call has no name")
	}
	if strings.TrimSpace(args) == "null" {
		args = ""
	}
	seen := wire.TextCall("", c.name, args)
	if c.raw == nil && seen.Tool.Arguments == nil && args != "" {
		return nil, fmt.Errorf("the parameters of %q are no JSON, and so could not be written whole", c.name)
	}
	return seen, nil
}

// element returns the call as a whole answer has it, which of one that came in pieces is
// made anew.
func (c *call) element() []byte {
	if c.raw != nil {
		return c.raw
	}
	parameters := []byte("{}")
	if seen, err := c.seen(); err == nil && seen.Tool.Arguments != nil {
		parameters = seen.Tool.Arguments
	}
	return []byte(`{"name":` + wire.Quote(c.name) + `,"parameters":` + string(parameters) + `}`)
}

// under returns the call under a verdict that releases it.
func (c *call) under(v holdgate.Verdict) []byte {
	if v.Arguments != nil {
		return wire.SetMember(c.element(), "parameters", v.Arguments)
	}
	return c.element()
}

// A sum is what tells calls apart, however they are written.
type sum struct {
	name       string
	parameters [sha256.Size]byte
}

func sumsOf(calls []*call) (sums []sum, err error) {
	for _, c := range calls {
		seen, err := c.seen()
		if err != nil {
			return nil, err
		}
		parameters := []byte(seen.Tool.ArgumentsRaw)
		if seen.Tool.Arguments != nil {
			if parameters, err = wire.CanonicalWithout(seen.Tool.Arguments); err != nil {
				return nil, err
			}
		}
		sums = append(sums, sum{c.name, sha256.Sum256(parameters)})
	}
	return sums, nil
}

// same refuses calls that come again as others.
func same(first []sum, again []*call) error {
	sums, err := sumsOf(again)
	if err == nil && !slices.Equal(first, sums) {
		err = errors.New("its calls come again as others")
	}
	return err
}

// readCalls reads tool_calls.
func readCalls(array []byte) (calls []*call, err error) {
	err = wire.EachElement(array, func(element []byte) error {
		c := &call{raw: element}
		for m, err := range wire.Members(element) {
			if err != nil {
				return err
			}
			switch string(m.Name) {
			case "name":
				c.name, err = wire.TextOrNull(m.Value)
			case "parameters":
				if !wire.IsNull(m.Value) {
					c.args = m.Value
				}
			default:
				err = wire.NoCall(m, "name", "parameters")
			}
			if err != nil {
				return fmt.Errorf("reading %s of a call: %w", m.Name, err)
			}
		}
		if c.name == "" {
			return errors.New("a call has no name")
		}
		if len(calls) == maxCalls {
			return fmt.Errorf("there are more than %d calls", maxCalls)
		}
		calls = append(calls, c)
		return nil
	})
	return calls, err
}

// A reply is a whole answer, or the response at the end of a stream.
type reply struct {
	raw   []byte
	calls []*call
	own   int // the place in chat_history of the answer's own message, or -1
}

func readReply(object []byte) (*reply, error) {
	r := &reply{raw: object, own: -1}
	var history []byte
	for m, err := range wire.Members(object) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "text":
			_, err = wire.TextOrNull(m.Value)
		case "tool_calls":
			r.calls, err = readCalls(m.Value)
		case "chat_history":
			history = m.Value
		default:
			err = wire.NoCall(m, "text", "tool_calls", "chat_history", "finish_reason")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of an answer: %w", m.Name, err)
		}
	}
	return r, r.readHistory(history)
}

// readHistory finds the answer's own message at the end of a chat_history.
func (r *reply) readHistory(array []byte) error {
	n := -1
	var last []byte
	err := wire.EachElement(array, func(message []byte) error {
		n++
		last = message
		return wire.Known(message, "role", "message", "tool_calls")
	})
	if err != nil || !strings.EqualFold(wire.TextIn(last, "role"), "chatbot") {
		return err
	}
	r.own = n
	again, err := readCalls(wire.Find(last, "tool_calls"))
	if err != nil || len(again) == 0 {
		return err
	}
	sums, err := sumsOf(r.calls)
	if err != nil {
		return err
	}
	return same(sums, again)
}

// with returns the reply with other calls and more text, which stands apart from its own.
func (r *reply) with(left [][]byte, words string) []byte {
	out := said(r.raw, "text", left, words)
	if r.own < 0 {
		return out
	}
	return wire.EditMember(out, "chat_history", func(list []byte) []byte {
		return wire.RewriteElements(list, func(n int, message []byte) []byte {
			if n != r.own {
				return message
			}
			return said(message, "message", left, words)
		})
	})
}

// said returns a message with other calls, and more text in the member of this name.
func said(message []byte, name string, left [][]byte, words string) []byte {
	if own, err := wire.TextOrNull(wire.Find(message, name)); err == nil && words != "" {
		if own != "" {
			own += wire.Apart
		}
		message = wire.SetMember(message, name, wire.AppendText(nil, own+words))
	}
	return wire.EditMember(message, "tool_calls", func(own []byte) []byte {
		switch {
		case wire.IsEmpty(own):
			return own
		case len(left) == 0:
			return nil
		}
		return wire.Array(left...)
	})
}

// settled returns the calls that are left under verdicts and what is said of calls, and
// reports whether anything changes. A call without a verdict is refused.
func settled(calls []*call, verdicts []holdgate.Verdict) (left [][]byte, words string, changed bool) {
	for i, c := range calls {
		v := wire.VerdictOf(verdicts, i)
		if word := wire.Word(v); word != "" {
			if words != "" {
				words += wire.Apart
			}
			words += word
		}
		if v.Release {
			left = append(left, c.under(v))
		}
		changed = changed || !v.Release || v.Note != "" || v.Arguments != nil
	}
	return left, words, changed
}

// An answer is a whole answer that came as one JSON document.
type answer struct {
	reply *reply
	parts []wire.Part
}

// Answer reads a whole answer. The body must have passed [wire.Strict].
func (*Codec) Answer(body []byte) (wire.Answer, error) { return readAnswer(body) }

func readAnswer(body []byte) (*answer, error) {
	r, err := readReply(body)
	if err == nil && wire.Find(body, "text") == nil {
		err = errors.New("it has no text")
	}
	if err != nil {
		return nil, fmt.Errorf("reading an answer of Cohere: %w", err)
	}
	a := &answer{reply: r}
	for _, c := range r.calls {
		seen, err := c.seen()
		if err != nil {
			return nil, fmt.Errorf("reading an answer of Cohere: %w", err)
		}
		a.parts = append(a.parts, wire.Part{Bytes: c.raw, Call: seen, Tag: c})
	}
	return a, nil
}

// Calls implements [wire.Answer].
func (a *answer) Calls() []wire.Part { return a.parts }

// usageForm is where a reply's meta has what it used: what is billed, where that is said.
var usageForm = wire.UsageForm{
	Input: "billed_units.input_tokens|tokens.input_tokens", Output: "billed_units.output_tokens|tokens.output_tokens", CacheRead: "cached_tokens",
}

// Usage implements [wire.Answer].
func (a *answer) Usage() holdgate.Usage { return usageForm.Read(wire.Find(a.reply.raw, "meta")) }

// Usage implements [wire.Stream].
func (s *stream) Usage() holdgate.Usage { return s.used.Usage(&usageForm) }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.used.All }

// Render implements [wire.Answer]. A call without a verdict is refused.
func (a *answer) Render(verdicts []holdgate.Verdict) []byte {
	left, words, changed := settled(a.reply.calls, verdicts)
	if !changed {
		return a.reply.raw
	}
	return a.reply.with(left, words)
}
