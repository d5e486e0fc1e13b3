package snippet

// isMatch reports whether "match" begins a match statement here, and is no
// name: then a colon, a line's end and an indented "case" follow.
func (p *pythonParser) isMatch() bool {
	before := p.at
	defer func() { p.at = before }()
	p.next()
	if p.is("=", ".", ",", ":", ")", ";") || p.peek().kind == tokNewline {
		return false
	}
	return p.tries(func() {
		p.expressions()
		p.expect(":")
		if p.next().kind != tokNewline || p.next().kind != tokIndent || !p.is("case") {
			p.fail("no case")
		}
	})
}

func (p *pythonParser) match() *expr {
	p.next()
	subject := p.expressions()
	p.expect(":")
	p.next()
	p.next()
	b := block(subject)
	for p.peek().kind != tokDedent {
		if !p.accept("case") {
			p.fail("no case in a match")
		}
		b.kids = append(b.kids, p.patterns(subject))
		if p.accept("if") {
			b.kids = append(b.kids, p.named())
		}
		b.kids = append(b.kids, p.body())
	}
	p.next()
	return b
}

// patterns reads what a case is compared with. The names in it are bound to
// parts of the subject.
func (p *pythonParser) patterns(subject *expr) *expr {
	b := block(p.pattern(subject))
	for p.accept(",") {
		if p.is(":", "if") {
			break
		}
		b.kids = append(b.kids, p.pattern(subject))
	}
	return b
}

func (p *pythonParser) pattern(subject *expr) *expr {
	defer p.deeper()()
	b := block(p.closed(subject))
	for p.accept("|") {
		b.kids = append(b.kids, p.closed(subject))
	}
	if p.accept("as") {
		b.kids = append(b.kids, p.capture(subject))
	}
	return b
}

func (p *pythonParser) capture(subject *expr) *expr {
	if n := p.identifier(); n != "_" {
		return assign(name(n), &expr{op: opOr, kids: []*expr{subject, unary(opElem, subject)}})
	}
	return data()
}

func (p *pythonParser) closed(subject *expr) *expr {
	t := p.peek()
	part := unary(opElem, subject)
	switch {
	case t.kind == tokNumber, p.is("-"), p.is("None", "True", "False"):
		return p.binary(4)
	case t.kind == tokString:
		return p.strings()
	case p.accept("*"), p.accept("**"):
		return p.capture(part)
	case p.accept("("):
		return p.sequence(part, ")")
	case p.accept("["):
		return p.sequence(part, "]")
	case p.accept("{"):
		b := block()
		for !p.accept("}") {
			if !p.is("**") {
				b.kids = append(b.kids, p.closed(subject))
				p.expect(":")
			}
			b.kids = append(b.kids, p.pattern(part))
			if !p.is("}") {
				p.expect(",")
			}
		}
		return b
	}
	if next := p.tokens[p.at+1]; next.kind != tokOp || next.text != "." && next.text != "(" {
		return p.capture(subject)
	}
	e := name(p.identifier())
	for p.accept(".") {
		e = attr(e, p.identifier())
	}
	if !p.accept("(") {
		return e
	}
	b := block(e)
	for !p.accept(")") {
		if p.tokens[p.at+1].text == "=" {
			p.identifier()
			p.expect("=")
		}
		b.kids = append(b.kids, p.pattern(part))
		if !p.is(")") {
			p.expect(",")
		}
	}
	return b
}

func (p *pythonParser) sequence(part *expr, end string) *expr {
	b := block()
	for !p.accept(end) {
		b.kids = append(b.kids, p.pattern(part))
		if !p.is(end) {
			p.expect(",")
		}
	}
	return b
}
