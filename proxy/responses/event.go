package responses

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of event that are understood.
const (
	responseCreated    = "response.created"
	responseQueued     = "response.queued"
	responseInProgress = "response.in_progress"
	responseCompleted  = "response.completed"
	responseIncomplete = "response.incomplete"
	responseFailed     = "response.failed"
	itemAdded          = "response.output_item.added"
	itemDone           = "response.output_item.done"
	partAdded          = "response.content_part.added"
	partDone           = "response.content_part.done"
	textDelta          = "response.output_text.delta"
	textDone           = "response.output_text.done"
	argumentsDelta     = "response.function_call_arguments.delta"
	argumentsDone      = "response.function_call_arguments.done"
	inputDelta         = "response.custom_tool_call_input.delta"
	inputDone          = "response.custom_tool_call_input.done"
	shellOutputDone    = "response.shell_call_output_content.done"
	keepalive          = "keepalive"
	failure            = "error"
)

// types are those above that are acted on.
var types = []string{
	responseCreated, responseQueued, responseInProgress, responseCompleted, responseIncomplete, responseFailed,
	itemAdded, itemDone, argumentsDelta, argumentsDone, inputDelta, inputDone, keepalive, failure,
}

// none is an index or a number where there is none.
const none = -1

// An event is what a server-sent event says, as far as it is read here. Its
// slices are JSON values in the event's data.
type event struct {
	wire     wire.Event
	typ      string // empty for what says nothing to a client
	number   int64  // sequence_number, none where there is none
	index    int    // output_index, none where there is none
	itemID   string
	item     []byte
	response []byte
	delta    []byte
	text     []byte // arguments or input, of an event that ends their deltas
	list     []byte // output, where it is a list

	call *call // that the event is part of, nil where it is of none
	snap *snapshot
}

// decode reads an event. It checks the whole of its JSON, and that its event
// field does not contradict it.
func decode(ev wire.Event) (*event, error) {
	e := &event{wire: ev, number: none, index: none}
	if wire.IsNoOp(ev) {
		return e, nil
	}
	if err := wire.StrictEvent(ev.Data); err != nil {
		return e, fmt.Errorf("reading an event: %w", err)
	}
	failed := false
	for m, err := range wire.Members(ev.Data) {
		if err != nil {
			return e, fmt.Errorf("reading an event: %w", err)
		}
		switch string(m.Name) {
		case "type":
			if e.typ = ev.Type; !isQuoted(m.Value, e.typ) {
				e.typ, err = wire.Text(m.Value)
			}
		case "sequence_number":
			e.number, err = number(m.Value)
		case "output_index":
			var n int64
			n, err = number(m.Value)
			e.index = int(n)
		case "item_id":
			e.itemID, err = wire.TextOrNull(m.Value)
		case "item":
			e.item = m.Value
		case "response":
			e.response = m.Value
		case "delta":
			e.delta = m.Value
		case "arguments", "input":
			e.text = m.Value
		case "error":
			failed = true
		case "output":
			if wire.KindOf(m.Value) == "an array" {
				e.list = m.Value
			}
		default:
			err = wire.NoCall(m, "type", "sequence_number", "output_index", "item_id", "item", "response", "delta", "arguments", "input", "error", "output")
		}
		if err != nil {
			return e, fmt.Errorf("reading %s of an event: %w", m.Name, err)
		}
	}
	if e.typ == "" && failed && e.item == nil && e.response == nil {
		e.typ = failure // so gateways write it
	}
	return e, e.check()
}

// isQuoted reports whether a value is this text in quotes, with nothing escaped.
func isQuoted(value []byte, text string) bool {
	return len(value) == len(text)+2 && value[0] == '"' && string(value[1:len(value)-1]) == text && strings.IndexByte(text, '\\') < 0
}

// check refuses an event that clients could take for another one.
func (e *event) check() error {
	switch {
	case e.typ == "":
		return errors.New("reading an event: it has no type")
	case e.wire.Type != "" && e.wire.Type != e.typ:
		return fmt.Errorf("reading an event: its event field says %.80q, its data %.80q", e.wire.Type, e.typ)
	case e.item != nil && e.typ != itemAdded && e.typ != itemDone:
		return fmt.Errorf("reading an event: a %.80s brings an item", e.typ)
	case e.item == nil && (e.typ == itemAdded || e.typ == itemDone):
		return fmt.Errorf("reading an event: a %s brings no item", e.typ)
	case e.list != nil && e.typ != shellOutputDone:
		return errors.New("reading an event: no event but a shell's has a list of items of its own")
	case e.list != nil && wire.HiddenCall(e.list) != nil:
		return errors.New("reading an event: there is a call in what a shell gave back")
	case !isKnown(e.typ) && e.response == nil && wire.HiddenCall(e.wire.Data) != nil:
		return fmt.Errorf("reading an event: a %.80s is not understood here, and looks as if it brought a call", e.typ)
	case e.index == none && (e.item != nil || e.fragment()):
		return fmt.Errorf("reading an event: a %s has no output_index", e.typ)
	}
	if isLower(e.typ) {
		return nil
	}
	for _, known := range types {
		if e.typ != known && strings.EqualFold(e.typ, known) {
			return fmt.Errorf("reading an event: the type %q is %q in another case", e.typ, known)
		}
	}
	return nil
}

// isKnown reports whether what events of a type bring is known.
func isKnown(typ string) bool {
	return slices.Contains(types, typ) || typ == textDelta || typ == textDone || typ == shellOutputDone
}

// isLower reports whether a type has ASCII alone and no capitals, as those that
// are known: then it is none of them in another case.
func isLower(typ string) bool {
	for i := range len(typ) {
		if c := typ[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// fragment reports whether the event brings arguments of a call.
func (e *event) fragment() bool {
	return slices.Contains([]string{argumentsDelta, argumentsDone, inputDelta, inputDone}, e.typ)
}

// terminal reports whether the event ends the response.
func (e *event) terminal() bool {
	return e.typ == responseCompleted || e.typ == responseIncomplete || e.typ == responseFailed
}

// number reads a whole number that is not negative: digits and nothing else.
// Null is none.
func number(value []byte) (int64, error) {
	if wire.IsNull(value) {
		return none, nil
	}
	n, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil {
		return none, fmt.Errorf("a whole number was expected, not %.20q", value)
	}
	return int64(n), nil
}
