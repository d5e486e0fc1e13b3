package ollama

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// stream is a streamed answer; the package comment has its rules.
type stream struct {
	lines wire.LineScanner
	err   error
	w     writer
	used  holdgate.Usage
	done  bool // the last line has come
}

// A line is one of a stream with what was read in it; the reply is nil where
// the line is blank.
type line struct {
	wire.Line
	reply *reply
}

// A callTag marks the part of one call of a line. The last one carries the
// line's bytes.
type callTag struct {
	line line
	call *call
	last bool
}

func newStream() *stream { return &stream{used: usageForm.Read()} }

// Push implements [wire.Stream].
func (s *stream) Push(p []byte) ([]wire.Part, error) {
	if s.err == nil {
		s.lines.Push(p)
	}
	return s.drain()
}

// End implements [wire.Stream].
func (s *stream) End() ([]wire.Part, error) {
	if s.err == nil {
		s.lines.End()
	}
	return s.drain()
}

func (s *stream) drain() ([]wire.Part, error) {
	return wire.Drain(&s.lines, &s.err, "a streamed answer of Ollama", s.take)
}

// take appends the parts of one line.
func (s *stream) take(parts []wire.Part, in wire.Line) ([]wire.Part, error) {
	l := line{Line: in}
	if l.Data == nil {
		return append(parts, wire.Part{Bytes: l.Raw, Tag: l}), nil
	}
	if err := wire.StrictEvent(l.Data); err != nil {
		return parts, err
	}
	var err error
	if l.reply, err = readReply(l.Data); err != nil {
		return parts, err
	}
	if l.reply.done {
		s.used, s.done = usageForm.Read(l.Data), true
	}
	if len(l.reply.calls) == 0 {
		return append(parts, wire.Part{Bytes: l.Raw, Tag: l}), nil
	}
	return append(parts, callParts(l)...), nil
}

func callParts(l line) (parts []wire.Part) {
	for i, c := range l.reply.calls {
		p := wire.Part{Call: c.seen(), Tag: callTag{line: l, call: c, last: i == len(l.reply.calls)-1}}
		if i == len(l.reply.calls)-1 {
			p.Bytes = l.Raw
		}
		parts = append(parts, p)
	}
	return parts
}

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case line:
		return s.w.line(t)
	case callTag:
		if t.call.verdict = v; t.last {
			return s.w.line(t.line)
		}
		return nil
	}
	return p.Bytes
}

// Usage implements [wire.Stream]. The last line says it.
func (s *stream) Usage() holdgate.Usage { return s.used }

// UsedAll implements [wire.Stream].
func (s *stream) UsedAll() bool { return s.done }

// Idle implements [wire.Stream]: a line with an empty text. Before the first
// line and behind the last there is nothing that every client takes.
func (s *stream) Idle() []byte {
	if s.w.latest == nil || s.w.latest.done {
		return nil
	}
	return s.w.textLine("")
}

// Notice returns a line that shows the agent's user a text, as the model's;
// nothing where [stream.Idle] has nothing either.
func (s *stream) Notice(text string) []byte {
	if s.w.latest == nil || s.w.latest.done {
		return nil
	}
	return s.w.textLine(s.w.apart(text))
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	return wire.AppendLine(nil, (&Codec{}).Error(500, message))
}
