package bedrock

import (
	"errors"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls
// were refused: with the answer's own message, and a result of status error for
// each call that says why it was not run. It reports false where the answer has
// another call.
func (*Converse) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	message, messages := wire.Find(wire.Find(answer, "output"), "message"), wire.Find(body, "messages")
	if wire.KindOf(message) != "an object" || wire.KindOf(messages) != "an array" {
		return nil, false
	}
	var calls []*wire.Refused
	err := wire.EachElement(wire.Find(message, "content"), func(block []byte) error {
		use := wire.Find(block, toolUse)
		if wire.IsNull(use) {
			return nil
		}
		id, err := wire.Text(wire.Find(use, "toolUseId"))
		if n := len(calls); err != nil || n >= len(refused) || refused[n].ID != id {
			return errors.New("a call was not refused")
		}
		calls = append(calls, &refused[len(calls)])
		return nil
	})
	if err != nil || len(calls) != len(refused) {
		return nil, false
	}
	told := withResults([]byte(`{"role":"user","content":[]}`), calls)
	return wire.SetMember(body, "messages", wire.AppendElements(messages, message, told)), true
}

// Join makes one answer of two, the second of which goes on from the first.
func (*Converse) Join(first, next []byte) ([]byte, error) {
	content := func(answer []byte) []byte {
		return wire.Find(wire.Find(wire.Find(answer, "output"), "message"), "content")
	}
	blocks := content(first)
	if wire.KindOf(blocks) != "an array" || wire.KindOf(content(next)) != "an array" {
		return nil, errors.New("joining answers of Converse: one has no content")
	}
	err := wire.EachElement(content(next), func(block []byte) error {
		blocks = wire.AppendElements(blocks, block)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return wire.RewriteMembers(next, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "output":
			return wire.SetMember(m.Value, "message", wire.SetMember(wire.Find(m.Value, "message"), "content", blocks))
		case "usage", "metrics":
			return wire.SumNumbers(wire.Find(first, string(m.Name)), m.Value)
		}
		return m.Value
	}), nil
}

// Continuation begins to join streamed answers.
func (*Converse) Continuation() *wire.Continuation {
	return wire.NewContinuationOf(&joiner{}, func() wire.Frames { return &messageFrames{} })
}

// messageFrames are messages taken for events. What is no event goes on as it is.
type messageFrames struct{ wire.MessageScanner }

// Next implements [wire.Frames].
func (f *messageFrames) Next() (wire.Event, bool, error) {
	m, ok, err := f.MessageScanner.Next()
	if m.Kind != "event" {
		return wire.Event{Raw: m.Raw}, ok, err
	}
	return wire.Event{Raw: m.Raw, Type: m.Type, Data: m.Payload}, ok, err
}

// A joiner joins streamed answers.
type joiner struct {
	blocks int    // of the answers so far
	before int    // of the answers before this one
	total  []byte // metadata of the answers before, added up
}

// Join implements [wire.Joiner]: the client sees one messageStart, blocks without
// a gap, and one end.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	switch e.Type {
	case messageStart:
		if answer > 0 {
			return nil, false
		}
	case messageStop, metadata:
		return nil, true
	case blockStart, blockDelta, blockStop:
		n, err := strconv.Atoi(string(wire.Find(e.Data, "contentBlockIndex")))
		if err != nil {
			break
		}
		j.blocks = max(j.blocks, n+j.before+1)
		if j.before > 0 {
			data := wire.SetMember(e.Data, "contentBlockIndex", strconv.AppendInt(nil, int64(n+j.before), 10))
			return wire.AppendMessage(nil, "event", e.Type, data), false
		}
	}
	return e.Raw, false
}

// Begin implements [wire.Joiner].
func (j *joiner) Begin(ending []wire.Event) []byte {
	for _, e := range ending {
		if e.Type == metadata {
			j.total = wire.SumNumbers(j.total, e.Data)
		}
	}
	j.before = j.blocks
	return nil
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		if e.Type == metadata {
			out = wire.AppendMessage(out, "event", e.Type, wire.SumNumbers(j.total, e.Data))
		} else {
			out = append(out, e.Raw...)
		}
	}
	return out
}

// Continue returns the request that goes on from an answer, as the model's own
// API has it.
func (c *Invoke) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	return c.Anthropic.Continue(body, answer, refused)
}

// Join makes one answer of two, as the model's own API has it.
func (c *Invoke) Join(first, next []byte) ([]byte, error) { return c.Anthropic.Join(first, next) }

// Continuation begins to join streamed answers.
func (c *Invoke) Continuation() *wire.Continuation {
	j := &chunkJoiner{Joiner: c.Anthropic.Joiner()}
	return wire.NewContinuationOf(j, func() wire.Frames { return &chunkFrames{} })
}

// chunkFrames are chunks taken for the events of the model's own API. All else
// goes on as it is.
type chunkFrames struct{ messages wire.MessageScanner }

// Push implements [wire.Frames].
func (f *chunkFrames) Push(p []byte) { f.messages.Push(p) }

// End implements [wire.Frames].
func (f *chunkFrames) End() { f.messages.End() }

// Next implements [wire.Frames].
func (f *chunkFrames) Next() (wire.Event, bool, error) {
	m, ok, err := f.messages.Next()
	if err != nil || !ok {
		return wire.Event{}, ok, err
	}
	data, err := chunk(m)
	return wire.Event{Raw: m.Raw, Data: data}, true, err
}

// chunkJoiner are those of the model's own API, whose events go on as chunks.
type chunkJoiner struct{ wire.Joiner }

// Join implements [wire.Joiner].
func (j *chunkJoiner) Join(e wire.Event, answer int) ([]byte, bool) {
	out, ending := j.Joiner.Join(e, answer)
	return chunked(e.Raw, out), ending
}

// Begin implements [wire.Joiner].
func (j *chunkJoiner) Begin(ending []wire.Event) []byte { return chunked(nil, j.Joiner.Begin(ending)) }

// End implements [wire.Joiner]. The inner one writes what it leaves as it came in
// the message that it came in, so the events are given one by one.
func (j *chunkJoiner) End(ending []wire.Event, answer int) (out []byte) {
	for _, e := range ending {
		out = append(out, chunked(e.Raw, j.Joiner.End([]wire.Event{e}, answer))...)
	}
	return out
}

// chunked returns events as chunks; those that are a message already stay.
func chunked(raw, out []byte) []byte {
	if slices.Equal(raw, out) {
		return out
	}
	return newChunks(nil).written(out)
}
