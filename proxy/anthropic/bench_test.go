package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
)

// BenchmarkStream reads and renders an answer of 200 text events, of 144 bytes
// each, as the network would cut it.
func BenchmarkStream(b *testing.B) {
	stream := []byte(begin() + open("0", `{"type":"text","text":""}`) +
		strings.Repeat(add("0", `{"type":"text_delta","text":"some words of the answer"}`), 200) + shut("0") + end("end_turn"))
	for _, size := range []int{16 << 10, 1448, 144} {
		b.Run(fmt.Sprintf("pieces of %d bytes", size), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				s := new(anthropic.Codec).Stream()
				for rest := stream; len(rest) > 0; {
					n := min(size, len(rest))
					ps, err := s.Push(rest[:n])
					if err != nil {
						b.Fatal(err)
					}
					for _, p := range ps {
						s.Render(p, holdgate.Verdict{})
					}
					rest = rest[n:]
				}
				if _, err := s.End(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
