package responses

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// maxWithheld is how many bytes of a stream are withheld at most. A fragment
// of some four bytes comes in an event of some two hundred, so this is far
// more than the arguments alone may have.
const maxWithheld = 256 << 20

// A stream is one streamed answer; the package comment has its rules.
type stream struct {
	events wire.EventScanner
	limit  int
	err    error

	parts        []wire.Part
	items        map[int]*entry // by output_index
	ids          map[string]int // the output_index of each item's id
	highest      int            // output_index so far
	id           string         // of the response
	conversation string         // that it belongs to
	took         bool           // see Took
	calls        []*call        // of the whole stream, in the order in which they began
	open         int            // how many of them are not complete
	group        *group         // what is withheld, nil where nothing is
	ended        bool           // the response is over
	used         wire.Meter

	writer writer
}

// An entry is what is known of one item of the stream.
type entry struct {
	item item  // as it came last
	call *call // nil where it is none
	done bool
}

// A call is one call of a stream, gathered from its events. What the provider
// has run is one too.
type call struct {
	response     string  // id of the response
	conversation string  // that the response belongs to, where it says so
	index        int     // output_index
	item         item    // as it was added and, once complete, as it is
	added        bool    // there was an output_item.added
	joined       []byte  // the insides of all deltas
	deltas       bool    // there were some
	shown        bool    // other events about it have come
	text         *string // what ended the deltas
	closed       bool

	verdict verdict // once rendered
	written bool    // other arguments were, in a delta
}

// A group is what was withheld together.
type group struct {
	events []*event
	calls  []*call
	size   int
}

// A callTag marks the part of one call. The last one of a group carries the
// group's bytes.
type callTag struct {
	call  *call
	group *group // of the last one, else nil
}

var _ wire.Stream = (*stream)(nil)

// Stream starts reading a streamed answer.
func (c *Codec) Stream() wire.Stream { return c.stream() }

func (c *Codec) stream() *stream {
	limit := c.CallLimit
	if limit <= 0 {
		limit = DefaultCallLimit
	}
	return &stream{
		events: wire.EventScanner{Limit: c.EventLimit}, limit: limit,
		items: make(map[int]*entry), ids: make(map[string]int), highest: none, writer: writer{last: none, highest: none, named: true},
	}
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	s.events.Push(p)
	return s.drain()
}

// End implements [wire.Stream]. Clients run a call as soon as they have its
// output_item.done, so an answer that ends without the end of the response is
// no error unless it ends inside a call.
func (s *stream) End() ([]wire.Part, error) {
	s.events.End()
	parts, err := s.drain()
	if err == nil && s.group != nil {
		s.err = errors.New("reading a streamed response: the answer ends inside a call")
	}
	return parts, s.err
}

func (s *stream) drain() ([]wire.Part, error) {
	_, err := wire.Drain(&s.events, &s.err, "a streamed response", func(_ []wire.Part, e wire.Event) ([]wire.Part, error) { return nil, s.take(e) })
	parts := s.parts
	s.parts = nil
	return parts, err
}

// take reads one event, and releases what was withheld where it completes the
// last open call.
func (s *stream) take(ev wire.Event) error {
	e, err := decode(ev)
	if err != nil {
		return err
	}
	var observed *call
	switch {
	case e.typ == "" || e.typ == keepalive:
	case e.typ == itemAdded:
		err = s.add(e)
	case e.typ == itemDone:
		observed, err = s.finish(e)
	case e.fragment() && !s.shows(e):
		err = s.fragment(e)
	case e.response != nil || e.terminal():
		err = s.snapshot(e)
	default:
		err = s.other(e)
	}
	if err != nil {
		return err
	}
	if s.group == nil {
		return s.flow(e, observed)
	}
	s.group.events = append(s.group.events, e)
	if s.group.size += len(ev.Raw); s.group.size > maxWithheld {
		return fmt.Errorf("%w: more than %d MiB are withheld", wire.ErrTooLarge, maxWithheld>>20)
	}
	if s.open > 0 {
		return nil
	}
	return s.release()
}

// flow makes a part of an event that is not withheld; observed is the call
// that it completes and that the provider has run.
func (s *stream) flow(e *event, observed *call) error {
	p := wire.Part{Bytes: e.wire.Raw, Tag: e}
	if observed != nil {
		c, err := observed.item.call()
		if err != nil {
			return err
		}
		p.Call, p.Observed = c, true
	}
	s.parts = append(s.parts, p)
	return nil
}

// release makes parts of the group.
func (s *stream) release() error {
	g := s.group
	s.group = nil
	raw := make([]byte, 0, g.size)
	for _, e := range g.events {
		raw = append(raw, e.wire.Raw...)
	}
	for i, k := range g.calls {
		c, err := k.item.call()
		if err != nil {
			return err
		}
		p := wire.Part{Call: c, Observed: k.item.kind == kindObserved, Fixed: k.item.fixed}
		tag := callTag{call: k}
		if i == len(g.calls)-1 {
			p.Bytes, tag.group = raw, g
		}
		p.Tag = tag
		s.parts = append(s.parts, p)
	}
	return nil
}

// withhold opens a group where there is none, and puts a call into it.
func (s *stream) withhold(c *call) {
	if s.group == nil {
		s.group = &group{}
	}
	s.group.calls = append(s.group.calls, c)
	s.calls = append(s.calls, c)
}
