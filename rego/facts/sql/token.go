package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// kind says what a token of SQL is.
type kind uint8

const (
	word   kind = iota // a keyword or a plain identifier, in lower case
	quoted             // an identifier in quotes
	str                // a string
	numeral
	mark // one character
)

type token struct {
	kind  kind
	text  string
	depth int // of parentheses around it
}

func (t token) is(words string) bool { return t.kind == word && wordlist.Has(words, t.text) }

func (t token) punct(c string) bool { return t.kind == mark && t.text == c }

// A lexer takes SQL apart, in the forms that PostgreSQL, MySQL, SQLite and
// SQL Server share. Where they would read a text differently, it takes the
// reading that shows more statements, and says so in odd.
type lexer struct {
	src    string
	pos    int
	depth  int
	tokens []token
	odd    []string
	tick   func()
}

func lex(src string, tick func()) ([]token, []string) {
	l := &lexer{src: src, tick: tick}
	for l.pos < len(l.src) {
		l.tick()
		l.next()
	}
	if l.depth != 0 {
		l.note("parentheses do not match")
	}
	return l.tokens, l.odd
}

func (l *lexer) note(s string) { l.odd = append(l.odd, s) }

func (l *lexer) add(kind kind, text string) {
	l.tokens = append(l.tokens, token{kind, text, l.depth})
}

func (l *lexer) rest() string { return l.src[l.pos:] }

func (l *lexer) next() {
	rest := l.rest()
	c := rest[0]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		l.pos++
	case strings.HasPrefix(rest, "--"):
		l.lineComment()
	case strings.HasPrefix(rest, "/*"):
		l.blockComment()
	case c == '\'':
		l.str(l.escapes())
	case c == '"' || c == '`':
		l.quoted(c)
	case c == '[' && l.bracketed():
	case c == '$' && l.dollarQuoted():
	case c >= '0' && c <= '9':
		n := 1
		for n < len(rest) && (wordByte(rest[n]) || rest[n] == '.' || rest[n] == '_') {
			n++
		}
		l.add(numeral, rest[:n])
		l.pos += n
	case c == '\\':
		if strings.HasPrefix(rest, `\G`) && (len(rest) == 2 || !wordByte(rest[2])) || strings.HasPrefix(rest, `\g`) && len(strings.TrimSpace(rest)) == 2 { // ends a statement, and says how its rows are shown
			l.add(mark, ";")
			l.pos += 2
			return
		}
		l.note("backslash command")
		l.pos++
	default:
		l.wordOrPunct(rest)
	}
}

func (l *lexer) wordOrPunct(rest string) {
	n := 0
	for n < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[n:])
		if !(r == '_' || unicode.IsLetter(r) || n > 0 && (unicode.IsDigit(r) || r == '$') || r == '@') || r == utf8.RuneError {
			break
		}
		n += size
	}
	if n > 0 {
		l.add(word, strings.ToLower(rest[:n]))
		l.pos += n
		return
	}
	_, size := utf8.DecodeRuneInString(rest)
	switch text := rest[:size]; text {
	case "(":
		l.add(mark, text)
		l.depth++
	case ")":
		l.depth--
		if l.depth < 0 {
			l.depth = 0
			l.note("parentheses do not match")
		}
		l.add(mark, text)
	case "#":
		l.note("# is a comment to some databases only")
		l.add(mark, text)
	default:
		if r, _ := utf8.DecodeRuneInString(text); unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			l.note("unusual blank")
			break
		}
		l.add(mark, text)
	}
	l.pos += size
}

// lineComment skips to the end of the line. MySQL wants a blank after the
// dashes; where there is none and a statement could hide, that is odd.
func (l *lexer) lineComment() {
	line, _, _ := strings.Cut(l.rest(), "\n")
	if len(line) > 2 && line[2] != ' ' && line[2] != '\t' && line[2] != '\r' && strings.Contains(line, ";") {
		l.note("-- without a blank is a comment to some databases only")
	}
	l.pos += len(line)
}

