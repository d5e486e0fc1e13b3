package wire

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
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
	return hiddenIn(value)
}

func hiddenIn(value []byte) error {
	switch {
	case len(value) <= len("{}"):
		return nil
	case value[0] == '[':
		return EachElement(value, hiddenIn)
	case value[0] != '{':
		return nil
	}
	typed, does := false, false
	for m, err := range Members(value) {
		if err != nil {
			return err
		}
		switch wordOf(m.Name) {
		case aType:
			typed = typed || isCallType(m.Value)
		case aDoing:
			does = true
		}
		if err := hiddenMember(m); err != nil {
			return err
		}
	}
	if typed && does {
		return fmt.Errorf("an object of type %.100s looks like a call where none belongs", Find(value, "type"))
	}
	return nil
}

// HiddenMember does for a member of an object what [HiddenCall] does for all of them.
func HiddenMember(m Member) error {
	if wordOf(m.Name) != aCall && !mayHideCall(m.Value) {
		return nil
	}
	return hiddenMember(m)
}

func hiddenMember(m Member) error {
	if wordOf(m.Name) == aCall && !IsEmpty(m.Value) && (m.Value[0] == '{' || m.Value[0] == '[') {
		return fmt.Errorf("member %q looks like a call where none belongs", m.Name)
	}
	return hiddenIn(m.Value)
}

// mayHideCall is a quick look at a value, which is all that most get: whether
// there is an escape, a "call", or a "tool" with a "u" behind it, in any case.
func mayHideCall(value []byte) bool {
	if len(value) <= len("{}") || value[0] != '{' && value[0] != '[' {
		return false
	}
	if bytes.IndexByte(value, '\\') >= 0 {
		return true
	}
	const either = len("call")
	for i := either - 1; i < len(value); i++ {
		switch value[i] | 0x20 { // where it is no letter of either word, neither lies over it
		case 'l':
			before := [3]byte{value[i-3] | 0x20, value[i-2] | 0x20, value[i-1] | 0x20}
			if before == [3]byte{'c', 'a', 'l'} || before == [3]byte{'t', 'o', 'o'} && bytes.ContainsAny(value[i+1:min(i+3, len(value))], "uU") {
				return true
			}
		case 'c', 'a', 't', 'o':
		default:
			i += either - 1
		}
	}
	return false
}

// A word is what the name of a member says, as far as it is of interest.
type word byte

const (
	anyWord word = iota
	aCall
	aType
	aDoing
)

var words = map[string]word{
	"toolcall": aCall, "toolcalls": aCall, "functioncall": aCall, "functioncalls": aCall, "tooluse": aCall, "tooluses": aCall,
	"type": aType,
	"name": aDoing, "arguments": aDoing, "args": aDoing, "input": aDoing, "parameters": aDoing, "function": aDoing, "action": aDoing, "command": aDoing,
}

// wordOf looks up the [plainName] of a member, without memory of its own.
func wordOf(name []byte) word {
	var plain [len("functioncalls")]byte
	n := 0
	for _, c := range string(name) {
		if c = plainLetter(c); c < 0 {
			continue
		}
		if n == len(plain) || c >= utf8.RuneSelf {
			return anyWord
		}
		plain[n] = byte(c)
		n++
	}
	return words[string(plain[:n])]
}

// plainLetter is a letter in lower case, as parsers for which case makes no
// difference read it, or -1 for what the spellings of formats differ in.
func plainLetter(c rune) rune {
	switch c {
	case '_', '-', ' ':
		return -1
	case '\u017f': // folds to s
		return 's'
	}
	return unicode.ToLower(c)
}

// plainName is a name without what the spellings of different formats differ in.
func plainName(name []byte) string {
	return strings.Map(plainLetter, string(name))
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
