package wire

import (
	"bytes"
	"testing"
)

// A held answer may wait for hours with its scanner: what was read into may not.
func TestAScannerKeepsNothingBehindTheEnd(t *testing.T) {
	var (
		events   EventScanner
		lines    LineScanner
		array    ArrayScanner
		messages MessageScanner
	)
	message := AppendMessage(nil, "event", "chunk", []byte("payload"))
	for name, s := range map[string]struct {
		stream []byte
		push   func([]byte)
		end    func()
		next   func() (bool, error)
		kept   *[]byte
	}{
		"events":   {[]byte("data: 1\n\ndata: 2\n\n"), events.Push, events.End, func() (bool, error) { _, ok, err := events.Next(); return ok, err }, &events.buf},
		"lines":    {[]byte("{}\n{}\n"), lines.Push, lines.End, func() (bool, error) { _, ok, err := lines.Next(); return ok, err }, &lines.buf},
		"array":    {[]byte("[{},\n{}]\n"), array.Push, array.End, func() (bool, error) { _, ok, err := array.Next(); return ok, err }, &array.buf},
		"messages": {bytes.Repeat(message, 2), messages.Push, messages.End, func() (bool, error) { _, ok, err := messages.Next(); return ok, err }, &messages.buf},
	} {
		drain := func() (n int) {
			for {
				ok, err := s.next()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !ok {
					return n
				}
				n++
			}
		}
		s.push(s.stream)
		n := drain()
		s.end()
		if n += drain(); n < 2 {
			t.Errorf("%s: %d were read, want 2", name, n)
		}
		if cap(*s.kept) > 0 {
			t.Errorf("%s: %d bytes are kept behind the end", name, cap(*s.kept))
		}
		if ok, err := s.next(); ok || err != nil {
			t.Errorf("%s: behind the end comes %t, %v", name, ok, err)
		}
	}
}
