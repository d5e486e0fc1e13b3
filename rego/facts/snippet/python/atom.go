package python

import "github.com/holdgate/holdgate/rego/facts/snippet/tree"

// atom reads what has no operator: a name, a number, a text, or brackets.
func (p *parser) atom() *tree.Expr {
	t := p.next()
	switch t.kind {
	case tokNumber:
		return &tree.Expr{Op: tree.OpNumber, Text: t.text}
	case tokString:
		p.at--
		return p.strings()
	case tokName:
		switch t.text {
		case "None", "True", "False":
			return &tree.Expr{Op: tree.OpNumber, Text: t.text}
		}
		p.at--
		return tree.Name(p.identifier())
	case tokOp:
		defer p.deeper()()
		switch t.text {
		case "(":
			return p.parenthesized()
		case "[":
			return p.items("]")
		case "{":
			return p.items("}")
		case "...":
			return tree.Data()
		}
	}
	p.at--
	p.fail("no expression where one is expected")
	return nil
}

func (p *parser) parenthesized() *tree.Expr {
	if p.accept(")") {
		return &tree.Expr{Op: tree.OpList}
	}
	if p.is("yield") {
		e := p.yield()
		p.expect(")")
		return e
	}
	first := p.starred()
	if p.is("for", "async") {
		first = p.comprehension(true, first)
		p.expect(")")
		return first
	}
	if p.accept(")") {
		return first
	}
	list := &tree.Expr{Op: tree.OpList, Kids: []*tree.Expr{first}}
	for p.accept(",") {
		if p.is(")") {
			break
		}
		list.Kids = append(list.Kids, p.starred())
	}
	p.expect(")")
	return list
}

// items reads a list, a set or a dict up to the bracket that closes it.
func (p *parser) items(end string) *tree.Expr {
	list := &tree.Expr{Op: tree.OpList}
	for !p.accept(end) {
		if end == "}" && p.accept("**") {
			all := p.binary(0)
			list.Op = tree.OpDict
			list.Kids = append(list.Kids, tree.Unary(tree.OpElem, all), &tree.Expr{Op: tree.OpItem, Kids: []*tree.Expr{all, tree.Data()}})
		} else {
			e := []*tree.Expr{p.starred()}
			if end == "}" && p.accept(":") {
				e = append(e, p.expression())
			}
			if len(list.Kids) == 0 && p.is("for", "async") {
				list = p.comprehension(false, e...)
				p.expect(end)
				return list
			}
			if len(e) == 2 {
				list.Op = tree.OpDict
			} else if list.Op == tree.OpDict {
				p.fail("a dict with a key alone")
			}
			list.Kids = append(list.Kids, e...)
		}
		if !p.is(end) {
			p.expect(",")
		}
	}
	return list
}

func (p *parser) yield() *tree.Expr {
	p.expect("yield")
	if p.accept("from") {
		return tree.Unary(tree.OpReturn, p.expression())
	}
	if p.is(")", "=") || p.peek().kind == tokNewline || p.is(";") {
		return tree.Data()
	}
	return tree.Unary(tree.OpReturn, p.expressions())
}
