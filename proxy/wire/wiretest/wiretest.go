// Package wiretest takes answers through codecs for their tests: cut into pieces
// of any size, and under verdicts of the test's own.
package wiretest

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Release is the verdict on a call that goes on as it came.
func Release() holdgate.Verdict { return holdgate.Verdict{Release: true} }

// Refuse is the verdict on a call that a notice stands for.
func Refuse(notice string) holdgate.Verdict { return holdgate.Verdict{Notice: notice} }

// Edit is the verdict on a call that goes on with other arguments.
func Edit(arguments string) holdgate.Verdict {
	return holdgate.Verdict{Release: true, Arguments: json.RawMessage(arguments)}
}

// Note is the verdict on a call that goes on with a note before it.
func Note(text string) holdgate.Verdict { return holdgate.Verdict{Release: true, Note: text} }

// Run takes a stream in pieces of this size through a codec, as [Read] does.
func Run(s wire.Stream, in string, size int, verdicts []holdgate.Verdict) (calls []*holdgate.Call, out string, err error) {
	return read(s, &pieces{in, size}, make([]byte, min(size, len(in))+1), verdicts)
}

// Read takes a stream through a codec as it is read. It returns the calls found
// and what is sent. The verdicts are those on the calls that the agent runs, in
// order; what they are too few for is released.
func Read(s wire.Stream, src io.Reader, verdicts []holdgate.Verdict) (calls []*holdgate.Call, out string, err error) {
	return read(s, src, make([]byte, 4<<10), verdicts)
}

func read(s wire.Stream, src io.Reader, buf []byte, verdicts []holdgate.Verdict) (calls []*holdgate.Call, out string, err error) {
	asked := 0
	take := func(parts []wire.Part) {
		for _, p := range parts {
			v := Release()
			if p.Call != nil {
				calls = append(calls, p.Call)
				if !p.Observed && asked < len(verdicts) {
					v = verdicts[asked]
					asked++
				}
			}
			out += string(s.Render(p, v))
		}
	}
	for {
		n, rerr := src.Read(buf)
		if n > 0 {
			parts, err := s.Push(buf[:n])
			if take(parts); err != nil {
				return calls, out, err
			}
		}
		switch {
		case errors.Is(rerr, io.EOF):
			parts, err := s.End()
			take(parts)
			return calls, out, err
		case rerr != nil:
			return calls, out, rerr
		}
	}
}

// pieces read a text size bytes at a time.
type pieces struct {
	rest string
	size int
}

// Read implements [io.Reader].
func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
