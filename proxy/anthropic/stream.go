package anthropic

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A Stream is one streamed answer, as [wire.Stream] describes it. Besides, it
// can show a [Stream.Notice] while a call waits.
//
// Push and End touch nothing that the other methods touch. So one goroutine
// may read while another one writes, as long as each half is used by one
// goroutine at a time.
//
// The last part, which End returns, may be without bytes; it is to be rendered
// all the same.
type Stream struct {
	reader reader
	writer writer
}

var _ wire.Stream = (*Stream)(nil)

// Push takes the next bytes and returns the parts that they complete. A call
// that the provider has run comes as the part that its last event is; what was
// before it has flowed.
func (s *Stream) Push(p []byte) ([]wire.Part, error) {
	s.reader.events.Push(p)
	s.reader.pushed = len(p)
	return s.reader.read()
}

// End returns what is left when the answer is over.
func (s *Stream) End() ([]wire.Part, error) {
	s.reader.events.End()
	parts, err := s.reader.read()
	if err == nil && s.reader.keeps() {
		err = fmt.Errorf("the answer ends inside the call of %s", s.reader.block.name)
	}
	if err != nil {
		return parts, err
	}
	return append(parts, wire.Part{Tag: mark{role: roleOver}}), nil
}

// A role says what the writer does with a part.
type role uint8

const (
	roleFlow   role = iota + 1 // anything that is none of the others
	roleCall                   // a call to decide
	roleEnding                 // one message_delta
	roleOver                   // the end of the stream
)

// A mark is what the writer must know of a part.
type mark struct {
	role   role
	blocks int // how many blocks the answer has up to here
	index  int // of a call's block

	// Of a part that flows: the text block that is open behind it, or would
	// be without the bytes from tail on; none where there is no such block or
	// where it has no text.
	text  int
	tail  int
	quiet bool // it says nothing to clients
}

// A stage is how far a message has come.
type stage uint8

const (
	stageBefore  stage = iota // message_start is yet to come
	stageContent              // blocks may come
	stageClosing              // after message_delta
	stageClosed               // after message_stop or an error
)

// A reader cuts a stream into parts.
type reader struct {
	events wire.EventScanner
	limit  int
	err    error

	stage  stage
	fields eventFields
	blocks int // begun so far
	open   bool
	block  block // the one that is open, or was last
	filled bool  // there is text in it
	joined []byte
	kept   []byte // the bytes of the call that is open

	parts  []wire.Part
	pushed int    // bytes that came last
	run    []byte // what flows, and is not yet a part
	text   int    // see mark
	tail   int    // none where no tail begins in run
	loud   bool   // something in run is not quiet
}

// eventFields says whether events have an event field. Some clients drop
// events without one, others drop none: if only some had it, clients would see
// different answers.
type eventFields uint8

const (
	fieldsUnknown eventFields = iota
	fieldsPresent
	fieldsMissing
)

// keeps reports whether a call is open.
func (r *reader) keeps() bool { return r.open && r.block.kind == kindCall }

// read turns all complete events into parts.
func (r *reader) read() ([]wire.Part, error) {
	for r.err == nil {
		ev, ok, err := r.events.Next()
		if err != nil {
			r.err = fmt.Errorf("reading a streamed message: %w", err)
			break
		}
		if !ok {
			break
		}
		if err := r.take(ev); err != nil {
			r.err = fmt.Errorf("reading a streamed message: %w", err)
		}
	}
	r.flush()
	parts := r.parts
	r.parts = nil
	return parts, r.err
}

func (r *reader) take(ev wire.Event) error {
	e, err := decode(ev)
	if err != nil {
		return err
	}
	if e.typ == "" || e.typ == ping {
		return r.quiet(ev.Raw)
	}
	if err := r.order(ev, e); err != nil {
		return err
	}
	switch e.typ {
	case messageStart:
		r.stage = stageContent
		err = checkMessage(e.message)
	case blockStart:
		return r.start(ev.Raw, e)
	case blockDelta:
		return r.add(ev.Raw, e)
	case blockStop:
		return r.stop(ev.Raw, e)
	case messageDelta:
		if err := checkMessageDelta(e.delta); err != nil {
			return err
		}
		r.stage = stageClosing
		r.flush()
		r.parts = append(r.parts, wire.Part{Bytes: ev.Raw, Tag: mark{role: roleEnding, blocks: r.blocks}})
		return nil
	case messageStop, failure:
		r.stage = stageClosed
	default:
		err = checkUnknown(e)
	}
	if err != nil {
		return err
	}
	r.flows(ev.Raw)
	return nil
}

// order refuses an event that cannot come where it does.
func (r *reader) order(ev wire.Event, e event) error {
	fields := fieldsPresent
	if ev.Type == "" {
		fields = fieldsMissing
	}
	if r.fields == fieldsUnknown {
		r.fields = fields
	}
	if r.fields != fields {
		return fmt.Errorf("some events have an event field and some have none")
	}
	ok := true
	switch e.typ {
	case messageStart:
		ok = r.stage == stageBefore
	case blockStart:
		ok = r.stage == stageContent && !r.open
	case blockDelta, blockStop:
		ok = r.stage == stageContent && r.open
		if ok && e.index != r.blocks-1 {
			return fmt.Errorf("a %s has index %d while block %d is open", e.typ, e.index, r.blocks-1)
		}
	case messageDelta, messageStop:
		ok = (r.stage == stageContent || r.stage == stageClosing) && !r.open
	case failure:
		if r.keeps() {
			return fmt.Errorf("the provider ended the answer inside the call of %s: %.300s", r.block.name, e.failure)
		}
	default:
		if r.keeps() {
			return fmt.Errorf("an event of type %q is inside a call", e.typ)
		}
	}
	if !ok || r.stage == stageClosed {
		return fmt.Errorf("a %s comes where it cannot", e.typ)
	}
	return nil
}

