package snippet

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

func (r *scriptReader) all(list []js.IExpr) (out []*expr) {
	for _, e := range list {
		out = append(out, r.expr(e))
	}
	return out
}

func (r *scriptReader) expr(e js.IExpr) *expr {
	defer r.deeper()()
	switch e := e.(type) {
	case nil:
		return &expr{op: opOr} // undefined
	case *js.Var:
		return r.variable(e)
	case *js.LiteralExpr:
		return r.literal(*e)
	case js.LiteralExpr:
		return r.literal(e)
	case *js.GroupExpr:
		return r.expr(e.X)
	case *js.ArrayExpr:
		return r.array(e)
	case *js.ObjectExpr:
		return r.objectOf(e)
	case *js.TemplateExpr:
		return r.template(e)
	case *js.DotExpr:
		return r.dot(e)
	case *js.IndexExpr:
		return binary(opItem, r.expr(e.X), r.expr(e.Y))
	case *js.CallExpr:
		return r.call(e)
	case *js.NewExpr:
		out := &expr{op: opNew, kids: []*expr{r.expr(e.X)}, keys: []string{""}}
		if e.Args != nil {
			r.arguments(out, *e.Args)
		}
		return out
	case *js.UnaryExpr:
		return r.unary(e)
	case *js.BinaryExpr:
		return r.binary(e)
	case *js.CondExpr:
		return block(r.expr(e.Cond), &expr{op: opOr, kids: []*expr{r.expr(e.X), r.expr(e.Y)}})
	case *js.CommaExpr:
		return block(r.all(e.List)...)
	case *js.YieldExpr:
		v := r.expr(e.X)
		if !e.Generator {
			v = &expr{op: opList, kids: []*expr{v}}
		}
		return block(unary(opReturn, v), data())
	case *js.ArrowFunc:
		return r.function("", true, e.Async, e.Params, e.Body)
	case *js.FuncDecl:
		return r.declaredFunction(e)
	case *js.ClassDecl:
		return r.class(e)
	case *js.VarDecl:
		return r.declared(e)
	case *js.ImportMetaExpr:
		return name("import.meta")
	case *js.NewTargetExpr:
		return unseen("new.target")
	}
	r.fail("an expression of the kind %T", e)
	return nil
}

func (r *scriptReader) literal(l js.LiteralExpr) *expr {
	switch l.TokenType {
	case js.StringToken:
		return text(r.text(string(l.Data[1 : len(l.Data)-1])))
	case js.TrueToken, js.FalseToken, js.NullToken:
		return number()
	case js.RegExpToken:
		return data()
	case js.ThisToken:
		return name(r.this)
	case js.SuperToken:
		return unseen("super")
	}
	if js.IsNumeric(l.TokenType) {
		return &expr{op: opNumber, text: string(l.Data)}
	}
	r.fail("%s by itself", l.Data)
	return nil
}

func (r *scriptReader) array(a *js.ArrayExpr) *expr {
	list := &expr{op: opList}
	for _, e := range a.List {
		switch {
		case e.Value == nil:
			list.kids = append(list.kids, data())
		case e.Spread:
			list.kids = append(list.kids, unary(opElem, r.expr(e.Value)))
		default:
			list.kids = append(list.kids, r.expr(e.Value))
		}
	}
	return list
}

// objectOf is an object that is written down: keys and values in turn. What is
// spread stands behind an opElem.
func (r *scriptReader) objectOf(o *js.ObjectExpr) *expr {
	dict := &expr{op: opDict}
	for _, p := range o.List {
		switch m, method := p.Value.(*js.MethodDecl); {
		case p.Spread:
			dict.kids = append(dict.kids, unary(opElem, data()), r.expr(p.Value))
		case method && m.Name.Private != nil, p.Init != nil:
			r.fail("an object that is none")
		case method:
			dict.kids = append(dict.kids, r.property(m.Name.PropertyName), r.method(m, ""))
		case p.Name == nil:
			r.fail("a property without a name")
		default:
			dict.kids = append(dict.kids, r.property(*p.Name), r.expr(p.Value))
		}
	}
	return dict
}

