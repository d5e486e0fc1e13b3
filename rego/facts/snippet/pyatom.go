package snippet

// atom reads what has no operator: a name, a number, a text, or brackets.
func (p *pythonParser) atom() *expr {
	t := p.next()
	switch t.kind {
	case tokNumber:
		return &expr{op: opNumber, text: t.text}
	case tokString:
		p.at--
		return p.strings()
	case tokName:
		switch t.text {
		case "None", "True", "False":
			return &expr{op: opNumber, text: t.text}
		}
		p.at--
		return name(p.identifier())
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
			return data()
		}
	}
	p.at--
	p.fail("no expression where one is expected")
	return nil
}

func (p *pythonParser) parenthesized() *expr {
	if p.accept(")") {
		return &expr{op: opList}
	}
	if p.is("yield") {
		e := p.yield()
		p.expect(")")
		return e
	}
	first := p.starred()
	if p.is("for", "async") {
		first = p.comprehension(first)
		p.expect(")")
		return first
	}
	if p.accept(")") {
		return first
	}
	list := &expr{op: opList, kids: []*expr{first}}
	for p.accept(",") {
		if p.is(")") {
			break
		}
		list.kids = append(list.kids, p.starred())
	}
	p.expect(")")
	return list
}

// items reads a list, a set or a dict up to the bracket that closes it.
func (p *pythonParser) items(end string) *expr {
	list := &expr{op: opList}
	for !p.accept(end) {
		if end == "}" && p.accept("**") {
			all := p.binary(0)
			list.op = opDict
			list.kids = append(list.kids, unary(opElem, all), &expr{op: opItem, kids: []*expr{all, data()}})
		} else {
			e := []*expr{p.starred()}
			if end == "}" && p.accept(":") {
				e = append(e, p.expression())
			}
			if len(list.kids) == 0 && p.is("for", "async") {
				list = p.comprehension(e...)
				p.expect(end)
				return list
			}
			if len(e) == 2 {
				list.op = opDict
			} else if list.op == opDict {
				p.fail("a dict with a key alone")
			}
			list.kids = append(list.kids, e...)
		}
		if !p.is(end) {
			p.expect(",")
		}
	}
	return list
}

func (p *pythonParser) yield() *expr {
	p.expect("yield")
	if p.accept("from") {
		return unary(opReturn, p.expression())
	}
	if p.is(")", "=") || p.peek().kind == tokNewline || p.is(";") {
		return data()
	}
	return unary(opReturn, p.expressions())
}
