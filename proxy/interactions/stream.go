package interactions

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of events.
const (
	created      = "interaction.created"
	completed    = "interaction.completed"
	statusUpdate = "interaction.status_update"
	stepStart    = "step.start"
	stepDelta    = "step.delta"
	stepStop     = "step.stop"
	failed       = "error"

	argumentsDelta = "arguments_delta" // of a step.delta
	signatureDelta = "thought_signature"
)

// maxSteps is how many steps a stream may have.
const maxSteps = 1 << 16

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	events wire.EventScanner
	limit  int
	err    error

	id    string        // of the interaction
	steps map[int]*step // by index
	calls map[string]came
	open  *step   // the client's call that has no stop yet
	kept  []event // its events
	size  int     // of kept and of what the provider runs now, in bytes

	w    writer
	used wire.Meter
}

// A came is what tells a call of the client's, which has come, from others of its id.
type came struct {
	name      string
	arguments [sha256.Size]byte
}

// An event is one of the stream, as far as it has been read.
type event struct {
	wire.Event
	typ         string // empty where it says nothing to clients
	index       int    // -1 where it has none
	step        []byte
	delta       []byte
	interaction []byte
	calls       map[int]string // the ids of the client's calls in the interaction's steps
	words       bool           // it says something to the user
}

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	s.events.Push(p)
	return s.drain()
}

// End implements [wire.Stream].
func (s *stream) End() ([]wire.Part, error) {
	s.events.End()
	parts, err := s.drain()
	if err == nil && s.open != nil {
		s.err = fmt.Errorf("reading a streamed interaction: it ends inside the call of %q", s.open.name)
	}
	return parts, s.err
}

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain(&s.events, &s.err, "a streamed interaction", s.take)
}