func (r *scriptReader) template(t *js.TemplateExpr) *expr {
	join := &expr{op: opJoin}
	cooked := func(raw []byte, end int) { join.kids = append(join.kids, text(r.text(string(raw[1:len(raw)-end])))) }
	if t.Tag != nil {
		out := []*expr{r.expr(t.Tag)}
		for _, p := range t.List {
			out = append(out, r.expr(p.Expr))
		}
		if tag := out[0]; tag.op == opAttr && tag.text == "raw" && tag.kids[0].op == opName && tag.kids[0].text == "String" {
			return data(out...)
		}
		return unseen("a template with a tag", out...)
	}
	for _, p := range t.List {
		cooked(p.Value, 2)
		join.kids = append(join.kids, r.expr(p.Expr))
	}
	cooked(t.Tail, 1)
	return join
}

func (r *scriptReader) dot(e *js.DotExpr) *expr {
	of, called := r.expr(e.X), ""
	switch y := e.Y.(type) {
	case js.LiteralExpr:
		called = string(y.Data)
	case *js.LiteralExpr:
		called = string(y.Data)
	case *js.Var:
		called = string(y.Data)
	}
	if called == "" || strings.ContainsRune(called, '\\') {
		r.fail("the name %q", called)
	}
	return attr(of, called)
}

func (r *scriptReader) call(e *js.CallExpr) *expr {
	out := &expr{op: opCall, keys: []string{""}}
	callee, _ := e.X.(*js.LiteralExpr)
	switch {
	case callee != nil && callee.TokenType == js.ImportToken:
		out.kids = []*expr{name("import")}
	case callee != nil && callee.TokenType == js.SuperToken: // of one of the language's errors: see class
		out.op = opData
	default:
		out.kids = []*expr{r.expr(e.X)}
	}
	r.arguments(out, e.Args)
	return out
}

func (r *scriptReader) arguments(to *expr, args js.Args) {
	for _, a := range args.List {
		key := ""
		if a.Rest {
			key = "*"
		}
		to.kids = append(to.kids, r.expr(a.Value))
		to.keys = append(to.keys, key)
	}
}

func (r *scriptReader) unary(e *js.UnaryExpr) *expr {
	x := r.expr(e.X)
	switch e.Op {
	case js.AwaitToken:
		if !r.async && beginsWithRegExp(e.X) {
			r.fail("await before a slash")
		}
		return x
	case js.VoidToken, js.TypeofToken, js.NotToken, js.DeleteToken, js.PosToken, js.NegToken, js.BitNotToken,
		js.PreIncrToken, js.PreDecrToken, js.PostIncrToken, js.PostDecrToken:
		return number(x)
	}
	r.fail("the operator %s", e.Op)
	return nil
}

// beginsWithRegExp reports whether an expression begins with a regular
// expression: behind a variable, its slash would divide.
func beginsWithRegExp(e js.IExpr) bool {
	switch e := e.(type) {
	case *js.LiteralExpr:
		return e.TokenType == js.RegExpToken
	case *js.DotExpr:
		return beginsWithRegExp(e.X)
	case *js.IndexExpr:
		return beginsWithRegExp(e.X)
	case *js.CallExpr:
		return beginsWithRegExp(e.X)
	case *js.TemplateExpr:
		return e.Tag != nil && beginsWithRegExp(e.Tag)
	case *js.BinaryExpr:
		return beginsWithRegExp(e.X)
	case *js.CondExpr:
		return beginsWithRegExp(e.Cond)
	case *js.UnaryExpr:
		return (e.Op == js.PostIncrToken || e.Op == js.PostDecrToken) && beginsWithRegExp(e.X)
	}
	return false
}

var arithmetic = []js.TokenType{
	js.SubToken, js.MulToken, js.DivToken, js.ModToken, js.ExpToken, js.LtLtToken, js.GtGtToken, js.GtGtGtToken, js.BitAndToken, js.BitOrToken, js.BitXorToken,
	js.LtToken, js.LtEqToken, js.GtToken, js.GtEqToken, js.EqEqToken, js.NotEqToken, js.EqEqEqToken, js.NotEqEqToken, js.InToken, js.InstanceofToken,
}

