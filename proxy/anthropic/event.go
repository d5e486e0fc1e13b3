package anthropic

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of event that are understood.
const (
	messageStart = "message_start"
	blockStart   = "content_block_start"
	blockDelta   = "content_block_delta"
	blockStop    = "content_block_stop"
	messageDelta = "message_delta"
	messageStop  = "message_stop"
	ping         = "ping"
	failure      = "error"
)

// none is an index where there is none.
const none = -1

// An event is what a server-sent event says, as far as it is read here. Its
// slices are JSON values in the event's data.
type event struct {
	typ     string // empty for what says nothing to a client
	index   int    // none where there is none
	block   []byte // content_block
	delta   []byte
	message []byte
	usage   []byte
	context []byte // context_management
	failure []byte // error
	read    delta  // what delta says, where that is known already
}

// decode reads an event. It checks the whole of its JSON, and that its event
// field does not contradict it.
func decode(ev wire.Event) (event, error) {
	e := event{index: none}
	if isNoOp(ev) {
		return e, nil
	}
	if c, ok := common(ev.Data); ok {
		return c, agree(ev.Type, c.typ)
	}
	if err := wire.StrictEvent(ev.Data); err != nil {
		return e, fmt.Errorf("reading an event: %w", err)
	}
	for m, err := range wire.Members(ev.Data) {
		if err != nil {
			return e, fmt.Errorf("reading an event: %w", err)
		}
		switch string(m.Name) {
		case "type":
			e.typ, err = word(m.Value)
		case "index":
			e.index, err = wire.Ordinal(m.Value)
		case "content_block":
			e.block = m.Value
		case "delta":
			e.delta = m.Value
		case "message":
			e.message = m.Value
		case "usage":
			e.usage = m.Value
		case "context_management":
			e.context = m.Value
		case "error":
			e.failure = m.Value
		case "content":
			err = fmt.Errorf("no type of event has it")
		default:
			err = wire.NoCall(m, "type", "index", "content_block", "delta", "message", "usage", "context_management", "error", "content")
		}
		if err != nil {
			return e, fmt.Errorf("reading %s of an event: %w", m.Name, err)
		}
	}
	switch {
	case e.typ == "":
		return e, fmt.Errorf("reading an event: it has no type")
	case e.block != nil && e.typ != blockStart,
		e.message != nil && e.typ != messageStart,
		e.delta != nil && e.typ != blockDelta && e.typ != messageDelta:
		return e, fmt.Errorf("reading an event: a %s brings what belongs to another type", e.typ)
	case !slices.Contains(knownTypes(), e.typ) && wire.HiddenCall(ev.Data) != nil:
		return e, fmt.Errorf("reading an event: a %.80s is not understood here, and looks as if it brought a call", e.typ)
	}
	return e, agree(ev.Type, e.typ)
}

// agree refuses an event whose event field contradicts its data.
func agree(field, typ string) error {
	if field != "" && field != typ {
		return fmt.Errorf("reading an event: its event field says %q, its data %q", field, typ)
	}
	return nil
}

// common reads an event of the form that nearly all of a stream has: a delta
// with one string, its keys in the order in which the API writes them. What
// has this form to the last byte is strict JSON if the string is, so that
// reading it costs little more than looking at each byte.
func common(data []byte) (event, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"content_block_delta","index":`))
	if !ok {
		return event{}, false
	}
	number, rest, ok := bytes.Cut(rest, []byte(`,"delta":{"type":"`))
	if !ok {
		return event{}, false
	}
	index, err := wire.Ordinal(number)
	if err != nil || number[0] == '0' && len(number) > 1 { // which is no JSON
		return event{}, false
	}
	for _, d := range deltaMembers[:commonDeltas] {
		value, ok := bytes.CutPrefix(rest, []byte(d.typ+`","`+d.member+`":`))
		if !ok {
			continue
		}
		for range 2 {
			if value, ok = bytes.CutSuffix(bytes.TrimRight(value, " "), []byte{'}'}); !ok {
				return event{}, false
			}
		}
		if wire.KindOf(value) != "a string" || wire.StrictEvent(value) != nil {
			return event{}, false
		}
		return event{typ: blockDelta, index: index, read: delta{d.typ, value}}, true
	}
	return event{}, false
}

// isNoOp is [wire.IsQuiet] for events of no type, or of one that says as much: so
// OpenRouter ends its streams.
func isNoOp(e wire.Event) bool {
	return wire.IsNoOp(e) && (e.Data == nil || e.Type == "" || e.Type == "data")
}

// word returns what a string says, without allocating where it is a common
// one.
func word(value []byte) (string, error) {
	switch string(value) {
	case `"content_block_delta"`:
		return blockDelta, nil
	case `"text_delta"`:
		return textDelta, nil
	case `"input_json_delta"`:
		return inputDelta, nil
	case `"thinking_delta"`:
		return thinkingDelta, nil
	}
	return wire.Text(value)
}

func knownTypes() []string {
	return []string{messageStart, blockStart, blockDelta, blockStop, messageDelta, messageStop, ping, failure}
}
