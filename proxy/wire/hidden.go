package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// HiddenCall reports a call inside a value in which a format has none: a member
// with the name that calls have in some format, or an object whose type is one of
// a call and that says what is to be done. Clients of more than one format may
// look for calls in many places. The value must have passed [Strict] or
// [StrictEvent]; what its strings say makes no difference.
func HiddenCall(value []byte) error {
	if !mayHideCall(value) {
		return nil
	}
	switch value[0] {
	case '[':
		return EachElement(value, HiddenCall)
	case '{':
	default:
		return nil
	}
	typed, does := false, false
	for m, err := range Members(value) {
		if err != nil {
			return err
		}
		name := plainName(m.Name)
		switch {
		case slices.Contains(callNames, name) && !IsEmpty(m.Value) && (m.Value[0] == '{' || m.Value[0] == '['):
			return fmt.Errorf("member %q looks like a call where none belongs", m.Name)
		case name == "type":
			typed = typed || isCallType(m.Value)
		case slices.Contains(doingNames, name):
			does = true
		}
		if err := HiddenCall(m.Value); err != nil {
			return err
		}
	}
	if typed && does {
		return fmt.Errorf("an object of type %.100s looks like a call where none belongs", Find(value, "type"))
	}
	return nil
}

// mayHideCall is a quick look at a value.
func mayHideCall(value []byte) bool {
	if len(value) <= len("{}") || value[0] != '{' && value[0] != '[' {
		return false
	}
	return bytes.IndexByte(value, '\\') >= 0 || MentionsCall(value) || containsFold(value, "tool_use") || containsFold(value, "tooluse")
}

var (
	callNames  = []string{"toolcall", "toolcalls", "functioncall", "functioncalls", "tooluse", "tooluses"}
	doingNames = []string{"name", "arguments", "args", "input", "parameters", "function", "action", "command"}
)

// plainName is a name without what the spellings of different formats differ in.
func plainName(name []byte) string {
	return strings.ToLower(strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == ' ' {
			return -1
		}
		return c
	}, string(name)))
}

// isCallType reports whether a type is that of something that a client runs.
func isCallType(value []byte) bool {
	text, err := Text(value)
	if err != nil {
		return false
	}
	name := plainName([]byte(text))
	return name != "servertooluse" && name != "mcptooluse" && (strings.HasSuffix(name, "call") || strings.HasSuffix(name, "tooluse"))
}
