package snippet

// statement reads one statement, or a line of several.
func (p *pythonParser) statement() *expr {
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
		p.fail("async")
	case p.is("match") && p.isMatch():
		return p.match()
	}
	line := block(p.simple())
	for p.accept(";") {
		if p.peek().kind == tokNewline {
			break
		}
		line.kids = append(line.kids, p.simple())
	}
	if p.next().kind != tokNewline {
		p.at--
		p.fail("more than a statement on a line")
	}
	return line
}

// body reads what stands behind a colon: a line, or a block.
func (p *pythonParser) body() *expr {
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
	b := block()
	for p.peek().kind != tokDedent {
		if p.peek().kind == tokEnd {
			p.fail("the end")
		}
		b.kids = append(b.kids, p.statement())
	}
	p.next()
	return b
}

func (p *pythonParser) ifWhile() *expr {
	b := block()
	first := p.next().text
	b.kids = append(b.kids, p.named(), p.body())
	for first == "if" && p.accept("elif") {
		b.kids = append(b.kids, p.named(), p.body())
	}
	if p.accept("else") {
		b.kids = append(b.kids, p.body())
	}
	return b
}

func (p *pythonParser) forLoop() *expr {
	p.expect("for")
	target := p.targets()
	p.expect("in")
	b := block(assign(target, unary(opElem, p.expressions())), p.body())
	if p.accept("else") {
		b.kids = append(b.kids, p.body())
	}
	return b
}

func (p *pythonParser) try() *expr {
	p.expect("try")
	b := block(p.body())
	for p.accept("except") {
		p.accept("*")
		if !p.is(":") {
			b.kids = append(b.kids, p.expressions())
			if p.accept("as") {
				b.kids = append(b.kids, assign(name(p.identifier()), data()))
			}
		}
		b.kids = append(b.kids, p.body())
	}
	if p.accept("else") {
		b.kids = append(b.kids, p.body())
	}
	if p.accept("finally") {
		b.kids = append(b.kids, p.body())
	}
	return b
}

func (p *pythonParser) with() *expr {
	p.expect("with")
	b := block()
	item := func() {
		e := p.expression()
		if p.accept("as") {
			b.kids = append(b.kids, assign(p.target(), unary(opEnter, e)))
			return
		}
		b.kids = append(b.kids, e)
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
		b.kids = append(b.kids, p.body())
		return b
	} else {
		p.at = before
		b = block()
	}
	item()
	for p.accept(",") {
		item()
	}
	b.kids = append(b.kids, p.body())
	return b
}

// tries reports whether f reads without an error.
func (p *pythonParser) tries(f func()) (ok bool) {
	depth := p.depth
	defer func() {
		if asSyntaxError(recover()) != nil {
			ok, p.depth = false, depth
		}
	}()
	f()
	return true
}

func (p *pythonParser) target() *expr {
	e := p.binary(0)
	p.checkTarget(e)
	return e
}

func (p *pythonParser) checkTarget(e *expr) {
	switch e.op {
	case opName, opAttr, opItem:
	case opList, opElem:
		for _, k := range e.kids {
			p.checkTarget(k)
		}
	default:
		p.fail("an assignment to what cannot be assigned to")
	}
}

func (p *pythonParser) def() *expr {
	p.expect("def")
	f := &expr{op: opFunc, text: p.identifier()}
	p.expect("(")
	defaults := p.parameters(f, ")", true)
	p.expect(")")
	if p.accept("->") {
		f.kids = append(f.kids, p.expression())
	}
	f.kids = append(f.kids, p.body())
	return p.withDefaults(f, defaults)
}

// parameters reads those of a function, up to what ends them. Those with a
// star keep it.
func (p *pythonParser) parameters(f *expr, end string, typed bool) (defaults []*expr) {
	for !p.is(end) {
		star := ""
		if p.is("*", "**") {
			star = p.next().text
		}
		switch {
		case star == "" && p.accept("/"), star == "*" && p.is(","):
		default:
			param := p.identifier()
			f.keys = append(f.keys, star+param)
			if typed && p.accept(":") {
				defaults = append(defaults, p.starred())
			}
			if p.accept("=") {
				defaults = append(defaults, assign(name(param), p.expression()))
			}
		}
		if !p.is(end) {
			p.expect(",")
		}
	}
	return defaults
}

