package anthropic

import (
	"bytes"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// mostDeferred is how many bytes may wait behind an open text block.
const mostDeferred = 64 << 10

// A writer writes parts. It remembers what the client has seen.
type writer struct {
	begun    bool
	blocks   int    // of the answer, written so far
	shift    int    // how many blocks were added to them
	text     int    // index of the text block that is open and has text, or none
	deferred []byte // what closes it, and what follows that

	released int
	refused  int
}

// Render returns the bytes to send for a part. A refused call becomes a text
// block in its place; a note becomes one before its call.
func (s *Stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	w := &s.writer
	m, ok := p.Tag.(mark)
	if !ok {
		return nil // it is no part of this stream
	}
	if m.noOp && len(w.deferred) > 0 && len(w.deferred)+len(p.Bytes) <= mostDeferred {
		w.deferred = append(w.deferred, p.Bytes...)
		return nil
	}
	out := w.deferred
	w.deferred, w.text = nil, none
	own := p.Bytes
	switch m.role {
	case roleFlow:
		own = w.flow(p.Bytes, m)
		w.begun = true
	case roleCall:
		own = w.call(p.Bytes, m, settled(p, v))
	case roleStart:
		own = w.start(p, m, settled(p, v))
	case roleEnding:
		own = w.ending(p.Bytes)
	case roleOver:
		return out
	}
	w.blocks = m.blocks
	if len(out) == 0 {
		return own
	}
	return append(out, own...)
}

func (w *writer) flow(b []byte, m mark) []byte {
	if m.text != none {
		w.text = m.text + w.shift
		w.deferred = shifted(bytes.Clone(b[m.tail:]), w.shift)
	}
	return shifted(b[:m.tail:m.tail], w.shift)
}

func (w *writer) call(b []byte, m mark, v holdgate.Verdict) []byte {
	if !v.Release {
		w.refused++
		return textBlock(m.index+w.shift, wire.Word(v))
	}
	w.released++
	if v.Arguments != nil {
		b = edited(b, m.index, v.Arguments)
	}
	if v.Note == "" {
		return shifted(b, w.shift)
	}
	note := textBlock(m.index+w.shift, v.Note)
	w.shift++
	return append(note, shifted(b, w.shift)...)
}

// ending writes a message_delta. Its stop reason must not promise a call where
// none is left.
func (w *writer) ending(b []byte) []byte {
	if w.refused == 0 || w.released > 0 {
		return b
	}
	return rewritten(b, func(data []byte) []byte {
		return wire.EditMember(data, "delta", func(delta []byte) []byte {
			return wire.EditMember(delta, "stop_reason", withoutCall)
		})
	})
}

// Idle returns an event that keeps the client waiting.
func (s *Stream) Idle() []byte {
	if s.writer.text == none {
		return wire.AppendEvent(nil, ping, []byte(`{"type":"ping"}`))
	}
	return textEvent(nil, s.writer.text, "")
}

// Notice returns a text block that says something to the agent's user while a
// call waits. It stays open, so that [Stream.Idle] can go on in it, until
// something is rendered. Later blocks are numbered one higher. The client must
// have been sent all that comes before the call; where that is nothing yet, or
// text is empty, there is no notice.
func (s *Stream) Notice(text string) []byte {
	w := &s.writer
	if !w.begun || text == "" {
		return nil
	}
	index := w.blocks + w.shift
	out := openText(w.deferred, index, text)
	w.shift++
	w.text, w.deferred = index, closeText(index)
	return out
}

// Fail returns an error event.
func (s *Stream) Fail(message string) []byte {
	return wire.AppendEvent(nil, failure, errorBody("api_error", message))
}

// openText appends the start of a text block with all its text.
func openText(dst []byte, index int, text string) []byte {
	dst = wire.AppendEvent(dst, blockStart,
		[]byte(`{"type":"content_block_start","index":`+strconv.Itoa(index)+`,"content_block":{"type":"text","text":""}}`))
	return textEvent(dst, index, text)
}

// textBlock returns the events of a whole text block.
func textBlock(index int, text string) []byte {
	return append(openText(nil, index, text), closeText(index)...)
}

func textEvent(dst []byte, index int, text string) []byte {
	return wire.AppendEvent(dst, blockDelta,
		[]byte(`{"type":"content_block_delta","index":`+strconv.Itoa(index)+`,"delta":{"type":"text_delta","text":`+wire.Quote(text)+`}}`))
}

func closeText(index int) []byte {
	return wire.AppendEvent(nil, blockStop, []byte(`{"type":"content_block_stop","index":`+strconv.Itoa(index)+`}`))
}

// shifted returns events with their blocks numbered higher.
func shifted(b []byte, by int) []byte {
	if by == 0 {
		return b
	}
	return rewritten(b, func(data []byte) []byte {
		return wire.EditMember(data, "index", func(value []byte) []byte {
			index, err := wire.Ordinal(value)
			if err != nil {
				return value // cannot be: it has been read
			}
			return strconv.AppendInt(nil, int64(index+by), 10)
		})
	})
}

// rewritten returns whole events with their data passed through edit. An event
// that changes is written anew, the others stay as they are.
func rewritten(b []byte, edit func(data []byte) []byte) []byte {
	events := wire.EventScanner{Limit: len(b) + 1}
	events.Push(b)
	events.End()
	out := make([]byte, 0, len(b)+64)
	for {
		ev, ok, err := events.Next()
		if err != nil || !ok {
			return out // it has been read before, so there is no error
		}
		if isNoOp(ev) {
			out = append(out, ev.Raw...)
			continue
		}
		if data := edit(ev.Data); !bytes.Equal(data, ev.Data) {
			out = wire.AppendEvent(out, ev.Type, data)
			continue
		}
		out = append(out, ev.Raw...)
	}
}
