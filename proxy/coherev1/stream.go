package coherev1

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of events that say something of calls, or are written anew.
const (
	streamStart     = "stream-start"
	streamEnd       = "stream-end"
	textGeneration  = "text-generation"
	callsChunk      = "tool-calls-chunk"
	callsGeneration = "tool-calls-generation"
)

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	frames wire.Frames
	limit  int
	err    error

	open   bool    // a group has begun
	pieces []*call // its calls, as far as they came in pieces
	kept   []event
	size   int // of kept, in bytes
	sums   []sum
	ended  bool // the calls have come whole, or none came

	w    writer
	used wire.Meter
}

// An event is one of the stream, as far as it has been read.
type event struct {
	wire.Event
	typ   string // empty where it says nothing to clients
	text  string // what it adds to the plan, or to the text
	piece []byte // the tool_call_delta, where it is of a call
	calls []*call
	reply *reply // the response at the end
}

// A group is the calls of an answer, with all events among them.
type group struct {
	calls    []*call
	events   []event
	verdicts []holdgate.Verdict
	pieces   bool // the calls came in pieces, too
}

// A callTag marks the part of one call of a group.
type callTag struct {
	group *group
	n     int
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	s.frames.Push(p)
	return s.drain()
}

// End implements [wire.Stream].
func (s *stream) End() ([]wire.Part, error) {
	s.frames.End()
	parts, err := s.drain()
	if err == nil && s.open {
		s.err = errors.New("reading a streamed answer of Cohere: it ends inside its calls")
	}
	return parts, s.err
}

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain[wire.Event](s.frames, &s.err, "a streamed answer of Cohere", s.take)
}

