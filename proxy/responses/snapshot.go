package responses

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A snapshot says which elements of the output in an event's response are
// calls of the stream.
type snapshot struct {
	calls map[int]*call // by their place in the output
	whole bool          // all calls of the stream are among them
	items int
	id    string
}

// snapshot takes an event that brings the whole response. One that ends the
// response completes the calls that are open, and may have calls of its own.
func (s *stream) snapshot(e *event) error {
	if e.response == nil {
		return fmt.Errorf("a %s brings no response", e.typ)
	}
	if s.ended {
		return errors.New("a response comes after its end")
	}
	if e.typ == responseCreated && len(s.items) > 0 {
		return errors.New("a response begins after its first item")
	}
	id, output, err := readResponse(e.response)
	if err != nil {
		return err
	}
	if s.id == "" {
		s.id, s.conversation = id, conversationOf(e.response)
	}
	s.took = s.took || tookIn(e)
	s.used.Take(wire.Find(e.response, "usage"))
	if e.terminal() {
		if err := s.closeAll(output); err != nil {
			return err
		}
	}
	e.snap = &snapshot{calls: make(map[int]*call), items: len(output), id: id}
	taken := make(map[*call]bool)
	for at := range output {
		if output[at].kind == kindOther {
			continue
		}
		c, err := s.find(at, &output[at], taken)
		if err == nil && c == nil {
			c, err = s.fromSnapshot(e, at, output[at])
		}
		if err != nil {
			return err
		}
		if c != nil {
			taken[c] = true
			e.snap.calls[at] = c
		}
	}
	e.snap.whole = len(taken) == len(s.calls)
	s.ended = e.terminal()
	return nil
}

// echoes are members of a response that say again what was asked: items, and schemas in
// which anything may be named.
var echoes = []string{"instructions", "input", "prompt", "text", "tools", "tool_choice", "metadata"}

// readResponse reads the id and the items of a response.
func readResponse(response []byte) (id string, output []item, err error) {
	if wire.KindOf(response) != "an object" {
		return "", nil, fmt.Errorf("reading a response: an object was expected, not %s", wire.KindOf(response))
	}
	for m, err := range wire.Members(response) {
		if err != nil {
			return "", nil, fmt.Errorf("reading a response: %w", err)
		}
		switch string(m.Name) {
		case "id":
			id, err = wire.TextOrNull(m.Value)
		case "output":
			output, err = readOutput(m.Value)
		default:
			if err = wire.KnownName(m, "output", "id", "status", "output_text"); err == nil && !slices.Contains(echoes, string(m.Name)) {
				err = wire.HiddenMember(m)
			}
		}
		if err != nil {
			return "", nil, fmt.Errorf("reading %s of a response: %w", m.Name, err)
		}
	}
	return id, output, nil
}

func readOutput(array []byte) (output []item, err error) {
	if wire.IsNull(array) {
		return nil, nil
	}
	for el, err := range wire.Elements(array) {
		if err != nil {
			return nil, err
		}
		it, err := readItem(el.Value)
		if err != nil {
			return nil, err
		}
		output = append(output, it)
	}
	return output, nil
}

// find returns the call of the stream that an item of a snapshot is a copy of,
// or nil. Places and indices may differ, for some providers leave items out.
func (s *stream) find(at int, it *item, taken map[*call]bool) (*call, error) {
	near := func(a, b *call) int {
		if (a.index == at) == (b.index == at) {
			return 0
		} else if a.index == at {
			return -1
		}
		return 1
	}
	var err error
	for _, c := range slices.SortedStableFunc(slices.Values(s.calls), near) {
		if taken[c] {
			continue
		}
		differs := c.item.same(it)
		switch {
		case differs == nil:
			return c, nil
		case it.kind == kindObserved && c.item.kind == kindObserved:
		case c.index == at && c.item.typ == it.typ, c.item.key() == it.key() && it.key() != "":
			err = differs
		}
	}
	return nil, err
}

// fromSnapshot begins a call that only a snapshot has, where that ends the
// response. What the provider has run may be in any.
func (s *stream) fromSnapshot(e *event, at int, it item) (*call, error) {
	if !e.terminal() {
		if it.kind == kindObserved {
			return nil, nil
		}
		return nil, fmt.Errorf("a %.80s has a call that is not known", e.typ)
	}
	c := &call{response: s.id, conversation: s.conversation, index: at, item: it, closed: true}
	s.withhold(c)
	return c, nil
}

// closeAll completes the calls that are open when the response ends: from the
// snapshot where that has them, else from what came of them.
func (s *stream) closeAll(output []item) error {
	for _, c := range s.calls {
		if c.closed {
			continue
		}
		whole, err := c.last(output)
		if err == nil {
			err = s.complete(c, whole)
		}
		if err != nil {
			return err
		}
		s.items[c.index].item, s.items[c.index].done = c.item, true
	}
	return nil
}

// last returns the item that an open call has become at the response's end.
func (c *call) last(output []item) (item, error) {
	for at := range output {
		it := &output[at]
		if it.typ == c.item.typ && it.key() == c.item.key() && (it.key() != "" || at == c.index) {
			return *it, nil
		}
	}
	switch {
	case c.item.form != formText && c.item.form != formFree:
		if c.shown {
			return item{}, fmt.Errorf("the response ends inside a call of %.80q", c.item.toolName())
		}
		return c.item, nil
	case c.text == nil && !c.deltas:
		return c.item, nil
	}
	text, err := c.sofar()
	if err != nil {
		return item{}, err
	}
	if c.text != nil {
		text = *c.text
	}
	it := c.item
	it.raw = wire.SetMember(it.raw, it.textMember(), []byte(wire.Quote(text)))
	return readItem(it.raw)
}

// textMember is the member that has the arguments as text.
func (it *item) textMember() string {
	if it.form == formFree {
		return "input"
	}
	return "arguments"
}
