package wire

import (
	"bytes"
	"fmt"
)

// DefaultEventLimit is how long one server-sent event may be, in bytes, where
// an [EventScanner] names no limit of its own.
const DefaultEventLimit = 8 << 20

// An Event is one event of a text/event-stream (WHATWG HTML, section 9.2), or
// a run of lines that says nothing to a client: a comment, a blank line.
//
// Its slices stay valid, and nobody changes them; Raw and Data may share
// memory.
type Event struct {
	// Raw is the event exactly as it came, with the blank line that ends it.
	// The Raw of all events of a stream, joined, are the stream.
	Raw []byte
	// Type is the value of the last event field; empty where there is none.
	Type string
	// Data are the values of the data fields, joined with LF. It is nil where
	// there is no data field: clients then take no notice of the event.
	Data []byte
}

// An EventScanner cuts a stream of server-sent events, which comes in pieces,
// into events. Where the pieces were cut makes no difference to the events.
// Lines end with LF or CRLF, also mixed.
//
// Clients disagree on whether an event counts that no blank line ends before
// the stream does. It is reported, for what follows may be a client that runs
// it. What they disagree on otherwise is an error: a field that the standard
// does not know, in any spelling; a CR that no LF follows, though the standard
// has it end a line, and other characters that end lines for some; and an
// object in a data line other than an event's first.
//
// The zero value is ready. An EventScanner is for one goroutine; its cost is
// linear in the stream, however it is cut.
type EventScanner struct {
	// Limit is the greatest length of one event's Raw in bytes; zero stands
	// for [DefaultEventLimit]. A longer event is an error that wraps
	// [ErrTooLarge].
	Limit int

	// Events point into buf. So it is only ever appended to; where it is full,
	// what has not been returned moves to a new one.
	buf   []byte
	start int // of the event being read
	line  int // of the line being read
	at    int // no line end lies in buf[line:at]

	typ    string // of this event where named, else of one before it
	named  bool
	fields int    // how many data fields the event has so far
	data   span   // of the first one, relative to start
	joined []byte // of all, where there are several

	begun bool // the first line has been read
	ended bool
	err   error
}

type span struct{ lo, hi int }

// leastBlock is the size of a new buffer, in bytes: room for some twenty
// ordinary events.
const leastBlock = 4 << 10

// Push adds the next bytes of the stream. No reference to p is kept.
func (s *EventScanner) Push(p []byte) {
	if len(s.buf)+len(p) > cap(s.buf) {
		rest := s.buf[s.start:]
		room := len(rest) + len(p)
		if len(rest) > 0 {
			room *= 2
		}
		s.buf = append(make([]byte, 0, max(room, leastBlock)), rest...)
		s.line -= s.start
		s.at -= s.start
		s.start = 0
	}
	s.buf = append(s.buf, p...)
}

// End says that the stream is over. Next then returns what is left.
func (s *EventScanner) End() { s.ended = true }

// Next returns the next complete event. It reports false where more bytes are
// needed or, after [EventScanner.End], nothing is left. Once it has returned
// an error it returns the same for ever.
func (s *EventScanner) Next() (Event, bool, error) {
	for s.err == nil {
		end, next, ok := s.lineEnd()
		if !ok {
			break
		}
		blank := end == s.line
		if !blank {
			s.err = s.field(s.buf[s.line:end])
		}
		s.line, s.at = next, next
		if s.err == nil {
			s.err = s.check(next - s.start)
		}
		if blank && s.err == nil {
			return s.take(), true, nil
		}
	}
	if s.err == nil {
		s.err = s.check(len(s.buf) - s.start)
	}
	if s.err == nil && s.ended && s.start < len(s.buf) {
		if s.line < len(s.buf) {
			s.err = s.field(s.buf[s.line:])
			s.line, s.at = len(s.buf), len(s.buf)
		}
		if s.err == nil {
			return s.take(), true, nil
		}
	}
	if s.ended {
		s.buf, s.start, s.line, s.at = nil, 0, 0, 0 // who waits long after the end keeps no more than its events
	}
	return Event{}, false, s.err
}