// take reads one event. From the first piece of a call on, events are withheld until one
// has the calls whole.
func (s *stream) take(parts []wire.Part, ev wire.Event) ([]wire.Part, error) {
	e, err := readEvent(ev)
	if err != nil {
		return parts, err
	}
	if e.reply != nil {
		s.used.Take(wire.Find(e.reply.raw, "meta"))
	}
	s.used.All = s.used.All || e.typ == streamEnd
	whole := false
	switch {
	case e.piece != nil:
		err = s.grow(e.piece)
	case e.typ == callsGeneration && len(e.calls) > 0:
		whole, err = true, s.come(e.calls)
	case e.typ == streamEnd && s.ended:
		if len(e.reply.calls) > 0 {
			err = same(s.sums, e.reply.calls)
		}
	case e.typ == streamEnd && (s.open || len(e.reply.calls) > 0):
		if e.calls = e.reply.calls; len(e.calls) == 0 {
			e.calls = s.pieces
		}
		whole, err = true, s.come(e.calls)
	case e.typ == streamEnd:
		s.ended = true
	}
	if err != nil {
		return parts, err
	}
	if !s.open && !whole {
		return append(parts, wire.Part{Bytes: ev.Raw, Tag: e}), nil
	}
	s.kept = append(s.kept, e)
	if s.size += len(ev.Raw); s.size > s.limit {
		return parts, fmt.Errorf("the calls are longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
	}
	if !whole {
		return parts, nil
	}
	return s.complete(parts, e.calls)
}

// grow takes in a piece of a call.
func (s *stream) grow(delta []byte) error {
	if s.ended {
		return errors.New("a piece of a call comes behind the calls")
	}
	index, err := wire.Ordinal(wire.Find(delta, "index"))
	if err != nil {
		return fmt.Errorf("index of a call: %w", err)
	}
	s.open = true
	switch {
	case index > len(s.pieces), index >= maxCalls:
		return fmt.Errorf("a call has the index %d behind %d calls", index, len(s.pieces))
	case index == len(s.pieces):
		s.pieces = append(s.pieces, &call{})
	}
	c := s.pieces[index]
	name, err := wire.TextOrNull(wire.Find(delta, "name"))
	if err == nil && name != "" && c.name != "" && name != c.name {
		err = fmt.Errorf("a call of %q becomes one of %q", c.name, name)
	}
	if err != nil {
		return err
	}
	if name != "" {
		c.name = name
	}
	inside, err := wire.Inside(wire.Find(delta, "parameters"))
	c.args = append(c.args, inside...)
	return err
}

// come checks calls that have come whole: they are those that came in pieces, and come
// once.
func (s *stream) come(calls []*call) (err error) {
	if s.ended {
		return errors.New("there are calls behind the calls")
	}
	s.ended = true
	if s.sums, err = sumsOf(calls); err == nil && len(s.pieces) > 0 {
		err = same(s.sums, s.pieces)
	}
	return err
}

// complete returns the group as parts.
func (s *stream) complete(parts []wire.Part, calls []*call) ([]wire.Part, error) {
	g := &group{calls: calls, events: s.kept, verdicts: make([]holdgate.Verdict, len(calls)), pieces: len(s.pieces) > 0}
	for n, c := range calls {
		seen, err := c.seen()
		if err != nil {
			return parts, err
		}
		p := wire.Part{Call: seen, Tag: callTag{g, n}}
		if n == len(calls)-1 {
			for _, e := range s.kept {
				p.Bytes = append(p.Bytes, e.Raw...)
			}
		}
		parts = append(parts, p)
	}
	s.open, s.pieces, s.kept, s.size = false, nil, nil, 0
	return parts, nil
}

// readEvent reads an event. One that nobody knows says nothing of a call.
func readEvent(ev wire.Event) (event, error) {
	e := event{Event: ev}
	if wire.IsNoOp(ev) {
		return e, nil
	}
	if err := wire.StrictEvent(ev.Data); err != nil {
		return e, err
	}
	typ, err := wire.Text(wire.Find(ev.Data, "event_type"))
	if err != nil {
		return e, fmt.Errorf("event_type of an event: %w", err)
	}
	if e.typ = typ; typ == "" || ev.Type != "" && ev.Type != typ {
		return e, fmt.Errorf("an event of type %.100q is called %.100q", typ, ev.Type)
	}
	for m, err := range wire.Members(ev.Data) {
		if err == nil {
			err = e.readMember(m)
		}
		if err != nil {
			return e, fmt.Errorf("reading an event of type %.100q: %w", typ, err)
		}
	}
	if typ == streamEnd && e.reply == nil {
		return e, errors.New("the end of the stream has no response")
	}
	return e, nil
}

func (e *event) readMember(m wire.Member) (err error) {
	switch name := string(m.Name); {
	case name == "event_type":
	case name == "text" && (e.typ == textGeneration || e.typ == callsChunk || e.typ == callsGeneration):
		e.text, err = wire.TextOrNull(m.Value)
	case name == "tool_calls" && e.typ == callsGeneration:
		e.calls, err = readCalls(m.Value)
	case name == "tool_call_delta" && e.typ == callsChunk:
		err = e.readPiece(m.Value)
	case name == "response" && e.typ == streamEnd && wire.KindOf(m.Value) == "an object":
		e.reply, err = readReply(m.Value)
	default:
		err = wire.NoCall(m, "event_type", "text", "tool_calls", "tool_call_delta", "response", "finish_reason")
		if err == nil && name == "tool_call_delta" && !wire.IsNull(m.Value) {
			err = errors.New("it has a piece of a call")
		}
	}
	return err
}

// readPiece reads a tool_call_delta, which may add to the plan instead.
func (e *event) readPiece(delta []byte) error {
	if wire.IsNull(delta) {
		return nil
	}
	for m, err := range wire.Members(delta) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "name", "parameters":
			if !wire.IsNull(m.Value) {
				e.piece = delta
			}
		case "text":
			var text string
			if text, err = wire.TextOrNull(m.Value); text != "" {
				e.text = text
			}
		default:
			err = wire.NoCall(m, "name", "parameters", "text", "index")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