// decorated reads a function or a class that others are called with.
func (p *pythonParser) decorated() *expr {
	var decorators []*expr
	for p.accept("@") {
		decorators = append(decorators, p.named())
		if p.next().kind != tokNewline {
			p.fail("more than a decorator on a line")
		}
	}
	if !p.is("def", "class") {
		p.fail("a decorator of neither a function nor a class")
	}
	made := p.statement()
	b := block(made)
	for _, d := range decorators {
		b.kids = append(b.kids, assign(name(made.text), &expr{op: opCall, kids: []*expr{d, name(made.text)}, keys: []string{"", ""}}))
	}
	return b
}

func (p *pythonParser) class() *expr {
	p.expect("class")
	c := &expr{op: opClass, text: p.identifier()}
	if p.accept("(") {
		call := p.arguments(data())
		for i, key := range call.keys[1:] {
			if key != "" {
				p.fail("a class with a metaclass")
			}
			c.kids, c.keys = append(c.kids, call.kids[i+1]), append(c.keys, "")
		}
	}
	c.kids = append(c.kids, p.body())
	return c
}

func (p *pythonParser) simple() *expr {
	switch {
	case p.accept("pass"), p.accept("break"), p.accept("continue"):
		return data()
	case p.accept("return"):
		if t := p.peek(); t.kind == tokNewline || p.is(";") {
			return data()
		}
		return unary(opReturn, p.expressions())
	case p.accept("raise"):
		return p.raise()
	case p.accept("assert"):
		e := data(p.expression())
		if p.accept(",") {
			e.kids = append(e.kids, p.expression())
		}
		return e
	case p.accept("del"):
		e := p.expressions()
		p.checkTarget(e)
		if e.op == opName || e.op == opList {
			return data(e)
		}
		return &expr{op: opAdd, text: "del", kids: []*expr{e, data()}}
	case p.is("global", "nonlocal"):
		p.next()
		p.identifier()
		for p.accept(",") {
			p.identifier()
		}
		return data() // names are the same in all scopes here
	case p.accept("import"):
		return p.imports()
	case p.accept("from"):
		return p.importsFrom()
	case p.is("yield"):
		return p.yield()
	}
	return p.assignment()
}

func (p *pythonParser) raise() *expr {
	if t := p.peek(); t.kind == tokNewline || p.is(";") {
		return data()
	}
	e := data(p.expression())
	if p.accept("from") {
		e.kids = append(e.kids, p.expression())
	}
	return e
}

// assignment is one, or an expression.
func (p *pythonParser) assignment() *expr {
	first := p.expressions()
	switch {
	case p.accept(":"):
		p.checkTarget(first)
		e := block(assign(first, block()), p.expression())
		if p.accept("=") {
			e.kids = append(e.kids, assign(first, p.value()))
		}
		return e
	case p.is("+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**="):
		p.checkTarget(first)
		o := p.next().text
		return &expr{op: opAdd, text: o, kids: []*expr{first, p.value()}}
	case !p.is("="):
		return first
	}
	chain := []*expr{first}
	for p.accept("=") {
		chain = append(chain, p.value())
	}
	e := block()
	v := chain[len(chain)-1]
	for _, target := range chain[:len(chain)-1] {
		p.checkTarget(target)
		e.kids = append(e.kids, assign(target, v))
	}
	return e
}

func (p *pythonParser) value() *expr {
	if p.is("yield") {
		return p.yield()
	}
	return p.expressions()
}

func (p *pythonParser) dotted() string {
	s := p.identifier()
	for p.accept(".") {
		s += "." + p.identifier()
	}
	return s
}

func (p *pythonParser) imports() *expr {
	b := block()
	for {
		module := p.dotted()
		key := ""
		if p.accept("as") {
			key = " as " + p.identifier()
		}
		b.kids = append(b.kids, &expr{op: opImport, text: module, keys: []string{key}})
		if !p.accept(",") {
			return b
		}
	}
}

func (p *pythonParser) importsFrom() *expr {
	if p.is(".", "...") {
		p.fail("an import relative to a package")
	}
	e := &expr{op: opImport, text: p.dotted()}
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
		e.keys = append(e.keys, key)
		if !p.accept(",") || brackets && p.is(")") {
			break
		}
	}
	if brackets {
		p.expect(")")
	}
	return e
}
