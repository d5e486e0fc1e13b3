package gemini

import (
	"bytes"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A frame is one response of a stream with its framing, or a run of bytes that
// says nothing to a client.
type frame struct {
	raw  []byte
	data []byte // the response; nil where there is none
	lead int    // in an array: how much of raw comes before data
}

// A framing cuts a stream into frames, and writes them again.
type framing interface {
	wire.Scanner[frame]

	// same writes a frame as it came, other one with other data, and made one
	// of our own.
	same(f frame) []byte
	other(f frame, data []byte) []byte
	frameOf(data []byte) []byte
}

// blanks are what JSON lets stand around a value (RFC 8259, section 2).
const blanks = " \t\r\n"

// events frames a stream of server-sent events.
type events struct{ wire.EventScanner }

// Next implements [wire.Scanner].
func (s *events) Next() (frame, bool, error) {
	ev, ok, err := s.EventScanner.Next()
	f := frame{raw: ev.Raw}
	if data := bytes.Trim(ev.Data, blanks); len(data) > 0 && string(data) != "[DONE]" {
		f.data = data
	}
	return f, ok, err
}

func (*events) same(f frame) []byte               { return f.raw }
func (*events) other(_ frame, data []byte) []byte { return wire.AppendEvent(nil, "", data) }
func (*events) frameOf(data []byte) []byte        { return wire.AppendEvent(nil, "", data) }

// array frames a stream that is one JSON array.
type array struct {
	wire.ArrayScanner
	begun bool // the bracket has been written
}

// Next implements [wire.Scanner].
func (s *array) Next() (frame, bool, error) {
	e, ok, err := s.ArrayScanner.Next()
	return frame{raw: e.Raw, data: e.Value, lead: len(e.Raw) - len(e.Value)}, ok, err
}

// same writes the element as it came, but for its comma or bracket, where one
// of our own was written in the place of the array's first.
func (s *array) same(f frame) []byte {
	if !s.begun {
		s.begun = true
		return f.raw
	}
	if f.data == nil {
		return f.raw
	}
	if i := bytes.IndexByte(f.raw[:f.lead], '['); i >= 0 {
		b := bytes.Clone(f.raw)
		b[i] = ','
		return b
	}
	return f.raw
}

func (s *array) other(f frame, data []byte) []byte {
	f.raw = append(bytes.Clone(f.raw[:f.lead]), data...)
	return s.same(f)
}

func (s *array) frameOf(data []byte) []byte {
	sep := byte(',')
	if !s.begun {
		s.begun, sep = true, '['
	}
	return append([]byte{sep}, data...)
}
