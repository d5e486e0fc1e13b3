package python

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// A parser reads current Python, but for what small programs do not
// hold: declarations of types. It is strict:
// what it does not know is an error, and nothing is skipped.
type parser struct {
	tokens []token
	at     int
	depth  int
	scopes *scopes
}

// Parse reads a program. Errors are a [tree.SyntaxError].
func Parse(src string) (program *tree.Expr, err error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := asSyntaxError(recover()); e != nil {
			program, err = nil, e
		}
	}()
	p := &parser{tokens: tokens, scopes: newScopes()}
	program = tree.Block()
	for p.peek().kind != tokEnd {
		program.Kids = append(program.Kids, p.statement())
	}
	p.scopes.tellApart(program)
	return program, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *parser) fail(what string) { panic(tree.SyntaxError{Line: p.peek().line, What: what}) }

// is reports whether the next token is that operator or keyword.
func (p *parser) is(words ...string) bool {
	t := p.peek()
	return (t.kind == tokOp || t.kind == tokName) && slices.Contains(words, t.text)
}

func (p *parser) accept(word string) bool {
	if p.is(word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.fail("no " + word + " where one is expected")
	}
}

var pythonKeywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")

func (p *parser) identifier() string {
	t := p.next()
	if t.kind != tokName || slices.Contains(pythonKeywords, t.text) {
		p.at--
		p.fail("no name where one is expected")
	}
	return t.text
}

// deeper guards a rule that may nest.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > tree.MaxNesting {
		p.fail("nested too deep")
	}
	return func() { p.depth-- }
}

// expressions reads expressions with commas between them: one is itself, more
// are a tuple.
func (p *parser) expressions() *tree.Expr {
	first := p.starred()
	if !p.is(",") {
		return first
	}
	list := &tree.Expr{Op: tree.OpList, Kids: []*tree.Expr{first}}
	for p.accept(",") {
		if p.endsList() {
			break
		}
		list.Kids = append(list.Kids, p.starred())
	}
	return list
}

// endsList reports whether no further expression can follow a comma.
func (p *parser) endsList() bool {
	t := p.peek()
	return t.kind == tokNewline || t.kind == tokEnd || p.is(")", "]", "}", "=", ":", ";", "in", "+=", "for")
}

// starred is an expression, or the elements of one.
func (p *parser) starred() *tree.Expr {
	if p.accept("*") {
		return tree.Unary(tree.OpElem, p.binary(0))
	}
	return p.named()
}

// named is an expression, or NAME := expression.
func (p *parser) named() *tree.Expr {
	if p.peek().kind == tokName && p.tokens[p.at+1].kind == tokOp && p.tokens[p.at+1].text == ":=" {
		target := tree.Name(p.identifier())
		p.expect(":=")
		return tree.Assign(target, p.expression())
	}
	return p.expression()
}

// expression is a conditional, a lambda, or what binds stronger.
func (p *parser) expression() *tree.Expr {
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
	return &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{first, p.expression(), tree.Data(condition)}}
}

func (p *parser) lambda() *tree.Expr {
	f := &tree.Expr{Op: tree.OpFunc}
	defaults := p.parameters(f, ":", false)
	p.expect(":")
	f.Kids = append(f.Kids, tree.Unary(tree.OpReturn, p.expression()))
	return p.withDefaults(f, defaults)
}

// withDefaults adds what a function's parameters are if nothing is given.
func (p *parser) withDefaults(f *tree.Expr, defaults []*tree.Expr) *tree.Expr {
	f.Kids = append(defaults, f.Kids...)
	return f
}

func (p *parser) disjunction() *tree.Expr {
	first := p.conjunction()
	if !p.is("or") {
		return first
	}
	e := &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{first}}
	for p.accept("or") {
		e.Kids = append(e.Kids, p.conjunction())
	}
	return e
}

func (p *parser) conjunction() *tree.Expr {
	first := p.inversion()
	if !p.is("and") {
		return first
	}
	e := &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{first}}
	for p.accept("and") {
		e.Kids = append(e.Kids, p.inversion())
	}
	return e
}

