// Package python reads Python into a tree. It is strict: what it does not know, and what
// could be read in more ways than one, is an error.
package python

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokNewline
	tokIndent
	tokDedent
	tokName
	tokNumber
	tokString
	tokOp
)

type token struct {
	kind tokenKind
	text string // of a string what stands between its quotes, as written
	pre  string // a string's prefix, in small letters
	line int
}

// asSyntaxError is what a reader has given up with; it panics again with
// anything else.
func asSyntaxError(recovered any) error {
	switch e := recovered.(type) {
	case nil:
		return nil
	case tree.SyntaxError:
		return e
	}
	panic(recovered)
}

// operators are the operators, the longest first.
var operators = strings.Fields("**= //= >>= <<= ... -> := == != <= >= += -= *= /= %= &= |= ^= @= ** // << >> ( ) [ ] { } , : . ; @ = + - * / % & | ^ ~ < >")

var number = lazyregexp.New(`^(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:[0-9](?:_?[0-9])*)?\.?(?:[0-9](?:_?[0-9])*)?(?:[eE][-+]?[0-9](?:_?[0-9])*)?[jJ]?)`)

// A lexer splits Python into tokens as CPython does. What CPython reads
// in more ways than one (other line ends, tabs against blanks, letters outside
// of ASCII in names, declared encodings) is an error.
type lexer struct {
	src    string
	at     int
	line   int
	open   []byte // brackets
	indent []int
	tokens []token
}

func lex(src string) (tokens []token, err error) {
	l := &lexer{src: src, line: 1, indent: []int{0}}
	defer func() {
		err = asSyntaxError(recover())
	}()
	if !utf8.ValidString(src) {
		l.fail("bytes that are no UTF-8")
	}
	if i := strings.IndexFunc(src, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\ufeff' || r == '\u2028' || r == '\u2029' || r == '\u0085'
	}); i >= 0 {
		l.fail("a control character")
	}
	l.all()
	return l.tokens, nil
}

func (l *lexer) fail(format string, args ...any) {
	panic(tree.SyntaxError{Line: l.line, What: fmt.Sprintf(format, args...)})
}

func (l *lexer) add(kind tokenKind, text string) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, line: l.line})
}

func (l *lexer) all() {
	fresh := true // at the beginning of a line
	for l.at < len(l.src) {
		if fresh && len(l.open) == 0 {
			if !l.indentation() {
				continue // nothing on this line
			}
			fresh = false
		}
		switch c := l.src[l.at]; {
		case c == '\n':
			l.at++
			if len(l.open) == 0 {
				l.add(tokNewline, "")
				fresh = true
			}
			l.line++
		case c == ' ' || c == '\t':
			l.at++
		case c == '#':
			l.comment()
		case c == '\\':
			if !strings.HasPrefix(l.src[l.at:], "\\\n") || l.at+2 == len(l.src) {
				l.fail("a backslash")
			}
			l.at += 2
			l.line++
		case c == '"' || c == '\'':
			l.str("")
		case isLetter(c):
			l.word()
		case isDigit(c) || c == '.' && l.at+1 < len(l.src) && isDigit(l.src[l.at+1]):
			l.number()
		default:
			l.operator()
		}
	}
	if len(l.open) > 0 {
		l.fail("a bracket that is not closed")
	}
	if !fresh {
		l.add(tokNewline, "")
	}
	for range l.indent[1:] {
		l.add(tokDedent, "")
	}
	l.add(tokEnd, "")
}

// indentation reads the beginning of a line, and reports whether there is more
// on it than blanks and a comment.
func (l *lexer) indentation() bool {
	begin := l.at
	for l.at < len(l.src) && (l.src[l.at] == ' ' || l.src[l.at] == '\t') {
		l.at++
	}
	if l.at == len(l.src) {
		return false
	}
	switch l.src[l.at] {
	case '#':
		l.comment()
		return false
	case '\n':
		l.at++
		l.line++
		return false
	case '\\':
		l.fail("a backslash at the beginning of a line")
	}
	blanks := l.src[begin:l.at]
	width := len(blanks)
	if tabs := strings.TrimLeft(blanks, "\t"); strings.Contains(blanks, "\t") {
		if tabs != "" {
			l.fail("tabs and blanks mixed")
		}
		width *= 1 << 16 // tabs compare with tabs alone
	}
	top := l.indent[len(l.indent)-1]
	switch {
	case width > top:
		if top > 0 && (top >= 1<<16) != (width >= 1<<16) {
			l.fail("tabs and blanks mixed")
		}
		l.indent = append(l.indent, width)
		if len(l.indent) > tree.MaxNesting {
			l.fail("nested too deep")
		}
		l.add(tokIndent, "")
	case width < top:
		for len(l.indent) > 1 && l.indent[len(l.indent)-1] > width {
			l.indent = l.indent[:len(l.indent)-1]
			l.add(tokDedent, "")
		}
		if l.indent[len(l.indent)-1] != width {
			l.fail("an indentation that matches none before")
		}
	}
	return true
}

