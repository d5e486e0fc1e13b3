package wire_test

import (
	"bytes"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

// flowing are joiner that keep back what says "end", and mark the place of each
// answer's beginning.
type flowing struct{}

func (flowing) Join(e wire.Event, _ int) ([]byte, bool) {
	if bytes.Contains(e.Data, []byte("end")) {
		return nil, true
	}
	return e.Raw, false
}
func (flowing) Begin([]wire.Event) []byte { return []byte("|") }
func (flowing) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		out = append(out, e.Raw...)
	}
	return out
}

func TestContinuation(t *testing.T) {
	const first, last = "data: a\n\ndata: end\n\n", "data: b\n\n: c\n\ndata: end" // whose last event nothing ends
	const one, two = "\"a\"\n\"end\"\n", "\"b\"\r\n\n\"end\""
	for _, tt := range []struct {
		name    string
		begin   func() *wire.Continuation
		answers []string
		want    string
	}{
		{"one answer", func() *wire.Continuation { return wire.NewContinuation(flowing{}) }, []string{last}, last},
		{"two", func() *wire.Continuation { return wire.NewContinuation(flowing{}) }, []string{first, last}, "data: a\n\n|data: b\n\n: c\n\ndata: end"},
		{"the second does not come", func() *wire.Continuation { return wire.NewContinuation(flowing{}) }, []string{last, ""}, last},
		{"three", func() *wire.Continuation { return wire.NewContinuation(flowing{}) }, []string{first, last, first}, "data: a\n\n|data: b\n\n: c\n\n|data: a\n\ndata: end\n\n"},
		{"lines", func() *wire.Continuation { return wire.NewLineContinuation(flowing{}) }, []string{two}, two},
		{"two of lines", func() *wire.Continuation { return wire.NewLineContinuation(flowing{}) }, []string{one, two}, "\"a\"\n|\"b\"\r\n\n\"end\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size < 40; size++ {
				var out []byte
				s := tt.begin()
				for i, answer := range tt.answers {
					if i > 0 {
						out = append(out, s.Next()...)
					}
					for rest := []byte(answer); len(rest) > 0; rest = rest[min(size, len(rest)):] {
						out = append(out, s.Push(rest[:min(size, len(rest))])...)
					}
				}
				if out = append(out, s.End()...); string(out) != tt.want {
					t.Fatalf("in pieces of %d: %q, want %q", size, out, tt.want)
				}
			}
		})
	}
}
