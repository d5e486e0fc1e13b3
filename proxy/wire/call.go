package wire

import (
	"encoding/json"
	"strings"

	"github.com/holdgate/holdgate"
)

// TextCall returns a call as policy sees it, of a format that has the arguments as a
// text. Where the text says nothing, clients run the call with {}.
func TextCall(id, name, arguments string) *holdgate.Call {
	t := &holdgate.Tool{Name: name}
	switch text := strings.Trim(arguments, " \t\r\n"); {
	case text == "":
		t.Arguments = json.RawMessage("{}")
	case text[0] == '{' && Strict([]byte(text)) == nil:
		t.Arguments = json.RawMessage(text)
	default:
		t.ArgumentsRaw = arguments
	}
	return &holdgate.Call{ID: id, Kind: holdgate.KindToolCall, Tool: t}
}

// Word returns what a verdict says to the agent in the place of a call, or before it: a
// notice, or a note. A call is never refused without a word: without any text clients
// ask again.
func Word(v holdgate.Verdict) string {
	switch {
	case v.Release:
		return v.Note
	case v.Notice == "":
		return Mark + "This call was not run."
	}
	return v.Notice
}
