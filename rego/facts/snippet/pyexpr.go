package snippet

import (
	"slices"
	"strings"
)

// maxNesting bounds how deep brackets, blocks and expressions nest.
const maxNesting = 100

// A pythonParser reads current Python, but for what small programs do not
// hold: async, and declarations of types. It is strict:
// what it does not know is an error, and nothing is skipped.
type pythonParser struct {
	tokens []token
	at     int
	depth  int
}

// parsePython reads a program. Errors are a syntaxError.
func parsePython(src string) (program *expr, err error) {
	tokens, err := lexPython(src)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := asSyntaxError(recover()); e != nil {
			program, err = nil, e
		}
	}()
	p := &pythonParser{tokens: tokens}
	program = block()
	for p.peek().kind != tokEnd {
		program.kids = append(program.kids, p.statement())
	}
	return program, nil
}

func (p *pythonParser) peek() token { return p.tokens[p.at] }

func (p *pythonParser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *pythonParser) fail(what string) { panic(syntaxError{p.peek().line, what}) }

// is reports whether the next token is that operator or keyword.
func (p *pythonParser) is(words ...string) bool {
	t := p.peek()
	return (t.kind == tokOp || t.kind == tokName) && slices.Contains(words, t.text)
}

func (p *pythonParser) accept(word string) bool {
	if p.is(word) {
		p.at++
		return true
	}
	return false
}

func (p *pythonParser) expect(word string) {
	if !p.accept(word) {
		p.fail("no " + word + " where one is expected")
	}
}

var pythonKeywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")

func (p *pythonParser) identifier() string {
	t := p.next()
	if t.kind != tokName || slices.Contains(pythonKeywords, t.text) {
		p.at--
		p.fail("no name where one is expected")
	}
	return t.text
}

// deeper guards a rule that may nest.
func (p *pythonParser) deeper() func() {
	if p.depth++; p.depth > maxNesting {
		p.fail("nested too deep")
	}
	return func() { p.depth-- }
}

// expressions reads expressions with commas between them: one is itself, more
// are a tuple.
func (p *pythonParser) expressions() *expr {
	first := p.starred()
	if !p.is(",") {
		return first
	}
	list := &expr{op: opList, kids: []*expr{first}}
	for p.accept(",") {
		if p.endsList() {
			break
		}
		list.kids = append(list.kids, p.starred())
	}
	return list
}

// endsList reports whether no further expression can follow a comma.
func (p *pythonParser) endsList() bool {
	t := p.peek()
	return t.kind == tokNewline || t.kind == tokEnd || p.is(")", "]", "}", "=", ":", ";", "in", "+=", "for")
}

// starred is an expression, or the elements of one.
func (p *pythonParser) starred() *expr {
	if p.accept("*") {
		return unary(opElem, p.binary(0))
	}
	return p.named()
}

// named is an expression, or NAME := expression.
func (p *pythonParser) named() *expr {
	if p.peek().kind == tokName && p.tokens[p.at+1].kind == tokOp && p.tokens[p.at+1].text == ":=" {
		target := name(p.identifier())
		p.expect(":=")
		return assign(target, p.expression())
	}
	return p.expression()
}

// expression is a conditional, a lambda, or what binds stronger.
func (p *pythonParser) expression() *expr {
	defer p.deeper()()
	if p.accept("lambda") {
		return p.lambda()
	}
	first := p.disjunction()
	if !p.accept("if") {
		return first
	}
	condition := p.disjunction()
	p.expect("else")
	return &expr{op: opOr, kids: []*expr{first, p.expression(), data(condition)}}
}

func (p *pythonParser) lambda() *expr {
	f := &expr{op: opFunc}
	defaults := p.parameters(f, ":", false)
	p.expect(":")
	f.kids = append(f.kids, unary(opReturn, p.expression()))
	return p.withDefaults(f, defaults)
}

// withDefaults adds what a function's parameters are if nothing is given.
func (p *pythonParser) withDefaults(f *expr, defaults []*expr) *expr {
	f.kids = append(defaults, f.kids...)
	return f
}

func (p *pythonParser) disjunction() *expr {
	first := p.conjunction()
	if !p.is("or") {
		return first
	}
	e := &expr{op: opOr, kids: []*expr{first}}
	for p.accept("or") {
		e.kids = append(e.kids, p.conjunction())
	}
	return e
}

func (p *pythonParser) conjunction() *expr {
	first := p.inversion()
	if !p.is("and") {
		return first
	}
	e := &expr{op: opOr, kids: []*expr{first}}
	for p.accept("and") {
		e.kids = append(e.kids, p.inversion())
	}
	return e
}

