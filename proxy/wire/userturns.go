package wire

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// UserTurns are the messages of a model request that its user has written, in their order,
// each whole: the text of a message of the role "user" that has more than results of
// tools and what agents are known to put beside those. Where that is in doubt it is the
// user's: a task then ends early, and never late. One without text, such as a picture,
// counts as "". None is returned where the request cannot be read, or where it does not show the
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
		return []string{byUser(text)}
	}
	for _, message := range elements(v) {
		role, text, written, parts := "", "", true, false
		fields(message, func(name string, v jsontext.Value) {
			switch name {
			case "role":
				role, _ = textOf(v)
			case "content", "parts":
				text, written = writtenIn(v)
				parts = parts || name == "parts" // Gemini takes who has no role for the user
			}
		})
		if written && (role == "user" || role == "" && parts) {
			turns = append(turns, text)
		}
	}
	return turns
}

// byUser is a text without what agents put beside results of tools by themselves, and not
// without what they hand on of the user's.
func byUser(text string) string {
	return strings.TrimSpace(reminder.ReplaceAllStringFunc(text, func(part string) string {
		if ofTheUser.MatchString(part) {
			return part
		}
		return ""
	}))
}

var (
	reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>|<environment_context>.*?</environment_context>|<environment_details>.*?</environment_details>`)
	// ofTheUser is in a reminder that has what the user says while the agent works.
	ofTheUser = regexp.MustCompile(`(?i)\buser('s)?\b[^.<>]{0,60}\b(sent|sends|says?|said|wrote|writes|typed|asks|asked|messages?|prompts?|interrupted)\b|<user`)
)

// handedOn are members that a part of a message has where it is no user's: results of
// tools, and marks for the provider's cache.
var handedOn = []string{"tool_result", "toolResult", "functionResponse", "function_response", "cachePoint"}

// writtenIn is the text that a user has written in a message's content, and whether there
// is anything of the user's in it.
func writtenIn(content jsontext.Value) (text string, written bool) {
	if whole, ok := textOf(content); ok {
		text = byUser(whole)
		return text, text != "" || whole == ""
	}
	var all []string
	for _, part := range elements(content) {
		words, isText, results := "", false, false
		fields(part, func(name string, v jsontext.Value) {
			switch name {
			case "text":
				words, isText = textOf(v)
			case "type":
				typ, _ := textOf(v)
				results = results || slices.Contains(handedOn, typ)
			default:
				results = results || slices.Contains(handedOn, name)
			}
		})
		if words = byUser(words); words != "" {
			all = append(all, words)
		}
		written = written || !isText && !results
	}
	return strings.Join(all, "\n"), written || len(all) > 0
}
