package python

import "github.com/holdgate/holdgate/rego/facts/snippet/tree"

// statement reads one statement, or a line of several.
func (p *parser) statement() *tree.Expr {
	defer p.deeper()()
	switch {
	case p.is("if", "while"):
		return p.ifWhile()
	case p.is("for"):
		return p.forLoop()
	case p.is("try"):
		return p.try()
	case p.is("with"):
		return p.with()
	case p.is("def"):
		return p.def()
	case p.is("class"):
		return p.class()
	case p.is("@"):
		return p.decorated()
	case p.is("async"):
		return p.async()
	case p.is("match") && p.isMatch():
		return p.match()
	}
	line := tree.Block(p.simple())
	for p.accept(";") {
		if p.peek().kind == tokNewline {
			break
		}
		line.Kids = append(line.Kids, p.simple())
	}
	if p.next().kind != tokNewline {
		p.at--
		p.fail("more than a statement on a line")
	}
	return line
}

// async reads a function that others wait for, or a statement that waits: what it gives is
// taken for what it is waited for.
func (p *parser) async() *tree.Expr {
	p.at++
	switch {
	case p.is("def"):
		return p.def()
	case p.is("for"):
		return p.forLoop()
	case p.is("with"):
		return p.with()
	}
	p.fail("async")
	return nil
}

// body reads what stands behind a colon: a line, or a block.
func (p *parser) body() *tree.Expr {
	p.expect(":")
	if p.peek().kind != tokNewline {
		if p.is("if", "while", "for", "try", "with", "def", "class", "async", "@") {
			p.fail("a compound statement behind a colon")
		}
		return p.statement()
	}
	p.next()
	if p.next().kind != tokIndent {
		p.at--
		p.fail("no indented block where one is expected")
	}
	b := tree.Block()
	for p.peek().kind != tokDedent {
		if p.peek().kind == tokEnd {
			p.fail("the end")
		}
		b.Kids = append(b.Kids, p.statement())
	}
	p.next()
	return b
}

func (p *parser) ifWhile() *tree.Expr {
	b := tree.Block()
	first := p.next().text
	b.Kids = append(b.Kids, p.named(), p.body())
	for first == "if" && p.accept("elif") {
		b.Kids = append(b.Kids, p.named(), p.body())
	}
	if p.accept("else") {
		b.Kids = append(b.Kids, p.body())
	}
	return b
}

func (p *parser) forLoop() *tree.Expr {
	p.expect("for")
	target := p.targets()
	p.expect("in")
	b := tree.Block(tree.Assign(target, tree.Unary(tree.OpElem, p.expressions())), p.body())
	p.scopes.loops[b] = true
	if p.accept("else") {
		b.Kids = append(b.Kids, p.body())
	}
	return b
}

func (p *parser) try() *tree.Expr {
	p.expect("try")
	b := tree.Block(p.body())
	for p.accept("except") {
		p.accept("*")
		if !p.is(":") {
			b.Kids = append(b.Kids, p.expressions())
			if p.accept("as") {
				b.Kids = append(b.Kids, tree.Assign(tree.Name(p.identifier()), &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{tree.Data(), tree.Name("%thrown")}}))
			}
		}
		b.Kids = append(b.Kids, p.body())
	}
	if p.accept("else") {
		b.Kids = append(b.Kids, p.body())
	}
	if p.accept("finally") {
		b.Kids = append(b.Kids, p.body())
	}
	return b
}