func (r *scriptReader) binary(e *js.BinaryExpr) *expr {
	switch e.Op {
	case js.EqToken:
		defaults := block()
		t := r.assignable(e.X, defaults)
		defaults.kids = append(defaults.kids, assign(t, r.expr(e.Y)))
		return defaults
	case js.AndEqToken, js.OrEqToken, js.NullishEqToken:
		return assign(r.assignable(e.X, nil), &expr{op: opOr, kids: []*expr{r.expr(e.X), r.expr(e.Y)}})
	case js.AddEqToken:
		return &expr{op: opAdd, text: "+=", kids: []*expr{r.assignable(e.X, nil), r.expr(e.Y)}}
	case js.SubEqToken, js.MulEqToken, js.DivEqToken, js.ModEqToken, js.ExpEqToken, js.LtLtEqToken, js.GtGtEqToken, js.GtGtGtEqToken, js.BitAndEqToken, js.BitOrEqToken, js.BitXorEqToken:
		return assign(r.assignable(e.X, nil), number(r.expr(e.X), r.expr(e.Y)))
	case js.AndToken, js.OrToken, js.NullishToken:
		return &expr{op: opOr, kids: []*expr{r.expr(e.X), r.expr(e.Y)}}
	case js.AddToken:
		return r.sum(e)
	}
	if !slices.Contains(arithmetic, e.Op) {
		r.fail("the operator %s", e.Op)
	}
	if r.types && slices.Contains([]js.TokenType{js.GtToken, js.GtGtToken, js.GtGtGtToken}, e.Op) {
		switch e.Y.(type) {
		case *js.GroupExpr, *js.TemplateExpr, *js.ArrayExpr:
			r.fail("what TypeScript may take for arguments of a type")
		}
	}
	x, private := e.X.(*js.Var)
	if private && strings.HasPrefix(string(x.Data), "#") {
		return number(r.expr(e.Y))
	}
	return number(r.expr(e.X), r.expr(e.Y))
}

// sum is a chain of additions, as one text of many.
func (r *scriptReader) sum(e *js.BinaryExpr) *expr {
	var parts []js.IExpr
	var left js.IExpr = e
	for {
		b, ok := left.(*js.BinaryExpr)
		if !ok || b.Op != js.AddToken {
			break
		}
		parts = append(parts, b.Y)
		left = b.X
	}
	parts = append(parts, left)
	slices.Reverse(parts)
	return &expr{op: opJoin, kids: r.all(parts)}
}

func (r *scriptReader) assigned(to js.IExpr, v *expr) *expr {
	out := block()
	t := r.assignable(to, out)
	out.kids = append([]*expr{assign(t, v)}, out.kids...)
	return out
}

// assignable is an expression that something is assigned to: a pattern, where it
// looks like a list or an object. Without defaults it is none.
func (r *scriptReader) assignable(e js.IExpr, defaults *expr) *expr {
	defer r.deeper()()
	element := func(e js.IExpr) *expr {
		b, ok := e.(*js.BinaryExpr)
		if !ok || b.Op != js.EqToken {
			return r.assignable(e, defaults)
		}
		t := r.assignable(b.X, defaults)
		defaults.kids = append(defaults.kids, assign(t, r.expr(b.Y)))
		return t
	}
	switch e := e.(type) {
	case *js.GroupExpr:
		return r.assignable(e.X, defaults)
	case *js.Var, *js.DotExpr, *js.IndexExpr:
		return r.expr(e)
	case *js.ArrayExpr:
		list := &expr{op: opList}
		for _, k := range e.List {
			switch {
			case defaults == nil:
				r.fail("an assignment to a list")
			case k.Value == nil:
				list.kids = append(list.kids, name("%none"))
			case k.Spread:
				list.kids = append(list.kids, unary(opElem, r.assignable(k.Value, defaults)))
			default:
				list.kids = append(list.kids, element(k.Value))
			}
		}
		return list
	case *js.ObjectExpr:
		dict := &expr{op: opDict}
		for _, p := range e.List {
			if _, method := p.Value.(*js.MethodDecl); method || defaults == nil || p.Name == nil && !p.Spread {
				r.fail("an assignment to an object")
			}
			if p.Spread {
				dict.kids = append(dict.kids, unary(opElem, data()), r.assignable(p.Value, defaults))
				continue
			}
			t := element(p.Value)
			if p.Init != nil {
				defaults.kids = append(defaults.kids, assign(t, r.expr(p.Init)))
			}
			dict.kids = append(dict.kids, r.property(*p.Name), t)
		}
		return dict
	}
	r.fail("an assignment to what is no variable")
	return nil
}
