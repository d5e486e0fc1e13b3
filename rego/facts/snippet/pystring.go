package snippet

import (
	"regexp"
	"strings"
)

// zeroPadded are formats that only numbers take.
var zeroPadded = regexp.MustCompile(`^:0?[0-9]*[dxX]$`)

// strings reads literals that stand side by side: they are one.
func (p *pythonParser) strings() *expr {
	var parts []*expr
	bytes := false
	for p.peek().kind == tokString {
		t := p.next()
		bytes = bytes || strings.Contains(t.pre, "b")
		if strings.Contains(t.pre, "f") {
			parts = append(parts, p.formatted(t)...)
			continue
		}
		if s, ok := pythonText(t.text, t.pre); ok {
			parts = append(parts, text(s))
		} else {
			parts = append(parts, data())
		}
	}
	switch {
	case bytes:
		return data(parts...)
	case len(parts) == 1 && parts[0].op == opText:
		return parts[0]
	}
	return &expr{op: opJoin, kids: parts}
}

// formatted reads an f-string. Python before 3.12 ends it at the first quote
// of its kind, later ones may not: only what both read alike comes through, for
// the braces must be balanced up to that quote.
func (p *pythonParser) formatted(t token) (parts []*expr) {
	s := t.text
	fail := func(what string) { panic(syntaxError{t.line, what + " in an f-string"}) }
	literal := func(s string) {
		if v, ok := pythonText(s, t.pre); ok {
			parts = append(parts, text(v))
		} else {
			fail("an escape by name")
		}
	}
	var plain strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case (c == '{' || c == '}') && strings.HasPrefix(s[i+1:], string(c)):
			plain.WriteByte(c)
			i += 2
		case c == '}':
			fail("a brace that was not opened")
		case c == '{':
			literal(plain.String())
			plain.Reset()
			end := p.replacementEnd(s[i+1:], fail)
			parts = append(parts, p.replacement(s[i+1:i+1+end], t, fail))
			i += end + 2
		case c == '\\' && i+1 < len(s) && s[i+1] != '{' && s[i+1] != '}':
			plain.WriteString(s[i : i+2])
			i += 2
		default:
			plain.WriteByte(c)
			i++
		}
	}
	literal(plain.String())
	return parts
}

// replacementEnd is where the brace that was opened before s is closed.
func (p *pythonParser) replacementEnd(s string, fail func(string)) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		case '"', '\'':
			n := strings.IndexByte(s[i+1:], s[i])
			if n < 0 {
				fail("a string that does not end")
			}
			i += n + 1
		case '\\', '#':
			fail("a backslash or a comment")
		}
	}
	fail("a brace that is not closed")
	return 0
}

// replacement reads what stands in the braces of an f-string: an expression,
// then "=", "!r" and ":format", all of which may be missing.
func (p *pythonParser) replacement(s string, t token, fail func(string)) *expr {
	defer p.deeper()()
	depth, end, conversion := 0, len(s), ""
	for i := 0; i < len(s) && end == len(s); i++ {
		switch c := s[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == '"' || c == '\'':
			i += strings.IndexByte(s[i+1:], c) + 1
		case depth > 0:
		case c == ':' || c == '!' && !strings.HasPrefix(s[i:], "!="):
			end = i
		case c == '!' || c == '<' || c == '>' || c == '=':
			if i+1 < len(s) && s[i+1] == '=' {
				i++
			}
		}
	}
	code, rest := s[:end], s[end:]
	if trimmed := strings.TrimRight(code, " "); strings.HasSuffix(trimmed, "=") && !strings.HasSuffix(trimmed, "==") {
		code, conversion = trimmed[:len(trimmed)-1], "r"
	}
	if strings.HasPrefix(rest, "!") {
		if len(rest) < 2 || !strings.Contains("rsa", rest[1:2]) || len(rest) > 2 && rest[2] != ':' {
			fail("a conversion")
		}
		conversion, rest = rest[1:2], rest[2:]
	}
	e := p.inner(code, t.line)
	if conversion == "r" || conversion == "a" {
		e = data(e)
	}
	if rest == "" {
		return e
	}
	if zeroPadded.MatchString(rest) {
		return e // a number stays one
	}
	return data(append([]*expr{e}, p.formatted(token{text: rest[1:], pre: t.pre, line: t.line})...)...)
}

// inner reads an expression that stands in a string.
func (p *pythonParser) inner(code string, line int) *expr {
	tokens, err := lexPython("(" + code + "\n)")
	if err != nil {
		panic(syntaxError{line, "in an f-string: " + err.(syntaxError).what})
	}
	q := &pythonParser{tokens: tokens, depth: p.depth}
	q.expect("(")
	e := q.expressions()
	q.expect(")")
	if q.peek().kind != tokNewline {
		q.fail("more than an expression in an f-string")
	}
	return e
}