func (p *pythonParser) inversion() *expr {
	if p.accept("not") {
		defer p.deeper()()
		return data(p.inversion())
	}
	first := p.binary(0)
	e := data(first)
	for {
		switch {
		case p.accept("not"):
			p.expect("in")
		case p.accept("is"):
			p.accept("not")
		case p.is("<", ">", "==", ">=", "<=", "!=", "in"):
			p.at++
		case len(e.kids) == 1:
			return first
		default:
			return e
		}
		e.kids = append(e.kids, p.binary(0))
	}
}

// pythonLevels are the binary operators, the weakest first.
var pythonLevels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}}

func (p *pythonParser) binary(level int) *expr {
	if level == len(pythonLevels) {
		return p.unary()
	}
	e := p.binary(level + 1)
	for p.is(pythonLevels[level]...) {
		o := p.next().text
		right := p.binary(level + 1)
		e = pythonOperation(o, e, right)
	}
	return e
}

func pythonOperation(o string, a, b *expr) *expr {
	switch o {
	case "+":
		return binary(opJoin, a, b)
	case "/":
		return binary(opSlash, a, b)
	case "|", "&", "*", "-", "^":
		return &expr{op: opOr, text: o, kids: []*expr{data(a, b), a, b}} // of dicts, sets and lists
	}
	return data(a, b)
}

func (p *pythonParser) unary() *expr {
	if p.is("+", "-", "~") {
		defer p.deeper()()
		p.at++
		return data(p.unary())
	}
	e := p.primary()
	if p.accept("**") {
		defer p.deeper()()
		return data(e, p.unary())
	}
	return e
}

func (p *pythonParser) primary() *expr {
	if p.is("await") {
		p.fail("await")
	}
	e := p.atom()
	for {
		switch {
		case p.accept("."):
			e = attr(e, p.identifier())
		case p.accept("("):
			e = p.arguments(e)
		case p.accept("["):
			e = &expr{op: opItem, kids: append([]*expr{e}, p.slices()...)}
			p.expect("]")
		default:
			return e
		}
	}
}

// slices are what stands in the brackets behind a value.
func (p *pythonParser) slices() (out []*expr) {
	for {
		for colons := 0; ; {
			if !p.is(":", ",", "]") {
				out = append(out, p.starred())
			}
			if colons == 2 || !p.accept(":") {
				break
			}
			colons++
			if len(out) == 0 || colons == 1 {
				out = append(out, data()) // a slice is no index
			}
		}
		if !p.accept(",") {
			break
		}
		if p.is("]") {
			break
		}
	}
	if len(out) == 0 {
		p.fail("no index in brackets")
	}
	return out
}

// arguments reads a call's up to the bracket that closes it.
func (p *pythonParser) arguments(f *expr) *expr {
	call := &expr{op: opCall, kids: []*expr{f}, keys: []string{""}}
	add := func(key string, e *expr) { call.kids, call.keys = append(call.kids, e), append(call.keys, key) }
	for !p.accept(")") {
		switch {
		case p.accept("**"):
			add("**", p.expression())
		case p.accept("*"):
			add("*", p.expression())
		case p.peek().kind == tokName && p.tokens[p.at+1].kind == tokOp && p.tokens[p.at+1].text == "=":
			key := p.identifier()
			p.expect("=")
			add(key, p.expression())
		default:
			e := p.named()
			if p.is("for", "async") {
				e = p.comprehension(e)
			}
			add("", e)
		}
		if !p.is(")") {
			p.expect(",")
		}
	}
	return call
}

// comprehension reads "for x in y if z ..." behind what it makes.
func (p *pythonParser) comprehension(made ...*expr) *expr {
	e := block()
	for p.accept("for") {
		target := p.targets()
		p.expect("in")
		e.kids = append(e.kids, assign(target, unary(opElem, p.disjunction())))
		for p.accept("if") {
			if p.peek().kind == tokName && p.tokens[p.at+1].text == ":=" {
				e.kids = append(e.kids, p.named())
				continue
			}
			e.kids = append(e.kids, p.disjunction())
		}
	}
	if len(e.kids) == 0 {
		p.fail("async")
	}
	o := opList
	if len(made) > 1 {
		o = opDict
	}
	e.kids = append(e.kids, &expr{op: o, kids: made})
	return e
}

// targets are what a loop binds.
func (p *pythonParser) targets() *expr {
	one := func() *expr {
		p.accept("*")
		return p.binary(0)
	}
	first := one()
	if !p.is(",") {
		return first
	}
	list := &expr{op: opList, kids: []*expr{first}}
	for p.accept(",") {
		if p.is("in") {
			break
		}
		list.kids = append(list.kids, one())
	}
	return list
}
