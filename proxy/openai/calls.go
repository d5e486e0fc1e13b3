package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxArguments is how long the arguments of one call may be, in bytes as they
// are written.
const maxArguments = 8 << 20

// maxCalls is how many calls a choice may have: providers stop far below.
const maxCalls = 1024

// A call is one call of a choice, gathered from its elements.
type call struct {
	choice *choiceState
	index  int // -1 where it has none
	legacy bool
	custom bool
	body   bool // it is known whether it is custom
	id     string
	name   string
	args   []byte // the text of the arguments as in the JSON, without quotes
	whole  []byte // arguments that are an object and no string
	extra  []wire.Member
	after  bool // content came before it
	closed bool // complete: nothing more may come
	object bool // once complete: the arguments are a JSON object
	done   bool // object is known

	odd     bool // its index is not its place among the calls
	verdict holdgate.Verdict
}

// A choiceState is what is known of one choice of an answer.
type choiceState struct {
	index   int
	calls   []*call // in the order in which they began
	content bool    // some has been read

	// What has been written:
	released int  // calls, so that this is the next one's index
	refused  bool // at least one call
	changed  bool // at least one call does not stand as it came
	odd      bool // at least one call's index is not its place
	anew     bool // the calls of the group that was last are written whole
	gap      bool // a notice or note came last, and content must stand apart from it
}

// find returns the call that an element belongs to, or nil where it begins
// one.
func (s *choiceState) find(e *element) *call {
	for _, c := range slices.Backward(s.calls) {
		switch {
		case c.legacy != e.legacy:
		case e.legacy:
			return c
		case e.index >= 0:
			if c.index == e.index {
				return c.goesOn(e)
			}
		case e.id != "":
			if c.id == e.id {
				return c
			}
		case e.name != "":
			return nil
		default:
			return c
		}
	}
	return nil
}

// goesOn returns the call if the element, of the same index, is part of it.
func (c *call) goesOn(e *element) *call {
	if e.id != "" && c.id != "" && e.id != c.id {
		return nil
	}
	if e.id == "" && c.id == "" && e.name != "" && (e.whole != nil || !blank(e.args)) && c.isObject() {
		return nil // whole calls without ids, all of them with the same index
	}
	return c
}

// begin adds the call that an element begins.
func (s *choiceState) begin(e *element) (*call, error) {
	if e.index < 0 && e.id == "" && e.name == "" && !e.legacy {
		return nil, errors.New("arguments come before any call")
	}
	if len(s.calls) == maxCalls {
		return nil, fmt.Errorf("a choice has more than %d calls", maxCalls)
	}
	c := &call{choice: s, index: e.index, legacy: e.legacy, after: s.content, odd: !e.legacy && e.index != len(s.calls)}
	s.calls = append(s.calls, c)
	return c, nil
}

// take adds an element to its call.
func (c *call) take(e *element) error {
	if e.name != "" {
		if c.name != "" && c.name != e.name {
			return fmt.Errorf("a call of %q becomes one of %q", c.name, e.name)
		}
		c.name = e.name
	}
	if c.id == "" {
		c.id = e.id
	}
	if e.body {
		if c.body && c.custom != e.custom {
			return fmt.Errorf("a call of %q is both function and custom", c.name)
		}
		c.body, c.custom = true, e.custom
	}
	says := e.whole != nil || !blank(e.args)
	if says && (c.closed || c.whole != nil) || e.whole != nil && len(c.args) > 0 {
		return fmt.Errorf("the arguments of %q go on after they were complete", c.name)
	}
	if e.whole != nil {
		c.whole = e.whole
	}
	c.args = append(c.args, e.args...)
	if len(c.args)+len(c.whole) > maxArguments {
		return fmt.Errorf("%w: the arguments of %q are longer than %d MiB", wire.ErrTooLarge, c.name, maxArguments>>20)
	}
	c.keepExtra(e)
	return nil
}

// keepExtra keeps the members that are no part of the format, such as the
// signature of a thought that has to be sent back.
func (c *call) keepExtra(e *element) {
	if e.legacy {
		return
	}
	for m, err := range wire.Members(e.raw) {
		if err != nil {
			return
		}
		switch string(m.Name) {
		case "index", "id", "type", "function", "custom":
			continue
		}
		same := func(o wire.Member) bool { return bytes.Equal(o.Name, m.Name) }
		if i := slices.IndexFunc(c.extra, same); i < 0 {
			c.extra = append(c.extra, m)
		} else if !wire.IsNull(m.Value) {
			c.extra[i] = m
		}
	}
}