func (p *parser) with() *tree.Expr {
	p.expect("with")
	b := tree.Block()
	item := func() {
		e := p.expression()
		if p.accept("as") {
			b.Kids = append(b.Kids, tree.Assign(p.target(), tree.Unary(tree.OpEnter, e)))
			return
		}
		b.Kids = append(b.Kids, e)
	}
	// "with (a as b, c as d):" needs a look ahead: try it, else an expression.
	if before := p.at; p.accept("(") && p.tries(func() {
		for {
			item()
			if !p.accept(",") || p.is(")") {
				break
			}
		}
		p.expect(")")
		if !p.is(":") {
			p.fail("more behind the bracket")
		}
	}) {
		b.Kids = append(b.Kids, p.body())
		return b
	} else {
		p.at = before
		b = tree.Block()
	}
	item()
	for p.accept(",") {
		item()
	}
	b.Kids = append(b.Kids, p.body())
	return b
}

// tries reports whether f reads without an error.
func (p *parser) tries(f func()) (ok bool) {
	depth := p.depth
	defer func() {
		if asSyntaxError(recover()) != nil {
			ok, p.depth = false, depth
		}
	}()
	f()
	return true
}

func (p *parser) target() *tree.Expr {
	e := p.binary(0)
	p.checkTarget(e)
	return e
}

func (p *parser) checkTarget(e *tree.Expr) {
	switch e.Op {
	case tree.OpName, tree.OpAttr, tree.OpItem:
	case tree.OpList, tree.OpElem:
		for _, k := range e.Kids {
			p.checkTarget(k)
		}
	default:
		p.fail("an assignment to what cannot be assigned to")
	}
}

func (p *parser) def() *tree.Expr {
	p.expect("def")
	f := &tree.Expr{Op: tree.OpFunc, Text: p.identifier()}
	p.expect("(")
	defaults := p.parameters(f, ")", true)
	p.expect(")")
	if p.accept("->") {
		f.Kids = append(f.Kids, p.expression())
	}
	f.Kids = append(f.Kids, p.body())
	return p.withDefaults(f, defaults)
}

// parameters reads those of a function, up to what ends them. Those with a
// star keep it.
func (p *parser) parameters(f *tree.Expr, end string, typed bool) (defaults []*tree.Expr) {
	for !p.is(end) {
		star := ""
		if p.is("*", "**") {
			star = p.next().text
		}
		switch {
		case star == "" && p.accept("/"), star == "*" && p.is(","):
		default:
			param := p.identifier()
			f.Keys = append(f.Keys, star+param)
			if typed && p.accept(":") {
				defaults = append(defaults, p.starred())
			}
			if p.accept("=") {
				value := tree.Assign(tree.Name(param), p.expression())
				p.scopes.defaults[value] = true
				defaults = append(defaults, value)
			}
		}
		if !p.is(end) {
			p.expect(",")
		}
	}
	return defaults
}

// decorated reads a function or a class that others are called with.
func (p *parser) decorated() *tree.Expr {
	var decorators []*tree.Expr
	for p.accept("@") {
		decorators = append(decorators, p.named())
		if p.next().kind != tokNewline {
			p.fail("more than a decorator on a line")
		}
	}
	if !p.is("def", "class", "async") {
		p.fail("a decorator of neither a function nor a class")
	}
	made := p.statement()
	if made.Op != tree.OpFunc && made.Op != tree.OpClass {
		p.fail("a decorator of neither a function nor a class")
	}
	b := tree.Block(made)
	for _, d := range decorators {
		b.Kids = append(b.Kids, tree.Assign(tree.Name(made.Text), &tree.Expr{Op: tree.OpCall, Kids: []*tree.Expr{d, tree.Name(made.Text)}, Keys: []string{"", ""}}))
	}
	return b
}

func (p *parser) class() *tree.Expr {
	p.expect("class")
	c := &tree.Expr{Op: tree.OpClass, Text: p.identifier()}
	if p.accept("(") {
		call := p.arguments(tree.Data())
		for i, key := range call.Keys[1:] {
			if key != "" {
				p.fail("a class with a metaclass")
			}
			c.Kids, c.Keys = append(c.Kids, call.Kids[i+1]), append(c.Keys, "")
		}
	}
	c.Kids = append(c.Kids, p.body())
	return c
}

