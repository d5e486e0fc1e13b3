package cohere

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of events that say something of calls, or are written anew.
const (
	messageStart  = "message-start"
	messageEnd    = "message-end"
	planDelta     = "tool-plan-delta"
	callStart     = "tool-call-start"
	callDelta     = "tool-call-delta"
	callEnd       = "tool-call-end"
	contentStart  = "content-start"
	contentDelta  = "content-delta"
	contentEnd    = "content-end"
	citationStart = "citation-start"
	citationEnd   = "citation-end"
)

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	events wire.EventScanner
	limit  int
	err    error

	open *call // that has no end yet
	kept []event
	size int             // of kept, in bytes
	used map[string]bool // what tells calls apart: no two may share any of it

	w       writer
	metered wire.Meter
}

// An event is one of the stream, as far as it has been read.
type event struct {
	wire.Event
	typ   string // empty where it says nothing to clients
	index int    // -1 where it has none
	call  []byte // the element of tool_calls that it has
	text  bool   // it adds text to the answer
	usage []byte // of the whole answer
}

// A callTag marks the part of one call.
type callTag struct {
	call   *call
	events []event
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	s.events.Push(p)
	return s.drain()
}

// End implements [wire.Stream].
func (s *stream) End() ([]wire.Part, error) {
	s.events.End()
	parts, err := s.drain()
	if err == nil && s.open != nil {
		s.err = fmt.Errorf("the answer ends inside the call of %q", s.open.name)
	}
	return parts, s.err
}

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain(&s.events, &s.err, "a streamed answer of Cohere", s.take)
}

// take reads one event. The events of a call are withheld until its last.
func (s *stream) take(parts []wire.Part, ev wire.Event) ([]wire.Part, error) {
	e, err := readEvent(ev)
	if err != nil {
		return parts, err
	}
	s.metered.Take(e.usage)
	s.metered.All = s.metered.All || e.typ == messageEnd
	switch {
	case e.typ == callStart:
		err = s.begin(e)
	case s.open == nil:
		if e.typ == callDelta || e.typ == callEnd {
			return parts, fmt.Errorf("an event of type %q comes before its call", e.typ)
		}
		return append(parts, wire.Part{Bytes: ev.Raw, Tag: e}), nil
	case e.typ == "":
	case e.typ != callDelta && e.typ != callEnd || e.index != s.open.index:
		err = fmt.Errorf("an event of type %q comes inside the call of %q", e.typ, s.open.name)
	case e.typ == callDelta:
		err = s.open.add(e.call)
	}
	if err != nil {
		return parts, err
	}
	s.kept = append(s.kept, e)
	if s.size += len(ev.Raw); s.size > s.limit {
		return parts, fmt.Errorf("a call is longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
	}
	if e.typ != callEnd {
		return parts, nil
	}
	return s.complete(parts)
}

func (s *stream) begin(e event) error {
	c, err := readCall(e.call)
	if err != nil {
		return err
	}
	c.index = e.index
	keys := []string{"index " + strconv.Itoa(e.index)}
	if c.id != "" {
		keys = append(keys, "id "+c.id)
	}
	for _, key := range keys {
		if s.open != nil || e.index < 0 || s.used[key] || len(s.used) >= 2*maxCalls {
			return fmt.Errorf("a call of %q begins where none can", c.name)
		}
		if s.used == nil {
			s.used = make(map[string]bool)
		}
		s.used[key] = true
	}
	s.open = c
	return nil
}

// complete returns the call that is open as a part.
func (s *stream) complete(parts []wire.Part) ([]wire.Part, error) {
	seen, err := s.open.part()
	if err != nil {
		return parts, err
	}
	var all []byte
	for _, e := range s.kept {
		all = append(all, e.Raw...)
	}
	parts = append(parts, wire.Part{Bytes: all, Call: seen, Tag: callTag{s.open, s.kept}})
	s.open, s.kept, s.size = nil, nil, 0
	return parts, nil
}

// readEvent reads an event. One that nobody knows says nothing of a call.
func readEvent(ev wire.Event) (event, error) {
	e := event{Event: ev, index: -1}
	if err := plainLines(ev.Raw); err != nil || wire.IsNoOp(ev) {
		return e, err
	}
	if err := wire.StrictEvent(ev.Data); err != nil {
		return e, err
	}
	var delta []byte
	for m, err := range wire.Members(ev.Data) {
		if err != nil {
			return e, err
		}
		switch string(m.Name) {
		case "type":
			e.typ, err = wire.Text(m.Value)
		case "index":
			if !wire.IsNull(m.Value) {
				e.index, err = wire.Ordinal(m.Value)
			}
		case "delta":
			delta = m.Value
		default:
			err = wire.NoCall(m, "type", "index", "delta")
		}
		if err != nil {
			return e, fmt.Errorf("reading %s of an event: %w", m.Name, err)
		}
	}
	if e.typ == "" || ev.Type != "" && ev.Type != e.typ {
		return e, fmt.Errorf("an event of type %.100q is called %.100q", e.typ, ev.Type)
	}
	if err := e.readDelta(delta); err != nil {
		return e, fmt.Errorf("reading an event of type %.100q: %w", e.typ, err)
	}
	if (e.typ == callStart || e.typ == callDelta) && wire.KindOf(e.call) != "an object" {
		return e, fmt.Errorf("an event of type %q has no call", e.typ)
	}
	return e, nil
}

func (e *event) readDelta(delta []byte) error {
	if wire.IsNull(delta) {
		return nil
	}
	for m, err := range wire.Members(delta) {
		switch {
		case err != nil:
		case string(m.Name) == "message" && wire.KindOf(m.Value) == "an object":
			err = e.readMessage(m.Value)
		default:
			if string(m.Name) == "usage" {
				e.usage = m.Value
			}
			err = wire.NoCall(m, "message", "finish_reason")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *event) readMessage(object []byte) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch name := string(m.Name); {
		case name == "tool_calls" && (e.typ == callStart || e.typ == callDelta):
			e.call = m.Value
		case name == "content":
			e.text = e.typ == contentStart || e.typ == contentDelta || !wire.IsEmpty(m.Value)
			err = wire.HiddenCall(m.Value)
		default:
			err = wire.NoCall(m, "content")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plainLines refuses an event with a line in which "data:" stands behind something
// else: the official client for TypeScript reads it from there.
func plainLines(raw []byte) error {
	for line := range bytes.Lines(raw) {
		if i := bytes.Index(line, []byte("data:")); i > 0 && !bytes.HasPrefix(line, []byte("data:")) {
			return fmt.Errorf("a line has data: behind %.20q", line[:i])
		}
	}
	return nil
}
