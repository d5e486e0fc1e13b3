package mistral

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of events.
const (
	responseStarted  = "conversation.response.started"
	responseDone     = "conversation.response.done"
	responseError    = "conversation.response.error"
	messageDelta     = "message.output.delta"
	functionDelta    = "function.call.delta"
	executionStarted = "tool.execution.started"
	executionDelta   = "tool.execution.delta"
	executionDone    = "tool.execution.done"
	handoffStarted   = "agent.handoff.started"
	handoffDone      = "agent.handoff.done"
)

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	events wire.EventScanner
	limit  int
	err    error

	conversation string
	over         bool // the response is done
	open         *entry
	kept         []event
	size         int               // of kept, in bytes
	used         map[string]bool   // what tells calls apart: no two may share any of it
	runs         map[string]*entry // what the provider runs, by id
	running      int               // bytes of the arguments of these

	w       writer
	metered wire.Meter
}

// An event is one of the stream; its entry is nil where it says nothing to clients.
type event struct {
	wire.Event
	entry *entry
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	s.events.Push(p)
	return s.drain()
}

// End implements [wire.Stream]. A call that nothing has followed is complete if its
// arguments are a whole JSON object; else the answer was cut.
func (s *stream) End() ([]wire.Part, error) {
	s.events.End()
	parts, err := s.drain()
	if err != nil || s.open == nil {
		return parts, err
	}
	seen, err := s.open.seen(s.open.arguments())
	if err == nil && seen.Tool.Arguments == nil {
		err = fmt.Errorf("the answer ends inside the call of %q", s.open.name)
	}
	if err == nil {
		parts, err = s.complete(parts)
	}
	s.err = err
	return parts, err
}

// Took reports whether what came so far shows that the provider has added to the
// conversation what the request said.
func (s *stream) Took() bool { return s.over }

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain(&s.events, &s.err, "a streamed answer in a conversation", s.take)
}

// take reads one event. The events of a call are withheld until one of another entry
// comes.
func (s *stream) take(parts []wire.Part, ev wire.Event) ([]wire.Part, error) {
	e, err := readEvent(ev)
	if err != nil {
		return parts, err
	}
	goesOn := s.open != nil && (e.entry == nil || e.entry.typ == functionDelta && e.entry.index == s.open.index)
	if s.open != nil && !goesOn {
		if parts, err = s.complete(parts); err != nil {
			return parts, err
		}
	}
	if e.entry == nil && s.open == nil {
		return append(parts, wire.Part{Bytes: ev.Raw, Tag: e}), nil
	}
	switch {
	case goesOn && e.entry == nil:
	case goesOn:
		err = s.open.join(e.entry)
	case e.entry.typ == functionDelta:
		err = s.begin(e.entry)
	default:
		return s.flow(parts, e)
	}
	if err != nil {
		return parts, err
	}
	s.kept = append(s.kept, e)
	if s.size += len(ev.Raw); s.size > s.limit {
		return parts, fmt.Errorf("a call is longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
	}
	return parts, nil
}

func (s *stream) begin(e *entry) error {
	for _, key := range []string{"index " + strconv.Itoa(e.index), "id " + e.id, "call " + e.callID} {
		if s.used[key] || len(s.used) == 3*maxCalls {
			return fmt.Errorf("a call of %q begins where none can", e.name)
		}
		s.used[key] = true
	}
	s.open = e
	return e.join(&entry{callID: e.callID, id: e.id, args: e.args})
}

// complete returns the call that is open as a part.
func (s *stream) complete(parts []wire.Part) ([]wire.Part, error) {
	seen, err := s.open.seen(s.open.arguments())
	if err != nil {
		return parts, err
	}
	var all []byte
	for _, e := range s.kept {
		all = append(all, e.Raw...)
	}
	parts = append(parts, wire.Part{
		Bytes: all, Call: seen, Fixed: s.open.pending,
		Tag: callTag{entry: s.open, whole: s.open.whole(), conversation: s.conversation, events: s.kept},
	})
	s.open, s.kept, s.size = nil, nil, 0
	return parts, nil
}

// flow lets an event pass that is none of a call's. The last one of what the provider
// has run shows that call.
func (s *stream) flow(parts []wire.Part, e event) ([]wire.Part, error) {
	part := wire.Part{Bytes: e.Raw, Tag: e}
	switch in := e.entry; in.typ {
	case responseStarted:
		s.conversation = in.response
	case responseDone:
		s.over = true
		s.metered.Take(wire.Find(in.raw, "usage"))
	case executionStarted, executionDelta:
		run := s.runs[in.id]
		if run == nil {
			run = &entry{id: in.id, name: in.name}
			s.runs[in.id] = run
		}
		if s.running += len(in.args); s.running > s.limit {
			return parts, fmt.Errorf("what the provider runs is longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
		}
		if err := run.join(in); err != nil {
			return parts, err
		}
	case executionDone:
		run := s.runs[in.id]
		if run == nil {
			run = &entry{name: in.name}
		}
		delete(s.runs, in.id)
		seen, err := run.seen(run.arguments())
		if err != nil {
			return parts, err
		}
		part.Call, part.Observed = seen, true
	}
	return append(parts, part), nil
}

// readEvent reads an event.
func readEvent(ev wire.Event) (e event, err error) {
	e.Event = ev
	if wire.IsNoOp(ev) {
		return e, nil
	}
	data := bytes.Trim(ev.Data, " \t\n")
	if err := wire.StrictEvent(data); err != nil {
		return e, err
	}
	if e.entry, err = readEntry(data); err != nil {
		return e, err
	}
	typ := e.entry.typ
	switch {
	case ev.Type != "" && ev.Type != typ:
		return e, fmt.Errorf("an event of type %.100q is called %.100q", typ, ev.Type)
	case typ == functionCall || typ == toolExecution:
		return e, errors.New("an entry comes whole in a stream")
	}
	return e, nil
}

func number(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