// take reads one event. The events of a call are withheld until its stop.
func (s *stream) take(parts []wire.Part, ev wire.Event) ([]wire.Part, error) {
	e, err := readEvent(ev)
	if err != nil {
		return parts, err
	}
	inside := s.open != nil
	if inside && e.typ == "" && len(bytes.TrimSpace(ev.Data)) > 0 { // clients stop to read at [DONE]
		return parts, fmt.Errorf("it is done inside the call of %q", s.open.name)
	}
	seen, err := s.read(&e)
	if err != nil {
		return parts, fmt.Errorf("an event of type %.100q: %w", e.typ, err)
	}
	if inside || s.open != nil {
		s.kept = append(s.kept, e)
		if s.size += len(ev.Raw); s.size > s.limit {
			return parts, fmt.Errorf("a call is longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
		}
		if s.open.over {
			return s.complete(parts)
		}
		return parts, nil
	}
	return append(parts, wire.Part{Bytes: ev.Raw, Call: seen, Observed: seen != nil, Tag: e}), nil
}

// read takes in what an event says, and returns the call that the provider has run where
// the event is the last of it.
func (s *stream) read(e *event) (ran *holdgate.Call, err error) {
	switch e.typ {
	case stepStart:
		return nil, s.begin(e)
	case stepDelta:
		return nil, s.grow(e)
	case stepStop:
		return s.stop(e)
	}
	if e.interaction == nil {
		return nil, nil
	}
	if id := wire.TextIn(e.interaction, "id"); id != "" {
		s.id = id
	}
	s.used.Take(wire.Find(e.interaction, "usage"))
	s.used.All = s.used.All || e.typ == completed
	return nil, s.repeats(e)
}

func (s *stream) begin(e *event) error {
	if s.open != nil || s.steps[e.index] != nil || len(s.steps) == maxSteps {
		return errors.New("a step begins where none can")
	}
	began, err := readStep(e.step)
	if err != nil {
		return err
	}
	began.index = e.index
	s.steps[e.index] = began
	e.words = began.text
	if began.typ != functionCall {
		if !began.observed() {
			began.raw = nil
		}
		return s.grown(began.args)
	}
	if !wire.IsEmpty(began.args) {
		return fmt.Errorf("the arguments of %q come in its start, where some clients do not read them", began.name)
	}
	if _, twice := s.calls[began.id]; twice {
		return fmt.Errorf("two calls have the id %.100q", began.id)
	}
	if len(s.calls) == maxCalls {
		return fmt.Errorf("there are more than %d calls", maxCalls)
	}
	began.joined = []byte{}
	s.open = began
	return nil
}

// grown counts bytes that are kept.
func (s *stream) grown(value []byte) error {
	if s.size += len(value); s.size > s.limit {
		return fmt.Errorf("what the provider runs is longer than %d bytes: %w", s.limit, wire.ErrTooLarge)
	}
	return nil
}

// grow takes in a piece of a step. The start of one may be missing, where the stream is
// taken up again behind it.
func (s *stream) grow(e *event) error {
	of, typ := s.steps[e.index], wire.TextIn(e.delta, "type")
	if s.open != nil && of != s.open {
		return fmt.Errorf("it comes inside the call of %q", s.open.name)
	}
	switch {
	case of == nil, !of.isCall():
		if typ == argumentsDelta {
			return errors.New("it has arguments of no call")
		}
		e.words = typ == "text" || typ == ""
		if err := wire.Known(e.delta, "type", "text", "arguments", "name", "id"); err != nil {
			return err
		}
		return wire.HiddenCall(e.delta)
	case of.over:
		return fmt.Errorf("it comes behind the end of the call of %q", of.name)
	case typ == argumentsDelta:
		return s.join(of, e.delta)
	case of.observed() && typ == of.typ:
		if err := of.readMembers(e.delta); err != nil {
			return err
		}
		return s.grown(e.delta)
	case typ == signatureDelta:
		return wire.HiddenCall(e.delta)
	}
	return fmt.Errorf("a call of type %q has a piece of type %.100q", of.typ, typ)
}

// join adds a piece of the arguments to a call.
func (s *stream) join(of *step, delta []byte) error {
	piece := *of
	piece.args = nil
	if err := piece.readMembers(delta); err != nil {
		return err
	}
	inside, err := wire.Inside(piece.args)
	if err != nil {
		return fmt.Errorf("reading a piece of the arguments of %q: %w", of.name, err)
	}
	if piece.id != of.id || piece.name != of.name {
		return fmt.Errorf("a call of %q becomes one of %q", of.name, piece.name)
	}
	of.joined = append(of.joined, inside...)
	return s.grown(inside)
}

func (s *stream) stop(e *event) (ran *holdgate.Call, err error) {
	of := s.steps[e.index]
	if s.open != nil && of != s.open || of != nil && of.isCall() && of.over {
		return nil, errors.New("it ends no step")
	}
	if of == nil {
		return nil, nil
	}
	of.over = true
	s.steps[e.index] = &step{typ: of.typ, name: of.name, over: true}
	if of.observed() {
		s.size = 0
		ran, err = of.seen()
	}
	return ran, err
}

// complete returns the call that is open as a part.
func (s *stream) complete(parts []wire.Part) ([]wire.Part, error) {
	seen, err := s.open.seen()
	if err != nil {
		return parts, err
	}
	if s.calls == nil {
		s.calls = make(map[string]came)
	}
	s.calls[s.open.id] = came{s.open.name, argumentsOf(seen)}
	var all []byte
	for _, e := range s.kept {
		all = append(all, e.Raw...)
	}
	parts = append(parts, wire.Part{Bytes: all, Call: seen, Tag: callTag{step: s.open, interaction: s.id, events: s.kept}})
	s.open, s.kept, s.size = nil, nil, 0
	return parts, nil
}

// repeats checks the steps of an event that has all of the interaction: its calls are those
// that have come.
func (s *stream) repeats(e *event) error {
	a := &answer{}
	if err := wire.EachElement(wire.Find(e.interaction, "steps"), a.read); err != nil {
		return err
	}
	for _, p := range a.parts {
		again := p.Tag.(callTag).step
		if p.Observed {
			continue
		}
		if s.calls[again.id] != (came{again.name, argumentsOf(p.Call)}) {
			return fmt.Errorf("it repeats a call of %q that has not come so", again.name)
		}
		if e.calls == nil {
			e.calls = make(map[int]string)
		}
		e.calls[again.index] = again.id
	}
	return nil
}

// argumentsOf sums up the arguments of a call, however they are written.
func argumentsOf(c *holdgate.Call) [sha256.Size]byte {
	if canonical, err := wire.CanonicalWithout(c.Tool.Arguments); err == nil {
		return sha256.Sum256(canonical)
	}
	return sha256.Sum256([]byte(c.Tool.ArgumentsRaw))
}

// readEvent reads an event. One that nobody knows says nothing of a call.
func readEvent(ev wire.Event) (event, error) {
	e := event{Event: ev, index: -1}
	if wire.IsNoOp(ev) {
		return e, nil
	}
	data := bytes.Trim(ev.Data, " \t\n")
	if err := wire.StrictEvent(data); err != nil {
		return e, err
	}
	e.Data = data
	for m, err := range wire.Members(data) {
		if err == nil {
			err = e.readMember(m)
		}
		if err != nil {
			return e, fmt.Errorf("reading an event: %w", err)
		}
	}
	if e.typ == "" || ev.Type != "" && ev.Type != e.typ {
		return e, fmt.Errorf("an event of type %.100q is called %.100q", e.typ, ev.Type)
	}
	steps := e.typ == stepStart || e.typ == stepDelta || e.typ == stepStop
	switch {
	case steps && e.index < 0:
		return e, fmt.Errorf("an event of type %q has no index", e.typ)
	case (e.typ == stepStart) != (e.step != nil), (e.typ == stepDelta) != (e.delta != nil):
		return e, fmt.Errorf("an event of type %.100q has a step or a piece where none belongs, or has none", e.typ)
	case steps && e.interaction != nil:
		return e, fmt.Errorf("an event of type %q has an interaction", e.typ)
	}
	return e, nil
}

func (e *event) readMember(m wire.Member) (err error) {
	object := func() []byte {
		if err == nil && wire.KindOf(m.Value) != "an object" {
			err = fmt.Errorf("%s is %s", m.Name, wire.KindOf(m.Value))
		}
		return m.Value
	}
	switch string(m.Name) {
	case "event_type":
		e.typ, err = wire.Text(m.Value)
	case "index":
		e.index, err = wire.Ordinal(m.Value)
	case "step":
		e.step = object()
	case "delta":
		e.delta = object()
	case "interaction":
		if e.interaction = object(); err == nil {
			err = readInteraction(e.interaction)
		}
	default:
		err = wire.NoCall(m, "event_type", "index", "step", "delta", "interaction", "status")
	}
	return err
}

// readInteraction checks what an event says of the whole interaction, save for its steps.
func readInteraction(object []byte) error {
	for m, err := range wire.Members(object) {
		if err == nil && string(m.Name) != "steps" {
			err = wire.NoCall(m, "steps", "status", "id")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
