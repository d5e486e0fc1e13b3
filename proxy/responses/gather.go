package responses

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxItems bounds how many items a response may have.
const maxItems = 1 << 14

// add takes an output_item.added.
func (s *stream) add(e *event) error {
	it, err := readItem(e.item)
	if err != nil {
		return err
	}
	en, err := s.begin(e.index, it)
	if err != nil || it.kind != kindCall {
		return err
	}
	c := &call{response: s.id, conversation: s.conversation, index: e.index, item: it, added: true}
	en.call, e.call = c, c
	s.open++
	s.withhold(c)
	return nil
}

// begin notes an item with an index that is new. Indices rise, for what comes
// later is numbered by what comes before.
func (s *stream) begin(index int, it item) (*entry, error) {
	switch old := s.items[index]; {
	case s.ended:
		return nil, errors.New("an item comes after the end of the response")
	case old != nil && (old.call != nil || it.kind == kindCall):
		return nil, fmt.Errorf("two items have the output_index %d", index)
	case old == nil && index < s.highest:
		return nil, fmt.Errorf("the item %d comes after the item %d", index, s.highest)
	case len(s.items) == maxItems:
		return nil, fmt.Errorf("a response has more than %d items", maxItems)
	}
	s.highest = max(s.highest, index)
	en := &entry{item: it}
	s.items[index] = en
	return en, s.name(index, &it)
}

// finish takes an output_item.done. Where it completes something that the
// provider has run and that was not withheld, that is returned.
func (s *stream) finish(e *event) (observed *call, err error) {
	it, err := readItem(e.item)
	if err != nil {
		return nil, err
	}
	en := s.items[e.index]
	switch {
	case en == nil || en.done && en.call == nil && it.kind != kindCall: // some clients take it all the same
		if en, err = s.begin(e.index, it); err != nil {
			return nil, err
		}
	case en.done:
		return nil, fmt.Errorf("the item %d is done twice", e.index)
	case s.ended:
		return nil, errors.New("an item is done after the end of the response")
	}
	if err := en.item.becomes(&it); err != nil {
		return nil, err
	}
	en.item, en.done = it, true
	if err := s.name(e.index, &it); err != nil {
		return nil, err
	}
	switch {
	case en.call != nil:
		e.call = en.call
		return nil, s.complete(en.call, it)
	case it.kind == kindCall:
		e.call = &call{response: s.id, conversation: s.conversation, index: e.index, item: it, closed: true}
		en.call = e.call
		s.withhold(e.call)
	case it.kind == kindObserved:
		observed = &call{index: e.index, item: it, closed: true, verdict: settled(&it, holdgate.Verdict{})}
		if s.group == nil {
			s.calls = append(s.calls, observed)
			return observed, nil
		}
		s.withhold(observed)
	}
	return nil, nil
}

// complete closes a call with the whole item. What came of its arguments
// before must agree with it.
func (s *stream) complete(c *call, whole item) error {
	if err := c.item.becomes(&whole); err != nil {
		return err
	}
	if err := c.agrees(&whole); err != nil {
		return err
	}
	c.item, c.closed = whole, true
	s.open--
	return nil
}

// agrees compares the arguments that came before with those of the whole item.
// Where they are no text they come whole, or in deltas that clients only show.
func (c *call) agrees(whole *item) error {
	if !c.added || whole.form != formText && whole.form != formFree {
		return nil
	}
	want, err := whole.arguments()
	if err != nil {
		return err
	}
	if c.text != nil && blankOr(*c.text, whole.form) != want {
		return fmt.Errorf("%w: the arguments of %.80q", errDiffers, whole.toolName())
	}
	sofar, err := c.sofar()
	if err != nil {
		return err
	}
	if sofar != "" && sofar != want {
		return fmt.Errorf("%w: the arguments of %.80q and their deltas", errDiffers, whole.toolName())
	}
	return nil
}

// blankOr returns the arguments that a text stands for: none are an empty
// object.
func blankOr(text string, f form) string {
	if text == "" && f == formText {
		return "{}"
	}
	return text
}