func (l *lexer) comment() {
	end := strings.IndexByte(l.src[l.at:]+"\n", '\n')
	if text := l.src[l.at : l.at+end]; l.line <= 2 && strings.Contains(text, "coding") {
		l.fail("a declared encoding")
	}
	l.at += end
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) word() {
	end := l.at
	for end < len(l.src) && (isLetter(l.src[end]) || isDigit(l.src[end])) {
		end++
	}
	w := l.src[l.at:end]
	if end < len(l.src) && (l.src[end] == '"' || l.src[end] == '\'') {
		l.at = end
		l.str(strings.ToLower(w))
		return
	}
	l.add(tokName, w)
	l.at = end
}

func (l *lexer) number() {
	n := number.FindString(l.src[l.at:])
	end := l.at + len(n)
	if n == "" || end < len(l.src) && (isLetter(l.src[end]) || isDigit(l.src[end])) {
		l.fail("a number that runs into a word")
	}
	l.add(tokNumber, n)
	l.at = end
}

func (l *lexer) operator() {
	for _, o := range operators {
		if !strings.HasPrefix(l.src[l.at:], o) {
			continue
		}
		switch o {
		case "(", "[", "{":
			l.open = append(l.open, o[0])
			if len(l.open) > tree.MaxNesting {
				l.fail("nested too deep")
			}
		case ")", "]", "}":
			want := map[string]byte{")": '(', "]": '[', "}": '{'}[o]
			if len(l.open) == 0 || l.open[len(l.open)-1] != want {
				l.fail("a bracket that was not opened")
			}
			l.open = l.open[:len(l.open)-1]
		}
		l.add(tokOp, o)
		l.at += len(o)
		return
	}
	l.fail("%q", l.src[l.at])
}

// str reads a string literal, whose prefix was read.
func (l *lexer) str(prefix string) {
	switch prefix {
	case "", "r", "b", "u", "f", "br", "rb", "fr", "rf":
	default:
		l.fail("a string with the prefix %s", prefix)
	}
	first := l.line
	quote := l.src[l.at : l.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.src[l.at:], triple) {
		quote = triple
	}
	begin := l.at + len(quote)
	if strings.Contains(prefix, "f") {
		end, ok := skipFormatted(l.src, begin, quote)
		if !ok {
			l.fail("an f-string that does not end, or is not read")
		}
		text := l.src[begin : end-len(quote)]
		l.tokens = append(l.tokens, token{kind: tokString, text: text, pre: prefix, line: first})
		l.line += strings.Count(text, "\n")
		l.at = end
		return
	}
	for i := begin; i < len(l.src); i++ {
		switch {
		case l.src[i] == '\\' && i+1 < len(l.src):
			if i++; l.src[i] == '\n' {
				l.line++
			}
		case strings.HasPrefix(l.src[i:], quote):
			l.tokens = append(l.tokens, token{kind: tokString, text: l.src[begin:i], pre: prefix, line: first})
			l.at = i + len(quote)
			return
		case l.src[i] == '\n':
			if len(quote) == 1 {
				l.fail("a string that does not end on its line")
			}
			l.line++
		}
	}
	l.fail("a string that does not end")
}

// unescaped reads the escapes of a string. It reports false where the text is
// not known.
func unescaped(s, prefix string) (string, bool) {
	if strings.Contains(prefix, "r") || !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte("abfnrtv\\'\"", s[i]); at >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v\\'\""[at])
			continue
		}
		digits, base := 0, 16
		switch s[i] {
		case '\n':
			continue
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case 'N':
			return "", false
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base = 8
			for digits < 3 && i+digits < len(s) && s[i+digits] >= '0' && s[i+digits] <= '7' {
				digits++
			}
			i--
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
			continue
		}
		if i+1+digits > len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+1+digits], base, 32)
		if err != nil || n > utf8.MaxRune {
			return "", false
		}
		b.WriteRune(rune(n))
		i += digits
	}
	return b.String(), true
}