// checkMessage refuses a message_start that brings content with it, for some
// clients would take that for the answer's first blocks.
func checkMessage(message []byte) error {
	for m, err := range wire.Members(message) {
		if err != nil {
			return fmt.Errorf("reading the message of a message_start: %w", err)
		}
		if string(m.Name) != "content" {
			if err := wire.KnownName(m, "content", "type", "role", "stop_reason"); err != nil {
				return fmt.Errorf("reading the message of a message_start: %w", err)
			}
			continue
		}
		if isNull(m.Value) {
			continue
		}
		for _, err := range wire.Elements(m.Value) {
			if err == nil {
				err = fmt.Errorf("it has content already")
			}
			return fmt.Errorf("reading the message of a message_start: %w", err)
		}
	}
	return nil
}

// checkMessageDelta refuses a message_delta that brings content with it.
func checkMessageDelta(delta []byte) error {
	for m, err := range wire.Members(delta) {
		if err == nil {
			err = wire.KnownName(m, "content", "stop_reason")
		}
		if err != nil {
			return fmt.Errorf("reading the delta of a message_delta: %w", err)
		}
		if string(m.Name) == "content" {
			return fmt.Errorf("reading the delta of a message_delta: it has content")
		}
	}
	return nil
}

// checkUnknown lets events of unknown types through, for the API says that
// there may be new ones.
func checkUnknown(e event) error {
	for _, known := range knownTypes() {
		if strings.EqualFold(e.typ, known) {
			return fmt.Errorf("an event of type %q is %q in another case", e.typ, known)
		}
	}
	return nil
}

func (r *reader) start(raw []byte, e event) error {
	if e.index != r.blocks {
		return fmt.Errorf("block %d has index %d", r.blocks, e.index)
	}
	b, err := readBlock(e.block)
	if err != nil {
		return err
	}
	r.block, r.open, r.joined, r.kept = b, true, nil, nil
	r.filled = b.kind == kindText && wire.KindOf(b.text) == "a string" && len(b.text) > 2
	if b.kind != kindCall {
		r.blocks++
		r.flows(raw)
		return nil
	}
	r.flush() // with the number of blocks before the call
	r.blocks++
	return r.keep(raw)
}

func (r *reader) add(raw []byte, e event) error {
	d, err := e.addition()
	if err != nil {
		return err
	}
	switch {
	case d.typ == inputDelta && (r.block.kind == kindCall || r.block.kind == kindObserved):
		fragment, err := inside(d.value)
		if err != nil {
			return fmt.Errorf("reading partial_json of a delta: %w", err)
		}
		if len(r.joined)+len(fragment) > r.limit {
			return fmt.Errorf("the arguments of a call are longer than %d bytes: %w", r.limit, wire.ErrTooLarge)
		}
		r.joined = append(r.joined, fragment...)
	case d.typ == inputDelta, r.block.kind == kindCall:
		return fmt.Errorf("a block of type %q has a delta of type %q", r.block.typ, d.typ)
	case d.typ == textDelta && r.block.kind == kindText && len(d.value) > len(`""`):
		r.filled = true
	}
	if r.block.kind == kindCall {
		return r.keep(raw)
	}
	r.flows(raw)
	return nil
}

func (r *reader) stop(raw []byte, e event) error {
	r.open = false
	switch r.block.kind {
	case kindCall, kindObserved:
		c, err := r.block.call(r.joined)
		if err != nil {
			return err
		}
		if r.block.kind == kindCall {
			if err := r.keep(raw); err != nil {
				return err
			}
			r.parts = append(r.parts, wire.Part{Bytes: r.kept, Call: c, Tag: mark{role: roleCall, blocks: r.blocks, index: e.index}})
			r.kept = nil
			return nil
		}
		r.flush()
		r.flows(raw)
		r.flush()
		last := &r.parts[len(r.parts)-1]
		last.Call, last.Observed = c, true
	default:
		tail := len(r.run)
		r.flows(raw)
		if r.filled {
			r.text, r.tail = e.index, tail
		}
	}
	return nil
}

// quiet takes an event that says nothing, wherever it comes.
func (r *reader) quiet(raw []byte) error {
	if r.keeps() {
		return r.keep(raw)
	}
	r.append(raw)
	return nil
}

// flows takes an event that is sent at once.
func (r *reader) flows(raw []byte) {
	r.append(raw)
	r.text, r.tail, r.loud = none, none, true
	if r.open && r.filled {
		r.text = r.blocks - 1
	}
}

func (r *reader) append(raw []byte) {
	if r.run == nil {
		r.run = make([]byte, 0, max(len(raw), r.pushed))
	}
	r.run = append(r.run, raw...)
}

// keep takes an event of the call that is open.
func (r *reader) keep(raw []byte) error {
	if len(r.kept)+len(raw) > r.limit {
		return fmt.Errorf("a call is longer than %d bytes: %w", r.limit, wire.ErrTooLarge)
	}
	r.kept = append(r.kept, raw...)
	return nil
}

// flush makes a part of what flows.
func (r *reader) flush() {
	if len(r.run) == 0 {
		return
	}
	m := mark{role: roleFlow, blocks: r.blocks, text: r.text, tail: r.tail, quiet: !r.loud}
	if m.tail == none {
		m.tail = len(r.run)
	}
	r.parts = append(r.parts, wire.Part{Bytes: r.run, Tag: m})
	if r.tail != none {
		r.text = none
	}
	r.run, r.tail, r.loud = nil, none, false
}