// sofar returns the text of the arguments as it was added, with all deltas.
func (c *call) sofar() (string, error) {
	first := ""
	if len(c.item.value) > 0 && c.item.value[0] == '"' {
		first = string(c.item.value[1 : len(c.item.value)-1])
	} else if !wire.IsNull(c.item.value) {
		if c.deltas {
			return "", errors.New("arguments come both whole and in deltas")
		}
		return string(c.item.value), nil
	}
	return wire.Text([]byte(`"` + first + string(c.joined) + `"`))
}

// fragment takes an event that brings arguments of a call.
func (s *stream) fragment(e *event) error {
	c, err := s.callOf(e)
	if err != nil {
		return err
	}
	if c == nil || c.closed {
		return fmt.Errorf("a %s belongs to no call that is open", e.typ)
	}
	free := e.typ == inputDelta || e.typ == inputDone
	if want := map[bool]form{true: formFree, false: formText}[free]; c.item.form != want {
		return fmt.Errorf("a %s belongs to a %.80s", e.typ, c.item.typ)
	}
	e.call = c
	if e.typ == argumentsDone || e.typ == inputDone {
		text, err := wire.Text(e.text)
		if err != nil {
			return fmt.Errorf("reading the arguments of a %s: %w", e.typ, err)
		}
		if c.text != nil && *c.text != text {
			return fmt.Errorf("%w: the arguments of %.80q are done twice", errDiffers, c.item.toolName())
		}
		c.text = &text
		return nil
	}
	switch {
	case wire.KindOf(e.delta) != "a string":
		return fmt.Errorf("reading the delta of a %s: a string was expected, not %s", e.typ, wire.KindOf(e.delta))
	case c.text != nil:
		return fmt.Errorf("a %s comes after the arguments were done", e.typ)
	case len(c.joined)+len(e.delta) > s.limit:
		return fmt.Errorf("the arguments of a call are longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
	}
	c.joined, c.deltas = append(c.joined, e.delta[1:len(e.delta)-1]...), true
	return nil
}

// shows reports whether arguments in deltas are those of an item that has them
// as an object: then clients only show them.
func (s *stream) shows(e *event) bool {
	en := s.items[e.index]
	return en != nil && en.item.typ == "tool_search_call" && (e.typ == argumentsDelta || e.typ == argumentsDone)
}

// callOf returns the call that an event is about, nil where it is about none.
// Some clients go by the index and some by the id, so one that names an item by
// its index and another one by its id is an error.
func (s *stream) callOf(e *event) (*call, error) {
	index, named := s.ids[e.itemID]
	switch {
	case !named:
		index = e.index
	case e.index != none && e.index != index:
		return nil, fmt.Errorf("a %.80s names the item %d by its index and the item %d by its id", e.typ, e.index, index)
	}
	if en := s.items[index]; en != nil {
		return en.call, nil
	}
	return nil, nil
}

// name notes the id of an item. Two calls with one id could be taken for one.
func (s *stream) name(index int, it *item) error {
	if it.id == "" {
		return nil
	}
	other, taken := s.ids[it.id]
	if taken && other != index {
		if old := s.items[other]; old != nil && (old.item.kind == kindCall || it.kind == kindCall) {
			return fmt.Errorf("the items %d and %d have the same id", other, index)
		}
	}
	s.ids[it.id] = index
	return nil
}

// other takes an event of any other type. What is about a call goes with it.
func (s *stream) other(e *event) error {
	if e.typ == failure {
		if s.open > 0 {
			return fmt.Errorf("the provider ended the answer inside a call: %.300s", e.wire.Data)
		}
		return nil
	}
	c, err := s.callOf(e)
	if err != nil || c == nil {
		return err
	}
	switch {
	case !c.closed:
		e.call, c.shown = c, true
	case c.item.kind == kindCall && c.item.typ == "tool_search_call" && strings.HasPrefix(e.typ, "response.tool_search_call."):
		e.call = c // it tells how far the search has come
	case c.item.kind == kindCall:
		return fmt.Errorf("a %.80s comes after its call was complete", e.typ)
	}
	return nil
}