func (p *parser) inversion() *tree.Expr {
	if p.accept("not") {
		defer p.deeper()()
		return tree.Data(p.inversion())
	}
	first := p.binary(0)
	e := tree.Data(first)
	for {
		switch {
		case p.accept("not"):
			p.expect("in")
		case p.accept("is"):
			p.accept("not")
		case p.is("<", ">", "==", ">=", "<=", "!=", "in"):
			p.at++
		case len(e.Kids) == 1:
			return first
		default:
			return e
		}
		e.Kids = append(e.Kids, p.binary(0))
	}
}

// pythonLevels are the binary operators, the weakest first.
var pythonLevels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}}

func (p *parser) binary(level int) *tree.Expr {
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

func pythonOperation(o string, a, b *tree.Expr) *tree.Expr {
	switch o {
	case "+":
		return tree.Binary(tree.OpJoin, a, b)
	case "/":
		return tree.Binary(tree.OpSlash, a, b)
	case "|", "&", "*", "-", "^":
		return &tree.Expr{Op: tree.OpOr, Text: o, Kids: []*tree.Expr{tree.Data(a, b), a, b}} // of dicts, sets and lists
	case "%": // of a text: what is put into it
		return &tree.Expr{Op: tree.OpData, Text: o, Kids: []*tree.Expr{a, b}}
	}
	return tree.Data(a, b)
}

func (p *parser) unary() *tree.Expr {
	if p.is("+", "-", "~") {
		defer p.deeper()()
		p.at++
		return tree.Data(p.unary())
	}
	e := p.primary()
	if p.accept("**") {
		defer p.deeper()()
		return tree.Data(e, p.unary())
	}
	return e
}

func (p *parser) primary() *tree.Expr {
	if p.accept("await") {
		defer p.deeper()()
		return p.primary()
	}
	e := p.atom()
	for {
		switch {
		case p.accept("."):
			e = tree.Attr(e, p.identifier())
		case p.accept("("):
			e = p.arguments(e)
		case p.accept("["):
			e = &tree.Expr{Op: tree.OpItem, Kids: append([]*tree.Expr{e}, p.slices()...)}
			p.expect("]")
		default:
			return e
		}
	}
}

// slices are what stands in the brackets behind a value.
func (p *parser) slices() (out []*tree.Expr) {
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
				out = append(out, tree.Data()) // a slice is no index
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
func (p *parser) arguments(f *tree.Expr) *tree.Expr {
	call := &tree.Expr{Op: tree.OpCall, Kids: []*tree.Expr{f}, Keys: []string{""}}
	add := func(key string, e *tree.Expr) { call.Kids, call.Keys = append(call.Kids, e), append(call.Keys, key) }
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
				e = p.comprehension(true, e)
			}
			add("", e)
		}
		if !p.is(")") {
			p.expect(",")
		}
	}
	return call
}

// comprehension reads "for x in y if z ..." behind what it makes, at once or later.
func (p *parser) comprehension(later bool, made ...*tree.Expr) *tree.Expr {
	e := tree.Block()
	for p.accept("for") || p.accept("async") && p.accept("for") {
		target := p.targets()
		p.expect("in")
		take := tree.Assign(target, tree.Unary(tree.OpElem, p.disjunction()))
		p.scopes.takes[take] = true
		e.Kids = append(e.Kids, take)
		for p.accept("if") {
			if p.peek().kind == tokName && p.tokens[p.at+1].text == ":=" {
				e.Kids = append(e.Kids, p.named())
				continue
			}
			e.Kids = append(e.Kids, p.disjunction())
		}
	}
	if len(e.Kids) == 0 {
		p.fail("async")
	}
	o := tree.OpList
	if len(made) > 1 {
		o = tree.OpDict
	}
	e.Kids = append(e.Kids, &tree.Expr{Op: o, Kids: made})
	p.scopes.made[e] = later
	return e
}

// targets are what a loop binds.
func (p *parser) targets() *tree.Expr {
	one := func() *tree.Expr {
		p.accept("*")
		return p.binary(0)
	}
	first := one()
	if !p.is(",") {
		return first
	}
	list := &tree.Expr{Op: tree.OpList, Kids: []*tree.Expr{first}}
	for p.accept(",") {
		if p.is("in") {
			break
		}
		list.Kids = append(list.Kids, one())
	}
	return list
}
