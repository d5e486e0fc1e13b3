package collect

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Suspicious notes which kinds of deceiving characters the text holds:
// characters that a screen shows as nothing, as a plain blank, or in another
// order than they are read.
func (x *Findings) Suspicious(s string) {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if kind := deceiving(r); kind != "" && !slices.Contains(x.Facts.SuspiciousText, kind) {
			x.Facts.SuspiciousText = append(x.Facts.SuspiciousText, kind)
		}
	}
}

// deceiving names the kind of a character that hides or lies, or "".
func deceiving(r rune) string {
	switch {
	case r == '\r':
		return "carriage_return"
	case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r <= 0x9f:
		return "control"
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return "bidi"
	case r >= 0x200b && r <= 0x200d, r >= 0x2060 && r <= 0x2064, r == 0xfeff, r == 0x00ad, r == 0x180e:
		return "zero_width"
	case r >= 0xe0000 && r <= 0xe007f:
		return "tag"
	case r >= 0xfe00 && r <= 0xfe0e, r >= 0xe0100 && r <= 0xe01ef:
		return "variation_selector"
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800:
		return "blank"
	case r != ' ' && unicode.Is(unicode.Zs, r), r == 0x2028, r == 0x2029:
		return "unusual_space"
	case r == utf8.RuneError:
		return "invalid"
	}
	return ""
}

// mixedScript reports whether a host name mixes Latin letters with those of
// scripts that look like them.
func mixedScript(host string) bool {
	latin := strings.ContainsFunc(host, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	other := strings.ContainsFunc(host, func(r rune) bool {
		return unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
	})
	return latin && other
}
