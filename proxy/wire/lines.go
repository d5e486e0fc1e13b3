package wire

import (
	"bytes"
	"fmt"
)

// A Line is one line of newline-delimited JSON. Its slices stay valid, and
// nobody changes them.
type Line struct {
	// Raw is the line exactly as it came, with what ends it. The Raw of all
	// lines of a stream, joined, are the stream.
	Raw []byte
	// Data is what the line says, without blanks around it; nil where it is
	// blank.
	Data []byte
}

// A LineScanner cuts a stream of newline-delimited JSON, which comes in
// pieces, into lines. Where the pieces were cut makes no difference to the
// lines. They end with LF or CRLF; a last one that nothing ends is a line all
// the same, for some clients read it. Lines that a client could cut elsewhere,
// and find an object behind the cut, are an error.
//
// What a line says is not checked further: see [StrictEvent]. The zero value is
// ready. A LineScanner is for one goroutine; its cost is linear in the stream,
// however it is cut.
type LineScanner struct {
	// Limit is the greatest length of one line in bytes; zero stands for
	// [DefaultEventLimit]. A longer one is an error that wraps [ErrTooLarge].
	Limit int

	// Lines point into buf. So it is only ever appended to; where it is full,
	// what has not been returned moves to a new one.
	buf   []byte
	start int // of the line being read
	at    int // no line end lies in buf[start:at]
	ended bool
	err   error
}

// Push adds the next bytes of the stream. No reference to p is kept.
func (s *LineScanner) Push(p []byte) {
	if len(s.buf)+len(p) > cap(s.buf) {
		rest := s.buf[s.start:]
		s.buf = append(make([]byte, 0, max(2*len(rest)+len(p), leastBlock)), rest...)
		s.at -= s.start
		s.start = 0
	}
	s.buf = append(s.buf, p...)
}

// End says that the stream is over. Next then returns what is left.
func (s *LineScanner) End() { s.ended = true }

// Next returns the next complete line. It reports false where more bytes are
// needed or, after [LineScanner.End], nothing is left. Once it has returned an
// error it returns the same for ever.
func (s *LineScanner) Next() (Line, bool, error) {
	if s.err != nil {
		return Line{}, false, s.err
	}
	end, whole := len(s.buf), s.ended && s.start < len(s.buf)
	if lf := bytes.IndexByte(s.buf[s.at:], '\n'); lf >= 0 {
		end, whole = s.at+lf+1, true
	}
	s.at = end
	limit := s.Limit
	if limit <= 0 {
		limit = DefaultEventLimit
	}
	if end-s.start > limit {
		s.err = fmt.Errorf("a line is longer than %d bytes: %w", limit, ErrTooLarge)
		return Line{}, false, s.err
	}
	if !whole {
		if s.ended {
			s.buf, s.start, s.at = nil, 0, 0 // who waits long after the end keeps no more than its lines
		}
		return Line{}, false, nil
	}
	raw := s.buf[s.start:end:end]
	s.start = end
	var data []byte
	if data, s.err = lineData(raw); s.err != nil {
		return Line{}, false, s.err
	}
	return Line{Raw: raw, Data: data}, true, nil
}

func lineData(raw []byte) ([]byte, error) {
	data := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	if err := checkData(data); err != nil {
		return nil, fmt.Errorf("a line is not what every client reads: %w", err)
	}
	if data = bytes.Trim(data, " \t"); len(data) == 0 {
		return nil, nil
	}
	return data, nil
}

// AppendLine appends a JSON value as one line. Line ends between its tokens
// become blanks, and text that a [LineScanner] would refuse is written with
// JSON escapes.
func AppendLine(dst, value []byte) []byte {
	if bytes.ContainsAny(value, "\r\n") {
		value = bytes.Map(func(c rune) rune {
			if c == '\r' || c == '\n' {
				return ' '
			}
			return c
		}, value)
	}
	if checkData(value) != nil {
		dst = appendASCII(dst, value)
	} else {
		dst = append(dst, value...)
	}
	return append(dst, '\n')
}
