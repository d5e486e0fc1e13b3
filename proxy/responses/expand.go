package responses

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Expand turns a plain response into the stream that says the same: each item
// with its texts, summaries and arguments in one delta, and the response at
// the end. A document without output becomes an error event.
func (c *Codec) Expand(plain []byte) ([]byte, error) {
	if _, err := c.Answer(plain); err != nil {
		return nil, err
	}
	if wire.Find(plain, "output") == nil {
		return wire.AppendEvent(nil, failure, wire.SetMember(plain, "type", []byte(`"`+failure+`"`))), nil
	}
	x := &expansion{}
	status, err := wire.TextOrNull(wire.Find(plain, "status"))
	if err != nil {
		return nil, fmt.Errorf("expanding a response: reading its status: %w", err)
	}
	begun := wire.SetMember(wire.SetMember(plain, "status", []byte(`"in_progress"`)), "output", []byte("[]"))
	x.event(responseCreated, `"response":`+string(begun))
	x.event(responseInProgress, `"response":`+string(begun))
	if err := x.items(wire.Find(plain, "output")); err != nil {
		return nil, fmt.Errorf("expanding a response: %w", err)
	}
	end := responseCompleted
	if typ := "response." + status; typ == responseIncomplete || typ == responseFailed {
		end = typ
	}
	x.event(end, `"response":`+string(plain))
	return x.out, nil
}

// An expansion is a stream that is being made.
type expansion struct {
	out  []byte
	next int // sequence number
}

func (x *expansion) event(typ, members string) {
	x.out = wire.AppendEvent(x.out, typ, []byte(`{"type":"`+typ+`","sequence_number":`+strconv.Itoa(x.next)+`,`+members+`}`))
	x.next++
}

func (x *expansion) items(output []byte) error {
	if wire.IsNull(output) {
		return nil
	}
	index := 0
	for e, err := range wire.Elements(output) {
		if err != nil {
			return err
		}
		it, err := readItem(e.Value)
		if err != nil {
			return err
		}
		if err := x.item(index, &it); err != nil {
			return err
		}
		index++
	}
	return nil
}

// item writes one item: added without what comes in deltas, the deltas, done.
func (x *expansion) item(index int, it *item) error {
	at := `"output_index":` + strconv.Itoa(index)
	named := at + `,"item_id":` + wire.Quote(it.id)
	added, lists := it.raw, expandable(it.typ)
	text := wire.KindOf(it.value) == "a string" && it.kind == kindCall && (it.typ == "function_call" || it.form == formFree)
	if text {
		added = wire.SetMember(added, it.textMember(), []byte(`""`))
	}
	for _, l := range lists {
		if wire.KindOf(wire.Find(it.raw, l.member)) == "an array" {
			added = wire.SetMember(added, l.member, []byte("[]"))
		}
	}
	if !wire.IsNull(wire.Find(added, "status")) {
		added = wire.SetMember(added, "status", []byte(`"in_progress"`))
	}
	x.event(itemAdded, at+`,"item":`+string(added))
	for _, l := range lists {
		if err := x.parts(named, l, wire.Find(it.raw, l.member)); err != nil {
			return err
		}
	}
	if text {
		delta, done := argumentsDelta, argumentsDone
		if it.form == formFree {
			delta, done = inputDelta, inputDone
		}
		x.event(delta, named+`,"delta":`+string(it.value))
		x.event(done, named+`,"`+it.textMember()+`":`+string(it.value))
	}
	x.event(itemDone, at+`,"item":`+string(it.raw))
	return nil
}

// A list is a member of an item whose elements are streamed one by one.
type list struct {
	member string
	index  string // what the number of an element is called
	added  string // the event that begins one, and the one that ends it
	done   string
	types  []string // of the elements whose text comes in deltas
	delta  string   // the events of such a text
	whole  string
}

// expandable returns the lists of an item of this type.
func expandable(typ string) []list {
	switch typ {
	case "message":
		return []list{{"content", "content_index", partAdded, partDone, []string{"output_text"}, textDelta, textDone}}
	case "reasoning":
		return []list{{
			"summary", "summary_index", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done", []string{"summary_text"},
			"response.reasoning_summary_text.delta", "response.reasoning_summary_text.done",
		}}
	}
	return nil
}

func (x *expansion) parts(named string, l list, array []byte) error {
	if wire.KindOf(array) != "an array" {
		return nil
	}
	n := 0
	for e, err := range wire.Elements(array) {
		if err != nil {
			return err
		}
		at := named + `,"` + l.index + `":` + strconv.Itoa(n)
		n++
		typ, err := wire.TextOrNull(wire.Find(e.Value, "type"))
		text := wire.Find(e.Value, "text")
		if err != nil || !slices.Contains(l.types, typ) || wire.KindOf(text) != "a string" {
			x.event(l.added, at+`,"part":`+string(e.Value))
			x.event(l.done, at+`,"part":`+string(e.Value))
			continue
		}
		x.event(l.added, at+`,"part":`+string(wire.SetMember(e.Value, "text", []byte(`""`))))
		x.event(l.delta, at+`,"delta":`+string(text))
		x.event(l.whole, at+`,"text":`+string(text))
		x.event(l.done, at+`,"part":`+string(e.Value))
	}
	return nil
}