// lineEnd finds the end of the line being read, and the start of the next.
func (s *EventScanner) lineEnd() (end, next int, ok bool) {
	lf := bytes.IndexByte(s.buf[s.at:], '\n')
	if lf < 0 {
		s.at = len(s.buf)
		return 0, 0, false
	}
	end = s.at + lf
	next = end + 1
	if end > s.line && s.buf[end-1] == '\r' {
		end--
	}
	return end, next, true
}

func (s *EventScanner) check(size int) error {
	limit := s.Limit
	if limit <= 0 {
		limit = DefaultEventLimit
	}
	if size > limit {
		return fmt.Errorf("a server-sent event is longer than %d bytes: %w", limit, ErrTooLarge)
	}
	return nil
}

// field reads one line that is not blank. The line lies in buf.
func (s *EventScanner) field(line []byte) error {
	at := s.line
	if !s.begun {
		s.begun = true
		rest := bytes.TrimPrefix(line, bom)
		at += len(line) - len(rest)
		line = rest
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(name) < len(line) {
		at += len(name) + 1
	} else {
		at += len(name)
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
		at++
	}
	switch string(name) {
	case "data":
		return s.addData(span{at - s.start, at - s.start + len(value)}, value)
	case "event":
		if string(value) != s.typ { // most events are of the type before: no need to check it again, or to allocate
			s.typ = string(value)
			if err := checkWords(value); err != nil {
				return err
			}
		}
		s.named = true
		return nil
	case "", "id", "retry":
		return checkWords(value)
	}
	return fmt.Errorf("a server-sent event has a field %.40q, which clients read differently", name)
}

func (s *EventScanner) addData(at span, value []byte) error {
	if err := checkData(value); err != nil {
		return err
	}
	s.fields++
	if s.fields == 1 {
		s.data = at
		return nil
	}
	if err := checkMore(value); err != nil {
		return err
	}
	if s.fields == 2 {
		first := s.buf[s.start+s.data.lo : s.start+s.data.hi]
		s.joined = append(make([]byte, 0, 2*(len(first)+len(value))), first...)
	}
	s.joined = append(s.joined, '\n')
	s.joined = append(s.joined, value...)
	return nil
}

// take returns the event that ends where the next line starts.
func (s *EventScanner) take() Event {
	ev := Event{Raw: s.buf[s.start:s.line:s.line]}
	if s.named {
		ev.Type = s.typ
	}
	switch s.fields {
	case 0:
	case 1:
		ev.Data = ev.Raw[s.data.lo:s.data.hi:s.data.hi]
	default:
		ev.Data = s.joined
	}
	s.start, s.named, s.fields, s.joined = s.line, false, 0, nil
	s.begun = true
	return ev
}

var bom = []byte("\xef\xbb\xbf")

// AppendEvent appends an event with the given type and data, and its blank
// line. Without a type it gets no event field. The data should be JSON: a line
// end in it becomes a data field of its own or, where that could be taken for
// an event of its own, a blank; and text that an [EventScanner] would refuse
// is written with JSON escapes. Line ends in the type are left out.
func AppendEvent(dst []byte, typ string, data []byte) []byte {
	if typ != "" {
		dst = append(dst, "event: "...)
		for i := range len(typ) {
			if typ[i] != '\r' && typ[i] != '\n' {
				dst = append(dst, typ[i])
			}
		}
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	for {
		line, rest, more := data, []byte(nil), false
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			line, rest, more = data[:i], data[i+1:], true
			if data[i] == '\r' && len(rest) > 0 && rest[0] == '\n' {
				rest = rest[1:]
			}
		}
		if checkData(line) != nil {
			dst = appendASCII(dst, line)
		} else {
			dst = append(dst, line...)
		}
		switch {
		case !more:
			return append(dst, "\n\n"...)
		case startsObject(rest):
			dst = append(dst, ' ')
		default:
			dst = append(dst, "\ndata: "...)
		}
		data = rest
	}
}

// startsObject reports whether the first line of data that is not blank is not
// to stand in a data field of its own.
func startsObject(data []byte) bool {
	data = bytes.TrimLeftFunc(data, isBlank)
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		data = data[:i]
	}
	return checkMore(data) != nil
}