// blank reports whether the text of arguments, as it stands in the JSON, has
// nothing but blanks.
func blank(args []byte) bool {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == ' ':
		case args[i] == '\\' && i+1 < len(args) && strings.IndexByte("nrt", args[i+1]) >= 0:
			i++
		default:
			return false
		}
	}
	return true
}

// arguments returns the arguments as a JSON object or, where they are none,
// as text.
func (c *call) arguments() (object json.RawMessage, raw string) {
	if c.whole != nil {
		if !c.custom && wire.Strict(c.whole) == nil {
			return bytes.Clone(c.whole), ""
		}
		return nil, string(c.whole)
	}
	quoted := slices.Concat([]byte{'"'}, c.args, []byte{'"'})
	text, err := jsontext.AppendUnquote(nil, quoted)
	switch {
	case err != nil || c.custom: // half a surrogate pair is shown as U+FFFD
		return nil, string(text)
	case len(text) == 0:
		return json.RawMessage("{}"), ""
	case bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && wire.Strict(text) == nil:
		return text, ""
	}
	return nil, string(text)
}

// isObject reports whether the arguments so far are a whole JSON object.
func (c *call) isObject() bool {
	if c.whole == nil && len(c.args) == 0 {
		return false
	}
	object, _ := c.arguments()
	return object != nil
}

// complete returns the call as policy sees it.
func (c *call) complete() (*holdgate.Call, error) {
	c.closed = true
	if c.name == "" {
		return nil, errors.New("a call has no name")
	}
	t := &holdgate.Tool{Name: c.name}
	t.Arguments, t.ArgumentsRaw = c.arguments()
	c.done, c.object = true, c.isObject()
	for _, o := range c.choice.calls {
		if o == c || o.legacy || c.legacy || o.index != c.index && o.index >= 0 && c.index >= 0 {
			continue
		}
		if !c.object || o.done && !o.object {
			return nil, fmt.Errorf("calls of %q and %q could be taken for one, and their arguments are no JSON objects", o.name, c.name)
		}
	}
	return &holdgate.Call{ID: c.id, Kind: holdgate.KindToolCall, Tool: t}, nil
}

// settle takes the call's verdict. A custom tool takes text, and so has no
// place for the JSON object that other arguments are: then it is refused.
func (c *call) settle(v holdgate.Verdict) {
	if v.Release && v.Arguments != nil && c.custom {
		v = holdgate.Verdict{Notice: "[holdgate] The call to " + c.name + " was not run: its arguments were edited, and this tool takes text only."}
	}
	c.verdict = v
}

// changed reports whether the call does not go on as it came.
func (c *call) changed() bool {
	return !c.verdict.Release || c.verdict.Arguments != nil || c.verdict.Note != ""
}

// edited returns the JSON value of the arguments that a person put in place of
// the call's own: text, or an object where the provider wrote one.
func (c *call) edited() []byte {
	if c.whole != nil {
		return c.verdict.Arguments
	}
	return wire.AppendText(nil, string(c.verdict.Arguments))
}

// appendBody appends {"name":...,"arguments":...}, or what a custom tool has.
func (c *call) appendBody(b []byte) []byte {
	b = wire.AppendText(append(b, `{"name":`...), c.name)
	if c.custom {
		b = append(b, `,"input":`...)
	} else {
		b = append(b, `,"arguments":`...)
	}
	switch {
	case c.verdict.Arguments != nil:
		b = append(b, c.edited()...)
	case c.whole != nil:
		b = append(b, c.whole...)
	default:
		b = append(b, '"')
		b = append(b, c.args...)
		b = append(b, '"')
	}
	return append(b, '}')
}

// appendElement appends the whole call as an element of tool_calls; with an
// index where that is not negative.
func (c *call) appendElement(b []byte, index int) []byte {
	b = append(b, '{')
	if index >= 0 {
		b = fmt.Appendf(b, `"index":%d,`, index)
	}
	if c.id != "" {
		b = append(wire.AppendText(append(b, `"id":`...), c.id), ',')
	}
	kind := "function"
	if c.custom {
		kind = "custom"
	}
	b = fmt.Appendf(b, `"type":%q,`, kind)
	for _, m := range c.extra {
		b = append(wire.AppendText(b, string(m.Name)), ':')
		b = append(append(b, m.Value...), ',')
	}
	b = fmt.Appendf(b, "%q:", kind)
	return append(c.appendBody(b), '}')
}
