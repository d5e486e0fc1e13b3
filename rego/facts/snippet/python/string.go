package python

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// zeroPadded are formats that only numbers take.
var zeroPadded = lazyregexp.New(`^:0?[0-9]*[dxX]$`)

// strings reads literals that stand side by side: they are one.
func (p *parser) strings() *tree.Expr {
	var parts []*tree.Expr
	bytes := false
	for p.peek().kind == tokString {
		t := p.next()
		bytes = bytes || strings.Contains(t.pre, "b")
		if strings.Contains(t.pre, "f") {
			parts = append(parts, p.formatted(t)...)
			continue
		}
		if s, ok := unescaped(t.text, t.pre); ok {
			parts = append(parts, tree.Text(s))
		} else {
			parts = append(parts, tree.Data())
		}
	}
	switch {
	case bytes:
		return tree.Data(parts...)
	case len(parts) == 1 && parts[0].Op == tree.OpText:
		return parts[0]
	}
	return &tree.Expr{Op: tree.OpJoin, Kids: parts}
}

// formatted reads an f-string, as Python has it from 3.12 on: see skipFormatted.
func (p *parser) formatted(t token) (parts []*tree.Expr) {
	s := t.text
	fail := func(what string) { panic(tree.SyntaxError{Line: t.line, What: what + " in an f-string"}) }
	literal := func(s string) {
		if v, ok := unescaped(s, t.pre); ok {
			parts = append(parts, tree.Text(v))
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
func (p *parser) replacementEnd(s string, fail func(string)) int {
	end, ok := skipReplacement(s, 0, "")
	if !ok {
		fail("a brace that is not closed, a backslash or a comment")
	}
	return end - 1
}

// skipFormatted is where an f-string ends whose quotes were opened before i, as
// Python has it from 3.12 on. Where an earlier one ends it sooner, a brace is left
// open there, and the program does not run at all.
func skipFormatted(s string, i int, quote string) (end int, ok bool) {
	for i < len(s) {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] != '{' && s[i+1] != '}':
			i += 2
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote), true
		case c == '\n' && len(quote) == 1:
			return 0, false
		case strings.HasPrefix(s[i:], "{{"):
			i += 2
		case c == '{':
			if i, ok = skipReplacement(s, i+1, quote); !ok {
				return 0, false
			}
		default:
			i++
		}
	}
	return 0, false
}

// skipReplacement is what follows the brace that was opened before i.
func skipReplacement(s string, i int, quote string) (end int, ok bool) {
	depth := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
			i++
		case c == '}' && depth == 0:
			return i + 1, true
		case c == ')' || c == ']' || c == '}':
			depth--
			i++
		case c == '"' || c == '\'':
			if i, ok = skipText(s, i); !ok {
				return 0, false
			}
		case c == '\\' || c == '#' || c == '\n' && quote != "" && len(quote) == 1:
			return 0, false
		case c == ':' && depth == 0:
			return skipFormat(s, i+1, quote)
		default:
			i++
		}
	}
	return 0, false
}

// skipFormat is what follows the brace that ends a format.
func skipFormat(s string, i int, quote string) (end int, ok bool) {
	for i < len(s) {
		switch c := s[i]; {
		case c == '}':
			return i + 1, true
		case c == '{':
			if i, ok = skipReplacement(s, i+1, quote); !ok {
				return 0, false
			}
		case c == '\\' || c == '\n' || quote != "" && strings.HasPrefix(s[i:], quote):
			return 0, false
		default:
			i++
		}
	}
	return 0, false
}

// skipText is what follows the text in quotes at i.
func skipText(s string, i int) (end int, ok bool) {
	begin := i
	for begin > 0 && strings.IndexByte("rRbBuUfFtT", s[begin-1]) >= 0 {
		begin--
	}
	quote := s[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s[i:], triple) {
		quote = triple
	}
	if strings.ContainsAny(s[begin:i], "fFtT") {
		return skipFormatted(s, i+len(quote), quote)
	}
	for i += len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote), true
		case s[i] == '\n' && len(quote) == 1:
			return 0, false
		}
	}
	return 0, false
}

// replacement reads what stands in the braces of an f-string: an expression,
// then "=", "!r" and ":format", all of which may be missing.
func (p *parser) replacement(s string, t token, fail func(string)) *tree.Expr {
	defer p.deeper()()
	depth, end, conversion := 0, len(s), ""
	for i := 0; i < len(s) && end == len(s); i++ {
		switch c := s[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == '"' || c == '\'':
			next, ok := skipText(s, i)
			if !ok {
				fail("a string that does not end")
			}
			i = next - 1
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
		e = tree.Data(e)
	}
	if rest == "" {
		return e
	}
	if zeroPadded.MatchString(rest) {
		return e // a number stays one
	}
	return tree.Data(append([]*tree.Expr{e}, p.formatted(token{text: rest[1:], pre: t.pre, line: t.line})...)...)
}

// inner reads an expression that stands in a string.
func (p *parser) inner(code string, line int) *tree.Expr {
	tokens, err := lex("(" + code + "\n)")
	if err != nil {
		panic(tree.SyntaxError{Line: line, What: "in an f-string: " + err.(tree.SyntaxError).What})
	}
	q := &parser{tokens: tokens, depth: p.depth, scopes: p.scopes}
	q.expect("(")
	e := q.expressions()
	q.expect(")")
	if q.peek().kind != tokNewline {
		q.fail("more than an expression in an f-string")
	}
	return e
}
