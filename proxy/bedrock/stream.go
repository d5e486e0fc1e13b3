package bedrock

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	reader
	writer
}

// A reader cuts a stream into parts.
type reader struct {
	messages wire.MessageScanner
	limit    int
	err      error

	open     *call        // that is withheld
	kept     []event      // its events so far
	size     int          // of these, in bytes
	observed *call        // that the provider runs, and whose block is open
	used     map[int]bool // indices of calls
	begun    bool         // messageStart has come
	over     bool         // messageStop has
	metered  wire.Meter
}

// A callTag marks the part of a call.
type callTag struct {
	call   *call
	events []event
}

// Push implements [wire.Stream].
func (r *reader) Push(p []byte) ([]wire.Part, error) {
	if r.err == nil {
		r.messages.Push(p)
	}
	return r.drain()
}

// End implements [wire.Stream].
func (r *reader) End() ([]wire.Part, error) {
	if r.err == nil {
		r.messages.End()
	}
	parts, err := r.drain()
	if err == nil && r.open != nil {
		r.err = fmt.Errorf("the answer ends inside the call of %q", r.open.name)
	}
	return parts, r.err
}

func (r *reader) drain() ([]wire.Part, error) {
	return wire.Drain(&r.messages, &r.err, "a streamed answer of Bedrock", r.take)
}

// take reads one message. What comes while a call is open is withheld.
func (r *reader) take(parts []wire.Part, m wire.Message) ([]wire.Part, error) {
	e, err := decode(m)
	if err == nil {
		err = r.order(e)
	}
	if err != nil {
		return parts, err
	}
	part := wire.Part{Bytes: e.Raw, Tag: e}
	switch e.typ {
	case metadata:
		r.metered.Take(wire.Find(e.Payload, "usage"))
		r.metered.All = true
	case blockStart:
		if err = r.begin(e); err != nil {
			return parts, err
		}
	case blockDelta:
		err = r.add(e)
	case blockStop:
		if r.observed != nil && r.observed.index == e.index {
			part.Observed = true
			part.Call, err = r.observed.seen()
			r.observed = nil
		}
	}
	if err != nil {
		return parts, err
	}
	if r.open == nil {
		return append(parts, part), nil
	}
	r.kept = append(r.kept, e)
	if r.size += len(e.Raw); r.size > r.limit {
		return parts, fmt.Errorf("a call is longer than %d bytes: %w", r.limit, wire.ErrTooLarge)
	}
	if e.typ != blockStop {
		return parts, nil
	}
	return r.complete(parts)
}

// order refuses an event that cannot come where it does.
func (r *reader) order(e event) error {
	ok := true
	switch e.typ {
	case "":
		if e.Kind != "event" && r.open != nil {
			return fmt.Errorf("the provider ended the answer inside the call of %q: %.300s", r.open.name, e.Payload)
		}
		return nil
	case messageStart:
		ok, r.begun = !r.begun, true
	case blockStart:
		ok = r.open == nil
	case blockDelta, blockStop:
		ok = r.open == nil || r.open.index == e.index
	case messageStop:
		ok = r.open == nil && !r.over
		r.over = true
		return orErr(ok, e)
	case metadata:
		return orErr(r.open == nil, e)
	}
	return orErr(ok && !r.over, e)
}

func orErr(ok bool, e event) error {
	if ok {
		return nil
	}
	return fmt.Errorf("an event of type %q comes where it cannot", e.typ)
}

func (r *reader) begin(e event) error {
	kind, value, err := only(e.start, startKinds)
	if err != nil {
		return fmt.Errorf("reading the start of a block: %w", err)
	}
	r.observed = nil
	if kind != toolUse {
		return nil
	}
	c, err := readCall(value, e.index)
	switch {
	case err != nil:
		return err
	case c.whole != nil:
		return errors.New("the start of a call has an input, which clients may or may not see")
	case c.server:
		r.observed = c
		return nil
	case r.used[e.index]:
		return fmt.Errorf("two calls have the index %d", e.index)
	}
	r.used[e.index] = true
	r.open = c
	return nil
}

func (r *reader) add(e event) error {
	kind, value, err := only(e.delta, deltaKinds)
	switch {
	case err != nil:
		return fmt.Errorf("reading a delta: %w", err)
	case r.open != nil && kind != toolUse:
		return fmt.Errorf("a call has a delta of the kind %q", kind)
	case kind != toolUse:
		return nil
	case r.open != nil:
		return r.open.add(value, r.limit)
	case r.observed != nil && r.observed.index == e.index:
		return r.observed.add(value, r.limit)
	}
	return errors.New("arguments come outside of any call")
}

func (r *reader) complete(parts []wire.Part) ([]wire.Part, error) {
	seen, err := r.open.seen()
	if err != nil {
		return parts, err
	}
	all := make([]byte, 0, r.size)
	for _, e := range r.kept {
		all = append(all, e.Raw...)
	}
	parts = append(parts, wire.Part{Bytes: all, Call: seen, Tag: callTag{call: r.open, events: r.kept}})
	r.open, r.kept, r.size = nil, nil, 0
	return parts, nil
}
