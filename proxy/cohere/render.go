package cohere

import (
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes the parts of a stream under their verdicts.
type writer struct {
	begun, over       bool
	text              bool // some has been written
	block             int  // the index of the next block of content, as the client counts
	shift             int  // how many blocks of our own were written
	released, refused int  // calls
}

// Render implements [wire.Stream].
func (s *stream) Render(p wire.Part, v holdgate.Verdict) []byte {
	switch t := p.Tag.(type) {
	case event:
		return s.w.event(t)
	case callTag:
		return s.w.call(p.Bytes, t, v)
	}
	return p.Bytes
}

func (w *writer) event(e event) []byte {
	w.begun = w.begun || e.typ != ""
	w.text = w.text || e.text
	switch e.typ {
	case contentStart:
		w.block = max(w.block, e.index+w.shift+1)
	case messageEnd:
		w.over = true
		if w.refused > 0 && w.released == 0 {
			return wire.AppendEvent(nil, e.Type, wire.EditMember(e.Data, "delta", func(delta []byte) []byte {
				return wire.EditMember(delta, "finish_reason", withoutCall)
			}))
		}
	}
	if data := moved(e.typ, e.Data, w.shift); data != nil {
		return wire.AppendEvent(nil, e.Type, data)
	}
	return e.Raw
}

// moved returns the data of an event of this type with the number of its block higher;
// nil where it stays as it is.
func moved(typ string, data []byte, by int) []byte {
	higher := func(value []byte) []byte {
		n, err := wire.Ordinal(value)
		if err != nil {
			return value
		}
		return strconv.AppendInt(nil, int64(n+by), 10)
	}
	switch {
	case by == 0:
		return nil
	case typ == contentStart, typ == contentDelta, typ == contentEnd:
		return wire.EditMember(data, "index", higher)
	case typ == citationStart:
		return within(data, func(citation []byte) []byte { return wire.EditMember(citation, "content_index", higher) }, "delta", "message", "citations")
	}
	return nil
}

// within returns an object in which edit has changed the object that names lead to.
func within(object []byte, edit func([]byte) []byte, names ...string) []byte {
	if wire.KindOf(object) != "an object" {
		return object
	}
	if len(names) == 0 {
		return edit(object)
	}
	return wire.EditMember(object, names[0], func(inner []byte) []byte { return within(inner, edit, names[1:]...) })
}

// call writes a call: as it came, with other arguments, with another index, or as the
// notice that stands for it.
func (w *writer) call(raw []byte, t callTag, v holdgate.Verdict) (out []byte) {
	if word := wire.Word(v); word != "" {
		out = w.said(word)
	}
	if !v.Release {
		w.refused++
		return out
	}
	index := t.call.index
	if w.refused > 0 {
		index = w.released
	}
	w.released++
	if v.Arguments == nil && index == t.call.index {
		return append(out, raw...)
	}
	for _, e := range t.events {
		switch {
		case e.typ == "":
			out = append(out, e.Raw...)
			continue
		case v.Arguments == nil:
		case e.typ == callDelta:
			continue
		case e.typ == callStart:
			e.Data = within(e.Data, func(message []byte) []byte {
				return wire.SetMember(message, "tool_calls", withArguments(e.call, []byte(`""`)))
			}, "delta", "message")
		case e.typ == callEnd:
			out = appendArguments(out, index, wire.Quote(string(v.Arguments)))
		}
		out = wire.AppendEvent(out, e.Type, wire.SetMember(e.Data, "index", strconv.AppendInt(nil, int64(index), 10)))
	}
	return out
}

// appendArguments appends an event with all of the arguments of a call.
func appendArguments(dst []byte, index int, arguments string) []byte {
	return appendEvent(dst, callDelta, `"index":`+strconv.Itoa(index)+`,"delta":{"message":{"tool_calls":{"function":{"arguments":`+arguments+`}}}}`)
}

// said returns a block of text of our own.
func (w *writer) said(text string) []byte {
	if w.text {
		text = wire.Apart + text
	}
	w.text = true
	w.block++
	w.shift++
	return appendText(nil, w.block-1, wire.Quote(text))
}

// appendText appends the events of a block of text.
func appendText(dst []byte, block int, text string) []byte {
	index := strconv.Itoa(block)
	dst = appendEvent(dst, contentStart, `"index":`+index+`,"delta":{"message":{"content":{"type":"text","text":""}}}`)
	dst = appendEvent(dst, contentDelta, `"index":`+index+`,"delta":{"message":{"content":{"text":`+text+`}}}`)
	return appendEvent(dst, contentEnd, `"index":`+index)
}

func appendEvent(dst []byte, typ, members string) []byte {
	return wire.AppendEvent(dst, typ, []byte(`{"type":"`+typ+`",`+members+`}`))
}

// Idle implements [wire.Stream]: an event that adds nothing to the plan.
func (s *stream) Idle() []byte {
	if !s.w.begun || s.w.over {
		return nil
	}
	return appendEvent(nil, planDelta, `"delta":{"message":{"tool_plan":""}}`)
}

// Notice returns a block that shows the agent's user a text, as the model's; nothing
// where [stream.Idle] has nothing either.
func (s *stream) Notice(text string) []byte {
	if !s.w.begun || s.w.over {
		return nil
	}
	return s.w.said(text)
}

// Fail implements [wire.Stream].
func (s *stream) Fail(message string) []byte {
	return appendEvent(nil, messageEnd, `"delta":{"error":`+wire.Quote(message)+`,"finish_reason":"ERROR"}`)
}
