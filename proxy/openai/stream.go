package openai

import (
	"bytes"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// maxWithheld is how many bytes of a stream are withheld at most. A fragment
// of some four bytes comes in a chunk of some two hundred, so this is far more
// than the arguments alone may have.
const maxWithheld = 256 << 20

// blanks are what JSON lets stand around a value (RFC 8259, section 2).
const blanks = " \t\r\n"

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	events  wire.EventScanner
	choices map[int]*choiceState
	begun   bool // a call has been seen: from here on parts remember their chunk
	err     error
	spare   *chunk // that nobody has kept

	// What is withheld, in order:
	queue []*chunk
	size  int
	open  []*call // the calls that began in queue, complete or not

	head head // of the chunks that Holdgate makes itself
	used wire.Meter
}

// A chunk is one event of the stream that is withheld, or that may have to be
// changed because of calls before it.
type chunk struct {
	event wire.Event
	doc   document
	calls []*call // for each element of each choice, the call that it is part of
	first []*call // the calls that begin here
	vague bool    // it has nothing but elements that say nothing yet
}

// A group is what was withheld together.
type group struct {
	chunks []*chunk
	calls  []*call
}

// A callTag marks the part of one call of a group. The last one carries the
// group's bytes.
type callTag struct {
	group *group
	call  *call
	last  bool
}

// Stream starts reading a streamed answer.
func (*Codec) Stream() wire.Stream {
	return newStream()
}

func newStream() *stream {
	return &stream{choices: make(map[int]*choiceState)}
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.events.Push(p)
	return s.drain()
}

// End implements [wire.Stream]. Calls that nothing has completed are complete
// if their arguments are whole JSON objects, for some providers send neither a
// finish_reason nor [DONE]; else the answer was cut.
func (s *stream) End() ([]wire.Part, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.events.End()
	parts, err := s.drain()
	if err != nil || len(s.queue) == 0 {
		return parts, err
	}
	for _, c := range s.open {
		if !c.closed && !c.isObject() {
			s.err = fmt.Errorf("the answer ends inside a call of %q", c.name)
			return parts, s.err
		}
	}
	parts, s.err = s.flush(parts)
	return parts, s.err
}

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain(&s.events, &s.err, "a chat stream", s.take)
}

// take reads one event.
func (s *stream) take(parts []wire.Part, ev wire.Event) ([]wire.Part, error) {
	data := bytes.Trim(ev.Data, blanks)
	if string(data) == "[DONE]" {
		s.used.All = true
		parts, err := s.flush(parts)
		return append(parts, wire.Part{Bytes: ev.Raw}), err
	}
	c := s.newChunk(ev)
	if len(data) == 0 {
		c.vague = len(s.queue) > 0
	} else {
		if err := wire.StrictEvent(data); err != nil {
			return parts, err
		}
		if !s.begun && len(s.queue) == 0 && s.head.id != nil && isText(data) {
			s.choice(0).content = true
			s.used.Take(usageIn(data))
			s.spare = c
			return append(parts, wire.Part{Bytes: ev.Raw}), nil
		}
		var err error
		if c.doc, err = streamForm().read(data, c.doc.choices); err != nil {
			return parts, err
		}
		s.head.note(&c.doc)
		s.used.Take(c.doc.usage)
		s.used.All = s.used.All || len(c.doc.choices) == 0 && wire.KindOf(c.doc.usage) == "an object"
	}
	parts, err := s.calls(parts, c)
	if err != nil {
		return parts, err
	}
	s.finish(c)
	switch {
	case len(c.calls) > 0 || c.vague || len(s.queue) > 0 && !s.closed():
		s.queue = append(s.queue, c)
		if s.size += len(ev.Raw); s.size > maxWithheld {
			return parts, fmt.Errorf("%w: more than %d MiB are withheld", wire.ErrTooLarge, maxWithheld>>20)
		}
		if s.closed() && !c.vague {
			return s.flush(parts)
		}
		return parts, nil
	case len(s.queue) > 0:
		if parts, err = s.flush(parts); err != nil {
			return parts, err
		}
	}
	p := wire.Part{Bytes: ev.Raw}
	if s.begun && len(c.doc.choices) > 0 {
		p.Tag = c
	} else {
		s.spare = c
	}
	return append(parts, p), nil
}