// blockComment skips a comment. MySQL runs what stands in /*! */, so that is
// read as text; PostgreSQL nests comments, the others do not.
func (l *lexer) blockComment() {
	rest := l.rest()
	if strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!") {
		l.note("comment that some databases run")
		n := strings.IndexByte(rest, '!') + 1
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if end := strings.Index(rest, "*/"); end >= n {
			inner, odd := lex(rest[n:end], l.tick)
			l.tokens, l.odd = append(l.tokens, inner...), append(l.odd, odd...)
			l.pos += end + 2
			return
		}
		l.pos += n
		return
	}
	end := strings.Index(rest[2:], "*/")
	if end < 0 {
		l.note("comment without an end")
		l.pos = len(l.src)
		return
	}
	if strings.Contains(rest[2:2+end], "/*") {
		l.note("comment inside of a comment")
	}
	l.pos += end + 4
}

// escapes reports whether the string at hand is PostgreSQL's E'...'.
func (l *lexer) escapes() bool {
	n := len(l.tokens)
	if n == 0 || l.pos == 0 || l.tokens[n-1].kind != word || !wordByte(l.src[l.pos-1]) {
		return false
	}
	t := l.tokens[n-1].text
	if t == "e" || t == "n" || t == "b" || t == "x" || t == "r" {
		l.tokens = l.tokens[:n-1]
		return t == "e"
	}
	return false
}

// str reads a string. A backslash before a quote ends the string to some
// databases and not to others: that is odd, unless it says which it is and no
// statement could hide behind it from those that know no such strings.
func (l *lexer) str(escapes bool) {
	rest := l.rest()
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			if escapes {
				i++
				if strings.HasPrefix(rest[i:], "'") && strings.Contains(rest[i:], "--") {
					l.note("backslash before a quote")
				}
			} else if i+1 < len(rest) && rest[i+1] == '\'' {
				l.note("backslash before a quote")
			}
		case '\'':
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			l.add(str, rest[1:i])
			l.pos += i + 1
			return
		}
	}
	l.note("string without an end")
	l.add(str, rest[1:])
	l.pos = len(l.src)
}

func (l *lexer) quoted(q byte) {
	rest := l.rest()
	for i := 1; i < len(rest); i++ {
		if rest[i] == '\\' && i+1 < len(rest) && rest[i+1] == q {
			l.note("backslash before a quote")
		}
		if rest[i] != q {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == q {
			i++
			continue
		}
		l.add(quoted, rest[1:i])
		l.pos += i + 1
		return
	}
	l.note("quoted name without an end")
	l.pos = len(l.src)
}

// bracketed reads SQL Server's [name]. After a name a bracket is a subscript.
func (l *lexer) bracketed() bool {
	if n := len(l.tokens); n > 0 {
		t := l.tokens[n-1]
		if t.kind == quoted || t.punct(")") || t.punct("]") || t.kind == word && !t.is(beforeName) {
			return false
		}
	}
	end := strings.IndexByte(l.rest(), ']')
	if end < 0 || strings.ContainsAny(l.rest()[1:end], "[',;\n(") {
		return false
	}
	l.add(quoted, l.rest()[1:end])
	l.pos += end + 1
	return true
}

// beforeName are words that a name follows.
const beforeName = "from join into update table delete select where exists view index database schema on set and or by truncate drop only"

// dollarQuoted reads PostgreSQL's $tag$...$tag$. MySQL knows no such thing,
// so text with a statement's end in it is odd.
func (l *lexer) dollarQuoted() bool {
	rest := l.rest()
	n := 1
	for n < len(rest) && (wordByte(rest[n]) || rest[n] == '_') {
		n++
	}
	if n >= len(rest) || rest[n] != '$' || n > 1 && rest[1] >= '0' && rest[1] <= '9' {
		return false
	}
	tag := rest[:n+1]
	end := strings.Index(rest[n+1:], tag)
	if end < 0 {
		l.note("dollar-quoted text without an end")
		l.pos = len(l.src)
		return true
	}
	body := rest[n+1 : n+1+end]
	if strings.Contains(body, ";") {
		l.note("statements inside of dollar-quoted text")
	}
	l.add(str, body)
	l.pos += 2*len(tag) + end
	return true
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
