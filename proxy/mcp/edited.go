package mcp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// WithArguments returns the body of a POST, as [Parse] read it, with other
// arguments in some of its tool calls: arguments[i] are those of message i, and
// nil leaves a message as it came. All other bytes stay.
func WithArguments(body []byte, batch bool, arguments [][]byte) []byte {
	if !batch {
		return withArguments(body, arguments[0])
	}
	return wire.RewriteElements(body, func(n int, message []byte) []byte {
		return withArguments(message, arguments[n])
	})
}

func withArguments(message, arguments []byte) []byte {
	if arguments == nil {
		return message
	}
	return wire.RewriteMembers(message, func(m wire.Member) []byte {
		if string(m.Name) != "params" {
			return m.Value
		}
		return setMember(m.Value, "arguments", arguments)
	})
}

// setMember returns the object with a member that has this value; it is added
// where there was none.
func setMember(object []byte, name string, value []byte) []byte {
	found := false
	out := wire.RewriteMembers(object, func(m wire.Member) []byte {
		if string(m.Name) == name {
			found = true
			return value
		}
		return m.Value
	})
	if !found {
		return wire.AppendMember(object, name, value)
	}
	return out
}

// paramHeader begins the headers that mirror arguments of a tool call.
const paramHeader = "Mcp-Param-"

// MirrorArguments keeps the headers that mirror arguments (revision 2026-07-28,
// x-mcp-header) in step with arguments that a person has put in place of
// others: a server refuses a call whose headers and body differ.
//
// Which argument a header mirrors only the tool's definition says, so it is
// found by the value. Where several arguments have had that value, and not all
// of them the same one now, it is not known, and an error. A header that
// mirrors no argument stays, for its server to judge.
func MirrorArguments(h http.Header, before, after []byte) error {
	for key, values := range h {
		if !strings.HasPrefix(key, paramHeader) {
			continue
		}
		said := decodeHeader(strings.Join(values, ","))
		text, found, err := mirrored(before, after, said)
		switch {
		case err != nil:
			return fmt.Errorf("keeping header %s in step: %w", key, err)
		case !found:
		case text == nil:
			h.Del(key)
		case *text != said:
			h.Set(key, encodeHeader(*text))
		}
	}
	return nil
}

// mirrored returns what the arguments that had the value said have now; text is
// nil where they have gone, and found is false where there are none.
func mirrored(before, after []byte, said string) (text *string, found bool, err error) {
	for m, err := range wire.Members(before) {
		if err != nil {
			return nil, false, err
		}
		now := wire.Find(after, string(m.Name))
		var t *string
		var ok bool
		if m.Value[0] == '{' {
			if t, ok, err = mirrored(m.Value, now, said); err != nil {
				return nil, false, err
			}
		} else if ok = says(m.Value, said); ok {
			t, err = scalar(now)
		}
		switch {
		case err != nil:
			return nil, false, fmt.Errorf("argument %s: %w", m.Name, err)
		case ok && found && !same(t, text):
			return nil, false, fmt.Errorf("several arguments were %.50q, and are different now", said)
		case ok:
			text, found = t, true
		}
	}
	return text, found, nil
}

// says reports whether an argument is what a header says; numbers are compared
// as numbers, as servers do.
func says(value []byte, said string) bool {
	t, err := scalar(value)
	if err != nil || t == nil || *t == said {
		return err == nil && t != nil
	}
	if value[0] == '"' {
		return false
	}
	a, errA := strconv.ParseFloat(*t, 64)
	b, errB := strconv.ParseFloat(said, 64)
	return errA == nil && errB == nil && a == b
}

// scalar returns an argument as a header has it: nil where it is absent or
// null, and an error where it is a list or an object.
func scalar(value []byte) (*string, error) {
	if value == nil || string(value) == "null" {
		return nil, nil
	}
	text := string(value)
	switch value[0] {
	case '{', '[':
		return nil, fmt.Errorf("a header cannot say %s", wire.KindOf(value))
	case '"':
		var err error
		if text, err = wire.Text(value); err != nil {
			return nil, err
		}
	}
	return &text, nil
}

func same(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// encodeHeader is the inverse of decodeHeader: what does not fit into a header,
// or looks encoded already, is encoded.
func encodeHeader(text string) string {
	odd := strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
	if !odd && text == strings.TrimSpace(text) && decodeHeader(text) == text && !strings.HasPrefix(text, "=?base64?") {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}
