package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A verdict is what becomes of a call that is written.
type verdict struct {
	holdgate.Verdict
	given bool // the call has been rendered
}

// settled returns the verdict that counts for a call: one that cannot be
// edited is refused rather than run with arguments that nobody approved, and a
// notice is never empty, for an empty text would make clients ask again.
func settled(it *item, v holdgate.Verdict) verdict {
	switch {
	case it.kind == kindObserved:
		v = holdgate.Verdict{Release: true}
	case v.Release && v.Arguments != nil && it.fixed:
		v = holdgate.Verdict{Notice: "[holdgate] The call to " + it.toolName() +
			" was not run: its arguments were edited, and a call of this kind has no place for others."}
	case !v.Release:
		v.Notice = wire.Word(v)
	}
	return verdict{Verdict: v, given: true}
}

// changes reports whether a call is written in another way than it came.
func (v verdict) changes() bool { return !v.Release || v.Arguments != nil || v.Note != "" }

// A message is an item that Holdgate puts into an answer.
type message struct{ id, text string }

// notice is the message in the place of a refused call.
func (c *call) notice() message {
	return message{messageID("", c.response, c.item.key(), c.index), c.verdict.Notice}
}

// note is the message before a released call.
func (c *call) note() message {
	return message{messageID("note_", c.response, c.item.key(), c.index), c.verdict.Note}
}

// messageID is the same for all copies of a call, in a stream and in a plain
// answer, and another one in every response. It is a digest, for the id of an
// mcp_approval_request lets whoever knows it have the tool run.
func messageID(what, response, key string, index int) string {
	sum := sha256.Sum256([]byte(response + "\x00" + key + "\x00" + strconv.Itoa(index)))
	return "msg_holdgate_" + what + hex.EncodeToString(sum[:12])
}

// item returns the message as it stands in a response.
func (m message) item() string { return m.json("completed", m.part(m.text)) }

func (m message) part(text string) string {
	return `{"type":"output_text","text":` + wire.Quote(text) + `,"annotations":[]}`
}

func (m message) json(status, content string) string {
	return `{"id":` + wire.Quote(m.id) + `,"type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]}`
}

// events returns the types and the data of the events in which a message is
// streamed; each lacks its sequence number, which comes after the type.
func (m message) events(index int) [][2]string {
	at := `,"output_index":` + strconv.Itoa(index)
	part := `,"item_id":` + wire.Quote(m.id) + at + `,"content_index":0`
	text := wire.Quote(m.text)
	return [][2]string{
		{itemAdded, at + `,"item":` + m.json("in_progress", "")},
		{partAdded, part + `,"part":` + m.part("")},
		{textDelta, part + `,"delta":` + text + `,"logprobs":[]`},
		{textDone, part + `,"text":` + text + `,"logprobs":[]`},
		{partDone, part + `,"part":` + m.part(m.text)},
		{itemDone, at + `,"item":` + m.item()},
	}
}

// withArguments returns a call's item with other arguments.
func (it *item) withArguments(arguments []byte) []byte {
	switch it.form {
	case formText:
		return wire.SetMember(it.raw, "arguments", []byte(wire.Quote(string(arguments))))
	case formObject:
		return wire.SetMember(it.raw, it.member, arguments)
	}
	// All members but those that name the item are its arguments.
	var all []string
	for _, object := range [][]byte{it.named(), arguments} {
		inside := strings.TrimSpace(string(object))
		if inside = strings.TrimSpace(inside[1 : len(inside)-1]); inside != "" {
			all = append(all, inside)
		}
	}
	return []byte("{" + strings.Join(all, ",") + "}")
}
