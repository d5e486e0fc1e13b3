package python

import "github.com/holdgate/holdgate/rego/facts/snippet/tree"

// isMatch reports whether "match" begins a match statement here, and is no
// name: then a colon, a line's end and an indented "case" follow.
func (p *parser) isMatch() bool {
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

func (p *parser) match() *tree.Expr {
	p.next()
	subject := p.expressions()
	p.expect(":")
	p.next()
	p.next()
	b := tree.Block(subject)
	for p.peek().kind != tokDedent {
		if !p.accept("case") {
			p.fail("no case in a match")
		}
		b.Kids = append(b.Kids, p.patterns(subject))
		if p.accept("if") {
			b.Kids = append(b.Kids, p.named())
		}
		b.Kids = append(b.Kids, p.body())
	}
	p.next()
	return b
}

// patterns reads what a case is compared with. The names in it are bound to
// parts of the subject.
func (p *parser) patterns(subject *tree.Expr) *tree.Expr {
	b := tree.Block(p.pattern(subject))
	for p.accept(",") {
		if p.is(":", "if") {
			break
		}
		b.Kids = append(b.Kids, p.pattern(subject))
	}
	return b
}

func (p *parser) pattern(subject *tree.Expr) *tree.Expr {
	defer p.deeper()()
	b := tree.Block(p.closed(subject))
	for p.accept("|") {
		b.Kids = append(b.Kids, p.closed(subject))
	}
	if p.accept("as") {
		b.Kids = append(b.Kids, p.capture(subject))
	}
	return b
}

func (p *parser) capture(subject *tree.Expr) *tree.Expr {
	if n := p.identifier(); n != "_" {
		return tree.Assign(tree.Name(n), &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{subject, tree.Unary(tree.OpElem, subject)}})
	}
	return tree.Data()
}

func (p *parser) closed(subject *tree.Expr) *tree.Expr {
	t := p.peek()
	part := tree.Unary(tree.OpElem, subject)
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
		b := tree.Block()
		for !p.accept("}") {
			if !p.is("**") {
				b.Kids = append(b.Kids, p.closed(subject))
				p.expect(":")
			}
			b.Kids = append(b.Kids, p.pattern(part))
			if !p.is("}") {
				p.expect(",")
			}
		}
		return b
	}
	if next := p.tokens[p.at+1]; next.kind != tokOp || next.text != "." && next.text != "(" {
		return p.capture(subject)
	}
	e := tree.Name(p.identifier())
	for p.accept(".") {
		e = tree.Attr(e, p.identifier())
	}
	if !p.accept("(") {
		return e
	}
	b := tree.Block(e)
	for !p.accept(")") {
		if p.tokens[p.at+1].text == "=" {
			p.identifier()
			p.expect("=")
		}
		b.Kids = append(b.Kids, p.pattern(part))
		if !p.is(")") {
			p.expect(",")
		}
	}
	return b
}

func (p *parser) sequence(part *tree.Expr, end string) *tree.Expr {
	b := tree.Block()
	for !p.accept(end) {
		b.Kids = append(b.Kids, p.pattern(part))
		if !p.is(end) {
			p.expect(",")
		}
	}
	return b
}
