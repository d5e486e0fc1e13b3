package grammar

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxBraces is how many words one brace expansion may make.
	MaxBraces = 64
	// MaxNestedBraces is how many braces one word may open: taking them apart
	// costs more than their square.
	MaxNestedBraces = 32
)

// Unescape takes the backslashes out of unquoted text, and reports whether a
// pattern character stands there unescaped.
func Unescape(v string) (text string, glob bool) {
	if !strings.ContainsAny(v, `\*?[`) {
		return v, false
	}
	var sb strings.Builder
	for i := 0; i < len(v); i++ {
		switch c := v[i]; c {
		case '\\':
			if i++; i < len(v) && v[i] != '\n' {
				sb.WriteByte(v[i])
			}
		case '*', '?', '[':
			// A lone bracket is the test command, not a pattern.
			glob = glob || c != '[' || strings.Contains(v[i:], "]")
			sb.WriteByte(c)
		default:
			sb.WriteByte(c)
		}
	}
	return sb.String(), glob
}

// QuotedDelimiter reports whether a here-document's delimiter is quoted, so
// that its body is taken as it stands.
func QuotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); !ok || strings.Contains(l.Value, `\`) {
			return true
		}
	}
	return false
}

// IsVariable reports whether the text is a plain name of a variable.
func IsVariable(text string) bool {
	return text != "" && (text[0] < '0' || text[0] > '9') && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
