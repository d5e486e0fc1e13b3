package holdgate

import (
	"fmt"
	"unicode/utf8"
)

// VisibleJSON returns a JSON text with the characters that are not plainly visible
// written as \u escapes: it means the same. Outside of strings JSON has none of them
// but line feeds.
func VisibleJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf && r != 0x7f, Visible(string(r)) == string(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}