func (p *parser) simple() *tree.Expr {
	switch {
	case p.accept("pass"), p.accept("break"), p.accept("continue"):
		return tree.Data()
	case p.accept("return"):
		if t := p.peek(); t.kind == tokNewline || p.is(";") {
			return tree.Data()
		}
		return tree.Unary(tree.OpReturn, p.expressions())
	case p.accept("raise"):
		return p.raise()
	case p.accept("assert"):
		e := tree.Data(p.expression())
		if p.accept(",") {
			e.Kids = append(e.Kids, p.expression())
		}
		return e
	case p.accept("del"):
		e := p.expressions()
		p.checkTarget(e)
		if e.Op == tree.OpName || e.Op == tree.OpList {
			return tree.Data(e)
		}
		return &tree.Expr{Op: tree.OpAdd, Text: "del", Kids: []*tree.Expr{e, tree.Data()}}
	case p.is("global", "nonlocal"):
		p.next()
		p.scopes.shared[p.identifier()] = true
		for p.accept(",") {
			p.scopes.shared[p.identifier()] = true
		}
		return tree.Data()
	case p.accept("import"):
		return p.imports()
	case p.accept("from"):
		return p.importsFrom()
	case p.is("yield"):
		return p.yield()
	}
	return p.assignment()
}

func (p *parser) raise() *tree.Expr {
	if t := p.peek(); t.kind == tokNewline || p.is(";") {
		return tree.Data()
	}
	e := tree.Assign(tree.Name("%thrown"), p.expression())
	if p.accept("from") {
		return tree.Block(e, tree.Assign(tree.Name("%thrown"), p.expression()))
	}
	return e
}

// assignment is one, or an expression.
func (p *parser) assignment() *tree.Expr {
	first := p.expressions()
	switch {
	case p.accept(":"):
		p.checkTarget(first)
		e := tree.Block(tree.Assign(first, tree.Block()), p.expression())
		if p.accept("=") {
			e.Kids = append(e.Kids, tree.Assign(first, p.value()))
		}
		return e
	case p.is("+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**="):
		p.checkTarget(first)
		o := p.next().text
		return &tree.Expr{Op: tree.OpAdd, Text: o, Kids: []*tree.Expr{first, p.value()}}
	case !p.is("="):
		return first
	}
	chain := []*tree.Expr{first}
	for p.accept("=") {
		chain = append(chain, p.value())
	}
	e := tree.Block()
	v := chain[len(chain)-1]
	for _, target := range chain[:len(chain)-1] {
		p.checkTarget(target)
		e.Kids = append(e.Kids, tree.Assign(target, v))
	}
	return e
}

func (p *parser) value() *tree.Expr {
	if p.is("yield") {
		return p.yield()
	}
	return p.expressions()
}

func (p *parser) dotted() string {
	s := p.identifier()
	for p.accept(".") {
		s += "." + p.identifier()
	}
	return s
}

func (p *parser) imports() *tree.Expr {
	b := tree.Block()
	for {
		module := p.dotted()
		key := ""
		if p.accept("as") {
			key = " as " + p.identifier()
		}
		b.Kids = append(b.Kids, &tree.Expr{Op: tree.OpImport, Text: module, Keys: []string{key}})
		if !p.accept(",") {
			return b
		}
	}
}

func (p *parser) importsFrom() *tree.Expr {
	if p.is(".", "...") {
		p.fail("an import relative to a package")
	}
	e := &tree.Expr{Op: tree.OpImport, Text: p.dotted()}
	p.expect("import")
	brackets := p.accept("(")
	for {
		if p.is("*") {
			p.fail("an import of all names")
		}
		key := p.identifier()
		if p.accept("as") {
			key += " as " + p.identifier()
		}
		e.Keys = append(e.Keys, key)
		if !p.accept(",") || brackets && p.is(")") {
			break
		}
	}
	if brackets {
		p.expect(")")
	}
	return e
}
