package briefing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A member is one of the arguments.
type member struct {
	name   string
	text   string // where it is a string
	isText bool
	raw    jsontext.Value
}

// members reads the arguments in their order.
func members(raw []byte) ([]member, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	var ms []member
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: name.String()}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		m.raw = v.Clone()
		if v.Kind() == '"' {
			text, err := jsontext.AppendUnquote(nil, v)
			if err != nil {
				return nil, false
			}
			m.text, m.isText = string(text), true
		}
		ms = append(ms, m)
	}
	_, err := dec.ReadToken()
	return ms, err == nil
}

// json is the member's value over several lines, numbers as they were written.
func (m member) json() string {
	v := m.raw.Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(m.raw)
	}
	return string(v)
}

// shown is the member as a person reads it.
func (m member) shown() string {
	if m.isText {
		return m.text
	}
	return m.json()
}

// lines is the value alone: text as it reads, a list of words as a shell would
// take them, anything else as JSON.
func (m member) lines() []string {
	text := m.shown()
	if words, ok := texts(m.raw); ok {
		text = strings.Join(words, " ")
	}
	return strings.Split(text, "\n")
}

// listed shows members by name, a value of several lines below its name.
func listed(ms []member) (lines []string) {
	for _, m := range ms {
		text := m.shown()
		if !strings.Contains(text, "\n") {
			lines = append(lines, m.name+": "+text)
			continue
		}
		lines = append(lines, m.name+":")
		for l := range strings.SplitSeq(text, "\n") {
			lines = append(lines, "  "+l)
		}
	}
	return lines
}

// splitMembers parts the members that have one of the names from the others.
func splitMembers(ms []member, names ...string) (taken, rest []member) {
	for _, m := range ms {
		if slices.Contains(names, m.name) {
			taken = append(taken, m)
		} else {
			rest = append(rest, m)
		}
	}
	return taken, rest
}

// find returns the argument of that name as text; a list of texts counts, as
// words of a command do.
func find(ms []member, names ...string) (string, bool) {
	for _, name := range names {
		for _, m := range ms {
			if m.name != name {
				continue
			}
			if m.isText && m.text != "" {
				return m.text, true
			}
			if words, ok := texts(m.raw); ok {
				return strings.Join(words, " "), true
			}
		}
	}
	return "", false
}

func texts(raw jsontext.Value) ([]string, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	var words []string
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		word := t.String()
		if word == "" || strings.ContainsAny(word, " \t\n\"'") {
			word = strconv.Quote(word)
		}
		words = append(words, word)
	}
	return words, dec.PeekKind() == ']' && len(words) > 0
}

// objects reads a list of objects.
func objects(raw jsontext.Value) (list [][]member, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	for dec.PeekKind() == '{' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		ms, ok := members(v)
		if !ok {
			return nil, false
		}
		list = append(list, ms)
	}
	return list, dec.PeekKind() == ']'
}
