package wire

import (
	"bytes"
	"fmt"
)

// A Scanner cuts a stream, which comes in pieces, into frames.
type Scanner[Frame any] interface {
	Push(p []byte)
	End()
	Next() (Frame, bool, error)
}

// Drain has take read every complete frame of a stream, and returns the parts that
// it adds. The first error ends the stream: it is kept in failed, with what names the
// stream, and nothing is read from then on.
func Drain[Frame any](s Scanner[Frame], failed *error, what string, take func([]Part, Frame) ([]Part, error)) (parts []Part, err error) {
	for *failed == nil {
		f, ok, err := s.Next()
		if err == nil && !ok {
			break
		}
		if err == nil {
			parts, err = take(parts, f)
		}
		if err != nil {
			*failed = fmt.Errorf("reading %s: %w", what, err)
		}
	}
	return parts, *failed
}

// IsNoOp reports whether an event says nothing to any client: comments, blank
// lines, empty data, and the [DONE] that some gateways add.
func IsNoOp(e Event) bool {
	if e.Data == nil {
		return true
	}
	text := bytes.Trim(e.Data, " \t\n")
	return len(text) == 0 || string(text) == "[DONE]"
}
