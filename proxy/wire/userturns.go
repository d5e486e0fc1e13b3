package wire

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// UserTurns are the messages of a model request that its user has written, in their order,
// each whole: the text of a message of the role "user" that has more than results of
// tools and what agents put in by themselves. One without text, such as a picture, counts
// as "". None is returned where the request cannot be read, or where it does not show the
// conversation from its beginning because the provider keeps it.
func UserTurns(body []byte) (turns []string) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	lists := 0
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		switch key {
		case "previous_response_id", "conversation", "previous_interaction_id":
			if v.Kind() != 'n' {
				return nil
			}
		case "messages", "input", "contents":
			lists++
			turns = turnsOf(v.Clone())
		}
	}
	if _, err := dec.ReadToken(); err != nil || lists != 1 {
		return nil
	}
	return turns
}

// turnsOf are the user's messages in a list of messages, or a text that is all the input
// there is.
func turnsOf(v jsontext.Value) (turns []string) {
	if text, ok := textOf(v); ok {
		return []string{own(text)}
	}
	for _, message := range elements(v) {
		role, text, written := "", "", false
		fields(message, func(name string, v jsontext.Value) {
			switch name {
			case "role":
				role, _ = textOf(v)
			case "content", "parts":
				text, written = writtenIn(v)
			}
		})
		if role == "user" && written {
			turns = append(turns, text)
		}
	}
	return turns
}

// own is a text without what agents put into it by themselves.
func own(text string) string { return strings.TrimSpace(inserted.ReplaceAllString(text, "")) }

// handedOn are members that a part of a message has where it is no user's: results of
// tools, and marks for the provider's cache.
var handedOn = []string{"tool_result", "toolResult", "functionResponse", "function_response", "cachePoint"}

// writtenIn is the text that a user has written in a message's content, and whether there
// is anything of the user's in it.
func writtenIn(content jsontext.Value) (text string, written bool) {
	if text, ok := textOf(content); ok {
		text = own(text)
		return text, text != ""
	}
	var all []string
	for _, part := range elements(content) {
		said, isText, results := "", false, false
		fields(part, func(name string, v jsontext.Value) {
			switch name {
			case "text":
				said, isText = textOf(v)
			case "type":
				typ, _ := textOf(v)
				results = results || slices.Contains(handedOn, typ)
			default:
				results = results || slices.Contains(handedOn, name)
			}
		})
		if isText && !tagged(said) {
			if said = own(said); said != "" {
				all = append(all, said)
			}
		}
		written = written || !isText && !results
	}
	return strings.Join(all, "\n"), written || len(all) > 0
}
