package bedrock

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// chunks is a stream of InvokeModelWithResponseStream, read and written by the
// stream of the model's own API. The tags of its parts are that stream's parts.
type chunks struct {
	inner    wire.Stream
	messages wire.MessageScanner
	err      error
	count    int                 // of messages
	taken    [][]byte            // messages that are in no part yet
	came     map[string][][]byte // messages that were not written yet, by the event that they became
}

func newChunks(inner wire.Stream) *chunks {
	return &chunks{inner: inner, came: map[string][][]byte{}}
}

// Push implements [wire.Stream].
func (s *chunks) Push(p []byte) ([]wire.Part, error) {
	if s.err == nil {
		s.messages.Push(p)
	}
	return s.drain()
}

// End implements [wire.Stream].
func (s *chunks) End() ([]wire.Part, error) {
	if s.err == nil {
		s.messages.End()
	}
	parts, err := s.drain()
	if err != nil {
		return parts, err
	}
	rest, err := s.inner.End()
	s.err = err
	return append(parts, s.parts(rest)...), err
}

func (s *chunks) drain() (parts []wire.Part, err error) {
	for s.err == nil {
		m, ok, err := s.messages.Next()
		if err == nil && !ok {
			break
		}
		if err == nil {
			var own []wire.Part
			own, err = s.take(m)
			parts = append(parts, own...)
		}
		s.err = err
	}
	return parts, s.err
}

// take reads one message. What is no chunk becomes a comment, which keeps its
// place among the events.
func (s *chunks) take(m wire.Message) ([]wire.Part, error) {
	data, err := chunk(m)
	if err != nil {
		return nil, fmt.Errorf("reading a streamed answer of Bedrock: %w", err)
	}
	s.count++
	event := fmt.Appendf(nil, ": %d\n\n", s.count)
	if data != nil {
		event = wire.AppendEvent(nil, "", data)
	}
	s.taken = append(s.taken, m.Raw)
	s.came[string(event)] = append(s.came[string(event)], m.Raw)
	parts, err := s.inner.Push(event)
	return s.parts(parts), err
}

// chunk returns the JSON that the bytes of a chunk are, or nil where a message
// is no chunk. One that is none may have nothing in it that belongs to one, or
// to an event of the model's: some clients go by the members.
func chunk(m wire.Message) (data []byte, err error) {
	is := m.Kind == "event" && m.Type == "chunk"
	if !is && (strings.EqualFold(m.Type, "chunk") || m.Kind == "event" && len(m.Payload) > 0) {
		if err := withoutEvent(m); err != nil {
			return nil, err
		}
	}
	if !is {
		return nil, nil
	}
	if err := wire.Strict(m.Payload); err != nil {
		return nil, err
	}
	if err := wire.Known(m.Payload, "bytes"); err != nil {
		return nil, err
	}
	encoded, err := wire.TextOrNull(wire.Find(m.Payload, "bytes"))
	if err != nil || encoded == "" {
		return nil, err
	}
	if strings.ContainsAny(encoded, "\r\n") {
		return nil, fmt.Errorf("the bytes of a chunk have line ends, which clients read differently")
	}
	if data, err = base64.StdEncoding.Strict().DecodeString(encoded); err != nil {
		return nil, fmt.Errorf("reading the bytes of a chunk: %w", err)
	}
	if err := wire.StrictEvent(data); err != nil {
		return nil, fmt.Errorf("reading the bytes of a chunk: %w", err)
	}
	return data, nil
}

func withoutEvent(m wire.Message) error {
	if err := wire.Strict(m.Payload); err != nil {
		return err
	}
	for mem, err := range wire.Members(m.Payload) {
		if err != nil {
			return err
		}
		switch strings.ToLower(string(mem.Name)) {
		case "bytes", "type", "index", "delta", "content_block", "message_start", "content":
			return fmt.Errorf("an event of type %q has the member %q of another type", m.Type, mem.Name)
		}
		if err := noCall(mem); err != nil {
			return err
		}
	}
	if strings.EqualFold(m.Type, "chunk") {
		return fmt.Errorf("an event of type %q and kind %q is one that clients read differently", m.Type, m.Kind)
	}
	return nil
}

// parts returns the inner stream's parts with the messages that they were.
func (s *chunks) parts(inner []wire.Part) (parts []wire.Part) {
	for _, p := range inner {
		own := p
		own.Tag, own.Bytes = p, nil
		for range events(p.Bytes) {
			own.Bytes = append(own.Bytes, s.taken[0]...)
			s.taken = s.taken[1:]
		}
		parts = append(parts, own)
	}
	return parts
}

// events returns the events in what the inner stream has read or written.
func events(b []byte) (list []wire.Event) {
	scanner := wire.EventScanner{Limit: len(b) + 1}
	scanner.Push(b)
	scanner.End()
	for {
		ev, ok, err := scanner.Next()
		if err != nil || !ok {
			return list // it was read or written by our own, so there is no error
		}
		list = append(list, ev)
	}
}

// written returns the messages of events: those that they came in, or new ones.
func (s *chunks) written(b []byte) (out []byte) {
	for _, ev := range events(b) {
		key := string(ev.Raw)
		if came := s.came[key]; len(came) > 0 {
			out = append(out, came[0]...)
			if s.came[key] = came[1:]; len(came) == 1 {
				delete(s.came, key)
			}
			continue
		}
		switch {
		case ev.Data == nil:
		case ev.Type == "ping": // some clients take one for a fault before the answer has begun
			out = append(out, (*writer)(nil).Idle()...)
		default:
			payload := base64.StdEncoding.AppendEncode([]byte(`{"bytes":"`), ev.Data)
			out = wire.AppendMessage(out, "event", "chunk", append(payload, `"}`...))
		}
	}
	return out
}

// Usage implements [wire.Stream].
func (s *chunks) Usage() holdgate.Usage { return s.inner.Usage() }

// UsedAll implements [wire.Stream].
func (s *chunks) UsedAll() bool { return s.inner.UsedAll() }

// Render implements [wire.Stream].
func (s *chunks) Render(p wire.Part, v holdgate.Verdict) []byte {
	own, ok := p.Tag.(wire.Part)
	if !ok {
		return nil // it is no part of this stream
	}
	return s.written(s.inner.Render(own, v))
}

// Idle implements [wire.Stream].
func (s *chunks) Idle() []byte { return s.written(s.inner.Idle()) }

// Notice returns what shows the agent's user a text, as the model's.
func (s *chunks) Notice(text string) []byte {
	if n, ok := s.inner.(interface{ Notice(text string) []byte }); ok {
		return s.written(n.Notice(text))
	}
	return nil
}

// Fail implements [wire.Stream].
func (*chunks) Fail(message string) []byte { return failure(message) }
