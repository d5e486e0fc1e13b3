package anthropic

import (
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// edited returns the events of a call with other arguments. They come where
// the call's own came: in its content_block_start where that had them whole,
// else in one delta in the place of the first. All else, pings too, stays as
// it is.
func edited(b []byte, index int, arguments []byte) []byte {
	e := edit{index: index, arguments: arguments, out: make([]byte, 0, len(b)+len(arguments)+256)}
	events := wire.EventScanner{Limit: len(b) + 1}
	events.Push(b)
	events.End()
	for {
		ev, ok, err := events.Next()
		if err != nil || !ok {
			return e.out // it has been read before, so there is no error
		}
		e.take(ev)
	}
}

// An edit is a call's events that are being written with other arguments.
type edit struct {
	index     int
	arguments []byte
	out       []byte
	written   bool // the arguments are in out
}

func (e *edit) take(ev wire.Event) {
	d, err := decode(ev)
	if err != nil {
		return // cannot be: it has been read
	}
	switch d.typ {
	case blockStart:
		e.start(ev, d.block)
		return
	case blockDelta: // of a call, all are of its arguments
		e.add(ev.Type)
		return
	case blockStop:
		e.add(named(ev.Type, blockDelta))
	}
	e.out = append(e.out, ev.Raw...)
}

// start writes the content_block_start. A client takes the input in it for the
// call's own only where no delta follows; for a type that no client knows to
// have deltas it must be whole.
func (e *edit) start(ev wire.Event, object []byte) {
	b, err := readBlock(object)
	if err != nil || isEmpty(b.input) && takesInput(b.typ) {
		e.out = append(e.out, ev.Raw...)
		return
	}
	e.written = true
	e.out = wire.AppendEvent(e.out, ev.Type, wire.EditMember(ev.Data, "content_block", func(block []byte) []byte {
		return withInput(block, e.arguments)
	}))
}

// add writes the arguments as a delta, once.
func (e *edit) add(typ string) {
	if e.written {
		return
	}
	e.written = true
	e.out = wire.AppendEvent(e.out, typ, []byte(`{"type":"content_block_delta","index":`+strconv.Itoa(e.index)+
		`,"delta":`+string(deltaOf(inputDelta, "partial_json", []byte(wire.Quote(string(e.arguments)))))+`}`))
}

// named returns the event field of one more event of a stream: its type, where
// the stream's events have such a field.
func named(field, typ string) string {
	if field == "" {
		return ""
	}
	return typ
}
