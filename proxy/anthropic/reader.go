package anthropic

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A reader cuts a stream into parts.
type reader struct {
	events wire.EventScanner
	limit  int
	err    error

	stage  stage
	used   wire.Meter
	ending bool // a message_delta has come, which says what the whole answer used
	fields eventFields
	blocks int // begun so far
	open   bool
	block  block // the one that is open, or was last
	filled bool  // there is text in it
	joined []byte
	kept   []byte // the bytes of the call that is open

	parts   []wire.Part
	pushed  int    // bytes that came last
	run     []byte // what flows, and is not yet a part
	text    int    // see mark
	tail    int    // none where no tail begins in run
	visible bool   // something in run is not quiet
}

// keeps reports whether a call is open.
func (r *reader) keeps() bool { return r.open && r.block.kind == kindCall }

// read turns all complete events into parts.
func (r *reader) read() ([]wire.Part, error) {
	_, err := wire.Drain(&r.events, &r.err, "a streamed message", func(_ []wire.Part, e wire.Event) ([]wire.Part, error) { return nil, r.take(e) })
	r.flush()
	parts := r.parts
	r.parts = nil
	return parts, err
}

func (r *reader) take(ev wire.Event) error {
	e, err := decode(ev)
	if err != nil {
		return err
	}
	if e.typ == "" || e.typ == ping {
		return r.noOp(ev.Raw)
	}
	if err := r.order(ev, e); err != nil {
		return err
	}
	switch e.typ {
	case messageStart:
		r.stage = stageContent
		r.used.Take(wire.Find(e.message, "usage"))
		return r.begin(ev.Raw, e)
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
		r.stage, r.ending = stageClosing, true
		r.used.Take(e.usage)
		r.flush()
		r.parts = append(r.parts, wire.Part{Bytes: ev.Raw, Tag: mark{role: roleEnding, blocks: r.blocks}})
		return nil
	case messageStop, failure:
		r.stage, r.used.All = stageClosed, r.ending
	default:
		err = checkUnknown(e)
	}
	if err != nil {
		return err
	}
	r.flows(ev.Raw)
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
			r.parts = append(r.parts, wire.Part{Bytes: r.kept, Call: c, Fixed: r.block.fixed(), Tag: mark{role: roleCall, blocks: r.blocks, index: e.index}})
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

// noOp takes an event that says nothing, wherever it comes.
func (r *reader) noOp(raw []byte) error {
	if r.keeps() {
		return r.keep(raw)
	}
	r.append(raw)
	return nil
}

// flows takes an event that is sent at once.
func (r *reader) flows(raw []byte) {
	r.append(raw)
	r.text, r.tail, r.visible = none, none, true
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
	m := mark{role: roleFlow, blocks: r.blocks, text: r.text, tail: r.tail, noOp: !r.visible}
	if m.tail == none {
		m.tail = len(r.run)
	}
	r.parts = append(r.parts, wire.Part{Bytes: r.run, Tag: m})
	if r.tail != none {
		r.text = none
	}
	r.run, r.tail, r.visible = nil, none, false
}