// newChunk returns a chunk to read an event into. Plain text, which is most of a
// stream, needs no more than one.
func (s *stream) newChunk(ev wire.Event) *chunk {
	c := s.spare
	s.spare = nil
	if c == nil {
		c = &chunk{}
	}
	c.event, c.doc, c.vague = ev, document{choices: c.doc.choices[:0]}, false
	return c
}

// calls finds the calls that a chunk belongs to. Where the chunk begins one
// and what was withheld before is whole, that is complete.
func (s *stream) calls(parts []wire.Part, c *chunk) ([]wire.Part, error) {
	if len(s.open) > 0 && s.onlyBegins(c) && s.whole() {
		var err error
		if parts, err = s.flush(parts); err != nil {
			return parts, err
		}
	}
	says := false
	for i := range c.doc.choices {
		ch := &c.doc.choices[i]
		says = says || ch.content || ch.finish != ""
		if len(ch.elements) == 0 && !ch.content {
			continue
		}
		st := s.choice(ch.index)
		for j := range ch.elements {
			e := &ch.elements[j]
			k := st.find(e)
			if k == nil && e.empty() {
				c.vague = true
				continue
			}
			if k == nil {
				var err error
				if k, err = st.begin(e); err != nil {
					return parts, err
				}
				c.first = append(c.first, k)
				s.open = append(s.open, k)
				s.head.choice = ch.index
				s.begun = true
			}
			if err := k.take(e); err != nil {
				return parts, err
			}
			c.calls = append(c.calls, k)
		}
		st.content = st.content || ch.content
	}
	c.vague = c.vague && !says && len(c.calls) == 0
	return parts, nil
}

// onlyBegins reports whether a chunk has elements, and all of them begin calls.
func (s *stream) onlyBegins(c *chunk) bool {
	begins := false
	for i := range c.doc.choices {
		ch := &c.doc.choices[i]
		for j := range ch.elements {
			if st := s.choices[ch.index]; st != nil && st.find(&ch.elements[j]) != nil {
				return false
			}
			begins = true
		}
	}
	return begins
}

// whole reports whether all calls that are withheld have whole arguments.
func (s *stream) whole() bool {
	for _, c := range s.open {
		if !c.closed && (c.custom || !c.isObject()) {
			return false
		}
	}
	return true
}

func (s *stream) closed() bool {
	for _, c := range s.open {
		if !c.closed {
			return false
		}
	}
	return true
}

// finish closes the calls of the choices that a chunk ends.
func (s *stream) finish(c *chunk) {
	for i := range c.doc.choices {
		ch := &c.doc.choices[i]
		if ch.finish != "" {
			for _, k := range s.open {
				k.closed = k.closed || k.choice.index == ch.index
			}
		}
	}
}

func (s *stream) choice(index int) *choiceState {
	st := s.choices[index]
	if st == nil {
		st = &choiceState{index: index}
		s.choices[index] = st
	}
	return st
}

// flush returns what is withheld as the parts of one group, complete.
func (s *stream) flush(parts []wire.Part) ([]wire.Part, error) {
	if len(s.queue) == 0 {
		return parts, nil
	}
	g := &group{chunks: s.queue, calls: s.open}
	var all []byte
	for _, c := range s.queue {
		all = append(all, c.event.Raw...)
	}
	s.queue, s.open, s.size = nil, nil, 0
	if len(g.calls) == 0 { // late words on calls that were complete
		return append(parts, wire.Part{Bytes: all, Tag: g}), nil
	}
	for i, k := range g.calls {
		pc, err := k.complete()
		if err != nil {
			return parts, err
		}
		p := wire.Part{Call: pc, Fixed: k.custom, Tag: callTag{group: g, call: k, last: i == len(g.calls)-1}}
		if i == len(g.calls)-1 {
			p.Bytes = all
		}
		parts = append(parts, p)
	}
	return parts, nil
}
