package ollama

import (
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer writes replies under the verdicts of their calls.
type writer struct {
	latest  *reply // the one that was written last; nil before the first
	text    bool   // some that is not empty has been written
	refused int    // calls, so that the numbers of others are lower
}

// line writes one line of a stream.
func (w *writer) line(l line) []byte {
	if l.reply == nil {
		return l.Raw
	}
	data, changed := w.reply(l.reply, l.Data)
	if !changed {
		return l.Raw
	}
	return wire.AppendLine(nil, data)
}

// textLine returns a line of our own that adds text.
func (w *writer) textLine(text string) []byte {
	b := []byte{'{'}
	if !wire.IsNull(w.latest.model) {
		b = append(append(append(b, `"model":`...), w.latest.model...), ',')
	}
	if !wire.IsNull(w.latest.created) {
		b = append(append(append(b, `"created_at":`...), w.latest.created...), ',')
	}
	if w.latest.chat {
		b = append(wire.AppendText(append(b, `"message":{"role":"assistant","content":`...), text), '}')
	} else {
		b = wire.AppendText(append(b, `"response":`...), text)
	}
	return wire.AppendLine(nil, append(b, `,"done":false}`...))
}

// apart returns a text of our own as it is to follow what was written.
func (w *writer) apart(text string) string {
	if w.text {
		text = wire.Apart + text
	}
	w.text = true
	return text + "\n"
}

// reply returns a reply as it is to be sent, and whether that differs from how
// it came.
func (w *writer) reply(r *reply, data []byte) (out []byte, changed bool) {
	w.latest, w.text = r, w.text || r.text
	before := w.refused
	text, left := "", make([][]byte, len(r.calls))
	for i, c := range r.calls {
		if word := wire.Word(c.verdict); word != "" {
			text += w.apart(word)
		}
		if !c.verdict.Release {
			w.refused++
			continue
		}
		left[i] = c.written(w.refused)
	}
	if text == "" && before == w.refused && asTheyCame(r.calls, left) {
		return data, false
	}
	if !r.chat {
		return withText(data, "response", text, left), true
	}
	return wire.RewriteMembers(data, func(m wire.Member) []byte {
		if string(m.Name) == "message" {
			return withText(m.Value, "content", text, left)
		}
		return m.Value
	}), true
}

func asTheyCame(calls []*call, left [][]byte) bool {
	for i, c := range calls {
		if string(c.raw) != string(left[i]) {
			return false
		}
	}
	return true
}

// written returns a call as it is to be sent, with its number lower by the
// calls that were refused before it.
func (c *call) written(refused int) []byte {
	if refused == 0 && c.verdict.Arguments == nil {
		return c.raw
	}
	return wire.RewriteMembers(c.raw, func(m wire.Member) []byte {
		if string(m.Name) != "function" {
			return m.Value
		}
		found := false
		out := wire.RewriteMembers(m.Value, func(m wire.Member) []byte {
			switch string(m.Name) {
			case "index":
				if n, err := wire.Ordinal(m.Value); err == nil && refused > 0 {
					return strconv.AppendInt(nil, int64(max(0, n-refused)), 10)
				}
			case "arguments":
				if found = true; c.verdict.Arguments != nil {
					return c.verdict.Arguments
				}
			}
			return m.Value
		})
		if !found && c.verdict.Arguments != nil {
			return wire.AppendMember(out, "arguments", c.verdict.Arguments)
		}
		return out
	})
}

// withText returns an object with more text in one member, and with the calls
// that are left: those that are nil go.
func withText(object []byte, member, text string, left [][]byte) []byte {
	added := text == ""
	calls := false
	for _, c := range left {
		calls = calls || c != nil
	}
	out := wire.RewriteMembers(object, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "tool_calls":
			if !calls {
				return nil
			}
			return wire.RewriteElements(m.Value, func(n int, _ []byte) []byte { return left[n] })
		case member:
			if added {
				return m.Value
			}
			added = true
			quoted := wire.AppendText(nil, text)
			if wire.IsNull(m.Value) {
				return quoted
			}
			return append(append([]byte(nil), m.Value[:len(m.Value)-1]...), quoted[1:]...)
		}
		return m.Value
	})
	if !added {
		return wire.AppendMember(out, member, wire.AppendText(nil, text))
	}
	return out
}
