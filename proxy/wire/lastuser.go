package wire

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSaid bounds the text of one message that [LastUser] takes, in bytes.
const maxSaid = 4 << 10

// LastUser is the last message of a model request that its user has written, in
// any of the formats: the text of the last member of messages, input or contents
// whose role is "user" and that has more than results of tools. What agents put
// into it by themselves in tags is left out. It is for people to read, and says
// nothing where the request cannot be read.
func LastUser(body []byte) (said string) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		key := name.String()
		if key != "messages" && key != "input" && key != "contents" {
			if dec.SkipValue() != nil {
				return ""
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return ""
		}
		if text := lastOf(v.Clone()); text != "" {
			said = text
		}
	}
	return said
}

// lastOf is the last that a user says in a list of messages, or a text that is all
// the input there is.
func lastOf(v jsontext.Value) (said string) {
	if text, ok := textOf(v); ok {
		return spoken(text)
	}
	for _, message := range elements(v) {
		role, content := "", ""
		fields(message, func(name string, v jsontext.Value) {
			switch name {
			case "role":
				role, _ = textOf(v)
			case "content", "parts":
				content = partsOf(v)
			}
		})
		if content = spoken(content); role == "user" && content != "" {
			said = content
		}
	}
	return said
}

// partsOf is the text of a message's content: a text, or a list of parts.
func partsOf(v jsontext.Value) string {
	if text, ok := textOf(v); ok {
		return text
	}
	var all []string
	for _, part := range elements(v) {
		fields(part, func(name string, v jsontext.Value) {
			if text, ok := textOf(v); ok && name == "text" && !tagged(text) {
				all = append(all, text)
			}
		})
	}
	return strings.Join(all, "\n")
}

// inserted is what agents put into a user's message by themselves, such as
// <system-reminder>.
var inserted = regexp.MustCompile(`(?s)<(system-reminder|environment_context|environment_details|user_instructions|local-command-stdout|command-name|context)>.*?</(system-reminder|environment_context|environment_details|user_instructions|local-command-stdout|command-name|context)>`)

// tagged reports whether a part of a message is one that an agent has put in, all of it
// between tags of two words, such as <session_context>.
func tagged(text string) bool {
	name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "<"), ">")
	return ok && strings.ContainsAny(name, "_-") && !strings.ContainsAny(name, " <\n") &&
		strings.HasPrefix(strings.TrimSpace(text), "<"+name+">") && strings.HasSuffix(strings.TrimSpace(text), "</"+name+">")
}

func spoken(text string) string {
	text = strings.TrimSpace(inserted.ReplaceAllString(text, ""))
	return strings.ToValidUTF8(text[:min(len(text), maxSaid)], "")
}

func textOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

// elements are the members of a list.
func elements(v jsontext.Value) (list []jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil
	}
	for k := dec.PeekKind(); k != ']' && k != 0; k = dec.PeekKind() {
		e, err := dec.ReadValue()
		if err != nil {
			return list
		}
		list = append(list, e.Clone())
	}
	return list
}

// fields calls yield for each member of an object.
func fields(v jsontext.Value, yield func(name string, v jsontext.Value)) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		yield(key, value)
	}
}
