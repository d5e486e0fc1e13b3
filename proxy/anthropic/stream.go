package anthropic

import (
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Stream is one streamed answer, as [wire.Stream] describes it. Besides, it
// can show a [Stream.Notice] while a call waits.
//
// Push and End touch nothing that the other methods touch. So one goroutine
// may read while another one writes, as long as each half is used by one
// goroutine at a time.
//
// The last part, which End returns, may be without bytes; it is to be rendered
// all the same.
type Stream struct {
	reader reader
	writer writer
}

var _ wire.Stream = (*Stream)(nil)

// Push takes the next bytes and returns the parts that they complete. A call
// that the provider has run comes as the part that its last event is; what was
// before it has flowed.
func (s *Stream) Push(p []byte) ([]wire.Part, error) {
	s.reader.events.Push(p)
	s.reader.pushed = len(p)
	return s.reader.read()
}

// End returns what is left when the answer is over.
func (s *Stream) End() ([]wire.Part, error) {
	s.reader.events.End()
	parts, err := s.reader.read()
	if err == nil && s.reader.keeps() {
		err = fmt.Errorf("the answer ends inside the call of %s", s.reader.block.name)
	}
	if err != nil {
		return parts, err
	}
	s.reader.block, s.reader.joined, s.reader.kept, s.reader.run = block{}, nil, nil, nil // they point into what was read
	return append(parts, wire.Part{Tag: mark{role: roleOver}}), nil
}

// usageForm is where a message has what it used.
var usageForm = wire.UsageForm{
	Input: "input_tokens", Output: "output_tokens",
	CacheRead: "cache_read_input_tokens", CacheWrite: "cache_creation_input_tokens", CacheApart: true,
}

// Usage implements [wire.Stream]. What a message_start says is as of then.
func (s *Stream) Usage() holdgate.Usage {
	u := s.reader.used.Usage(&usageForm)
	if !s.reader.ending {
		return u.BrokenOff()
	}
	return u
}

// UsedAll implements [wire.Stream].
func (s *Stream) UsedAll() bool { return s.reader.used.All }

// A role says what the writer does with a part.
type role uint8

const (
	roleFlow   role = iota + 1 // anything that is none of the others
	roleCall                   // a call to decide
	roleStart                  // a call in the message_start
	roleEnding                 // one message_delta
	roleOver                   // the end of the stream
)

// A mark is what the writer must know of a part.
type mark struct {
	role   role
	blocks int // how many blocks the answer has up to here
	index  int // of a call's block

	start *start // of roleStart
	last  bool   // of roleStart: the part has the event's bytes

	// Of a part that flows: the text block that is open behind it, or would
	// be without the bytes from tail on; none where there is no such block or
	// where it has no text.
	text int
	tail int
	noOp bool // it says nothing to clients
}
