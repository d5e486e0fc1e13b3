package audit

import "bytes"

// isCanonical reports whether valid JSON is what [holdgate.Canonical] would
// make of it: object keys sorted, no blanks, strings escaped as encoding/json
// does. It may say no of what is canonical in an unusual way (a key with an
// escape, an escaped character other than the common ones), never yes of what
// is not. It is some ten times faster than making the canonical form.
func isCanonical(raw []byte) bool {
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
