package gemini

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// maxWithheld is how many bytes of a stream are withheld at most.
const maxWithheld = 64 << 20

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	frames framing
	err    error

	// What is withheld, in order:
	queue []chunk
	size  int
	open  map[int]*call // by candidate
	calls []*call       // that began in queue
	used  wire.Meter

	w writer
}

// A chunk is a frame with what was read in it.
type chunk struct {
	frame    frame
	response *response // nil where the frame has none
}

// A group is what was withheld together.
type group []chunk

// A callTag marks the part of one call of a group. The last one carries the
// group's bytes.
type callTag struct {
	group group
	call  *call
	last  bool
}

// Stream starts reading an answer that comes as server-sent events.
func (*Codec) Stream() wire.Stream { return newStream(&events{}) }

// StreamAs starts reading an answer that was asked for as a stream: one of type
// application/json is an array that comes piece by piece.
func (*Codec) StreamAs(mediaType string) wire.Stream {
	if mediaType != "application/json" {
		return nil
	}
	return newStream(&array{})
}

// StreamType returns the media type of what Expand returns: server-sent events.
func (*Codec) StreamType() string { return "text/event-stream" }

func newStream(f framing) *stream {
	return &stream{frames: f, open: map[int]*call{}, w: newWriter(f)}
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	if s.err == nil {
		s.frames.Push(p)
	}
	return s.drain()
}

// End implements [wire.Stream].
func (s *stream) End() ([]wire.Part, error) {
	if s.err == nil {
		s.frames.End()
	}
	parts, err := s.drain()
	if err == nil && len(s.open) > 0 {
		c := s.open[slices.Min(slices.Collect(maps.Keys(s.open)))]
		s.err = fmt.Errorf("the answer ends inside a call of %q", c.name)
		err = s.err
	}
	return parts, err
}

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain(s.frames, &s.err, "a streamed answer of Gemini", s.take)
}

// take reads one frame. What belongs to a call, or comes while one is open, is
// withheld.
func (s *stream) take(parts []wire.Part, f frame) ([]wire.Part, error) {
	c := chunk{frame: f}
	if f.data != nil {
		if err := wire.StrictEvent(f.data); err != nil {
			return parts, err
		}
		var err error
		if c.response, err = readResponse(f.data); err != nil {
			return parts, err
		}
		s.used.Take(c.response.usage)
		if err := s.gather(c.response); err != nil {
			return parts, err
		}
	}
	if len(s.calls) == 0 {
		return append(parts, wire.Part{Bytes: f.raw, Tag: c}), nil
	}
	s.queue = append(s.queue, c)
	if s.size += len(f.raw); s.size > maxWithheld {
		return parts, fmt.Errorf("%w: more than %d MiB are withheld", wire.ErrTooLarge, maxWithheld>>20)
	}
	if len(s.open) > 0 {
		return parts, nil
	}
	return s.flush(parts)
}

// gather finds the calls that a response's fragments belong to.
func (s *stream) gather(r *response) error {
	for i := range r.candidates {
		cand := &r.candidates[i]
		for j := range cand.fragments {
			f := &cand.fragments[j]
			c := s.open[cand.index]
			if c == nil {
				c = &call{}
				s.calls = append(s.calls, c)
			} else if f.member != c.member {
				return errors.New("a call begins before the one before it is complete")
			}
			f.call = c
			if err := c.take(f); err != nil {
				return err
			}
			delete(s.open, cand.index)
			if c.open {
				s.open[cand.index] = c
			}
		}
	}
	return nil
}

// flush returns what is withheld as the parts of one group.
func (s *stream) flush(parts []wire.Part) ([]wire.Part, error) {
	g := group(s.queue)
	var all []byte
	for _, c := range g {
		all = append(all, c.frame.raw...)
	}
	for i, c := range s.calls {
		hc, err := c.complete()
		if err != nil {
			return parts, err
		}
		p := wire.Part{Call: hc, Observed: c.observed(), Tag: callTag{group: g, call: c, last: i == len(s.calls)-1}}
		if i == len(s.calls)-1 {
			p.Bytes = all
		}
		parts = append(parts, p)
	}
	s.queue, s.calls, s.size = nil, nil, 0
	return parts, nil
}
