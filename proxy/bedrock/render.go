package bedrock

import (
	"fmt"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes parts. It remembers what the client has seen.
type writer struct {
	begins   bool // messageStart has been written
	next     int  // the index that follows those that were written
	shift    int  // how many blocks were added
	released int  // calls
	refused  int
}

// Render implements [wire.Stream].
func (w *writer) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case event:
		return w.event(nil, t)
	case callTag:
		return w.call(t, p.Bytes, v)
	}
	return nil
}

// event appends an event, with its block numbered higher where others were
// added before it, and without promising a call where none is left.
func (w *writer) event(dst []byte, e event) []byte {
	w.begins = w.begins || e.typ == messageStart
	if e.index != none {
		w.next = max(w.next, e.index+w.shift+1)
	}
	switch {
	case e.index != none && w.shift > 0:
		return e.AppendWith(dst, wire.SetMember(e.Payload, "contentBlockIndex", strconv.AppendInt(nil, int64(e.index+w.shift), 10)))
	case e.typ == messageStop && w.refused > 0 && w.released == 0:
		if reason := wire.Find(e.Payload, "stopReason"); string(reason) != string(withoutCall(reason)) {
			return e.AppendWith(dst, wire.SetMember(e.Payload, "stopReason", withoutCall(reason)))
		}
	}
	return append(dst, e.Raw...)
}

func (w *writer) call(t callTag, raw []byte, v holdgate.Verdict) []byte {
	if !v.Release {
		w.refused++
		w.next = max(w.next, t.call.index+w.shift+1)
		return textBlock(nil, t.call.index+w.shift, wire.Word(v))
	}
	w.released++
	if v.Arguments == nil && v.Note == "" && w.shift == 0 {
		w.next = max(w.next, t.call.index+1)
		return raw
	}
	var out []byte
	if v.Note != "" {
		out = textBlock(out, t.call.index+w.shift, v.Note)
		w.shift++
	}
	written := v.Arguments == nil
	for _, e := range t.events {
		if v.Arguments != nil && (e.typ == blockDelta || e.typ == blockStop) && !written {
			out = appendDelta(out, t.call.index+w.shift, `"toolUse":{"input":`+wire.Quote(string(v.Arguments))+`}`)
			written = true
		}
		if v.Arguments == nil || e.typ != blockDelta {
			out = w.event(out, e)
		}
	}
	return out
}

// Idle implements [wire.Stream].
func (*writer) Idle() []byte { return wire.AppendMessage(nil, "event", "ping", []byte("{}")) }

// Notice returns a text block that says something to the agent's user while a
// call waits. Later blocks are numbered one higher. Before the answer has begun
// there is none.
func (w *writer) Notice(words string) []byte {
	if !w.begins || words == "" {
		return nil
	}
	out := textBlock(nil, w.next, words)
	w.shift++
	w.next++
	return out
}

// Fail implements [wire.Stream].
func (*writer) Fail(message string) []byte { return failure(message) }

func failure(message string) []byte {
	return wire.AppendMessage(nil, "exception", "modelStreamErrorException", append(wire.AppendText([]byte(`{"message":`), message), '}'))
}

// textBlock appends the messages of a whole text block. It has no start.
func textBlock(dst []byte, index int, words string) []byte {
	dst = appendDelta(dst, index, `"text":`+wire.Quote(words))
	return appendEvent(dst, blockStop, index, "")
}

func appendDelta(dst []byte, index int, delta string) []byte {
	return appendEvent(dst, blockDelta, index, `,"delta":{`+delta+`}`)
}

func appendEvent(dst []byte, typ string, index int, more string) []byte {
	return wire.AppendMessage(dst, "event", typ, fmt.Appendf(nil, `{"contentBlockIndex":%d%s}`, index, more))
}

// withoutCall returns the stop reason of an answer in which no call is left.
func withoutCall(reason []byte) []byte {
	if words, err := wire.Text(reason); err == nil && words == "tool_use" {
		return []byte(`"end_turn"`)
	}
	return reason
}
