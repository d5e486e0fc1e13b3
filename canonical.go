package holdgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns JSON with sorted object keys, no blanks, and numbers as
// they were written. The input must be one JSON value; where keys are
// duplicated the result means nothing, so check first.
func Canonical(raw []byte) ([]byte, error) {
	if canon, ok := StrictCanonical(raw); ok {
		return canon, nil
	}
	return rewrite(raw)
}

// asWritten formats a value as encoding/json writes what it has decoded, and keeps its
// numbers as they are. It sorts keys as RFC 8785 does, by UTF-16: see [otherOrder].
var asWritten = jsontext.ReorderRawObjects(true)

// StrictCanonical is [Canonical] for strict JSON: valid UTF-8, and no key twice.
// It is faster, and gives up (ok is false) at all else.
func StrictCanonical(raw []byte) (canon []byte, ok bool) {
	canon, err := jsontext.AppendFormat(make([]byte, 0, len(raw)), raw, asWritten, jsontext.EscapeForJS(true))
	return canon, err == nil && !otherOrder(canon)
}

// otherOrder reports whether keys may have another order by UTF-16 than by their
// bytes, which is how they are stored: where one has a character beyond U+FFFF, and one
// of the last before that.
func otherOrder(canon []byte) bool {
	return bytes.ContainsFunc(canon, func(r rune) bool { return r > 0xffff }) &&
		bytes.ContainsFunc(canon, func(r rune) bool { return r >= 0xe000 && r <= 0xffff })
}

// rewrite is Canonical for what is in another form.
func rewrite(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// IsCanonical reports whether valid JSON is what [Canonical] would
// make of it: object keys sorted, no blanks, strings escaped as encoding/json
// does. It may say no of what is canonical in an unusual way (a key with an
// escape, an escaped character other than the common ones), never yes of what
// is not. It is some ten times faster than making the canonical form.
func IsCanonical(raw []byte) bool {
	type level struct {
		object bool
		atKey  bool
		key    []byte // the last one
	}
	stack := make([]level, 1, 16)
	for i := 0; i < len(raw); i++ {
		top := &stack[len(stack)-1]
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
			return false
		case '{':
			stack = append(stack, level{object: true, atKey: true})
		case '[':
			stack = append(stack, level{})
		case '}', ']':
			if len(stack) == 1 {
				return false
			}
			stack = stack[:len(stack)-1]
		case ',':
			top.atKey = top.object
		case '"':
			n, plain, ok := scanString(raw[i+1:])
			if !ok {
				return false
			}
			if top.atKey {
				key := raw[i+1 : i+1+n]
				if !plain || top.key != nil && bytes.Compare(top.key, key) >= 0 {
					return false
				}
				top.key, top.atKey = key, false
			}
			i += n + 1
		}
	}
	return len(stack) == 1
}

// scanString looks at a string behind its opening quote. It returns how many
// bytes come before the closing one, whether there is no escape among them,
// and whether each is written as encoding/json writes it.
func scanString(s []byte) (n int, plain, ok bool) {
	plain = true
	for ; n < len(s); n++ {
		switch c := s[n]; {
		case c == '"':
			return n, plain, true
		case c < ' ':
			return 0, false, false
		case c == '\\':
			plain = false
			if n++; n == len(s) || bytes.IndexByte([]byte(`"\bfnrt`), s[n]) < 0 {
				return 0, false, false
			}
		case c == 0xe2 && n+2 < len(s) && s[n+1] == 0x80 && s[n+2]&^1 == 0xa8:
			return 0, false, false // U+2028 and U+2029 are escaped there
		}
	}
	return 0, false, false
}
