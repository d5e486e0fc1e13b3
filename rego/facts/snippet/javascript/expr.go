package javascript

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

func (r *reader) all(list []js.IExpr) (out []*tree.Expr) {
	for _, e := range list {
		out = append(out, r.expr(e))
	}
	return out
}

func (r *reader) expr(e js.IExpr) *tree.Expr {
	defer r.deeper()()
	switch e := e.(type) {
	case nil:
		return &tree.Expr{Op: tree.OpOr} // undefined
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
		return tree.Binary(tree.OpItem, r.expr(e.X), r.expr(e.Y))
	case *js.CallExpr:
		return r.call(e)
	case *js.NewExpr:
		out := &tree.Expr{Op: tree.OpNew, Kids: []*tree.Expr{r.expr(e.X)}, Keys: []string{""}}
		if e.Args != nil {
			r.arguments(out, *e.Args)
		}
		return out
	case *js.UnaryExpr:
		return r.unary(e)
	case *js.BinaryExpr:
		return r.binary(e)
	case *js.CondExpr:
		return tree.Block(r.expr(e.Cond), &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{r.expr(e.X), r.expr(e.Y)}})
	case *js.CommaExpr:
		return tree.Block(r.all(e.List)...)
	case *js.YieldExpr:
		v := r.expr(e.X)
		if !e.Generator {
			v = &tree.Expr{Op: tree.OpList, Kids: []*tree.Expr{v}}
		}
		return tree.Block(tree.Unary(tree.OpReturn, v), tree.Data())
	case *js.ArrowFunc:
		return r.function("", true, e.Async, e.Params, e.Body)
	case *js.FuncDecl:
		return r.declaredFunction(e)
	case *js.ClassDecl:
		return r.class(e)
	case *js.VarDecl:
		return r.declared(e)
	case *js.ImportMetaExpr:
		return tree.Name("import.meta")
	case *js.NewTargetExpr:
		return unseen("new.target")
	}
	r.fail("an expression of the kind %T", e)
	return nil
}

func (r *reader) literal(l js.LiteralExpr) *tree.Expr {
	switch l.TokenType {
	case js.StringToken:
		return tree.Text(r.text(string(l.Data[1 : len(l.Data)-1])))
	case js.TrueToken, js.FalseToken, js.NullToken:
		return number()
	case js.RegExpToken:
		return tree.Data()
	case js.ThisToken:
		return tree.Name(r.this)
	case js.SuperToken:
		return tree.Name("%super")
	}
	if js.IsNumeric(l.TokenType) {
		return &tree.Expr{Op: tree.OpNumber, Text: string(l.Data)}
	}
	r.fail("%s by itself", l.Data)
	return nil
}

func (r *reader) array(a *js.ArrayExpr) *tree.Expr {
	list := &tree.Expr{Op: tree.OpList}
	for _, e := range a.List {
		switch {
		case e.Value == nil:
			list.Kids = append(list.Kids, tree.Data())
		case e.Spread:
			list.Kids = append(list.Kids, tree.Unary(tree.OpElem, r.expr(e.Value)))
		default:
			list.Kids = append(list.Kids, r.expr(e.Value))
		}
	}
	return list
}

// objectOf is an object that is written down: keys and values in turn. What is
// spread stands behind an opElem.
func (r *reader) objectOf(o *js.ObjectExpr) *tree.Expr {
	dict := &tree.Expr{Op: tree.OpDict}
	for _, p := range o.List {
		switch m, method := p.Value.(*js.MethodDecl); {
		case p.Spread:
			dict.Kids = append(dict.Kids, tree.Unary(tree.OpElem, tree.Data()), r.expr(p.Value))
		case method && m.Name.Private != nil, p.Init != nil:
			r.fail("an object that is none")
		case method:
			dict.Kids = append(dict.Kids, r.property(m.Name.PropertyName), r.method(m, ""))
		case p.Name == nil:
			r.fail("a property without a name")
		default:
			dict.Kids = append(dict.Kids, r.property(*p.Name), r.expr(p.Value))
		}
	}
	return dict
}

func (r *reader) template(t *js.TemplateExpr) *tree.Expr {
	join := &tree.Expr{Op: tree.OpJoin}
	cooked := func(raw []byte, end int) {
		join.Kids = append(join.Kids, tree.Text(r.text(string(raw[1:len(raw)-end]))))
	}
	if t.Tag != nil {
		out := []*tree.Expr{r.expr(t.Tag)}
		for _, p := range t.List {
			out = append(out, r.expr(p.Expr))
		}
		if tag := out[0]; tag.Op == tree.OpAttr && tag.Text == "raw" && tag.Kids[0].Op == tree.OpName && tag.Kids[0].Text == "String" {
			return tree.Data(out...)
		}
		return unseen("a template with a tag", out...)
	}
	for _, p := range t.List {
		cooked(p.Value, 2)
		join.Kids = append(join.Kids, r.expr(p.Expr))
	}
	cooked(t.Tail, 1)
	return join
}

func (r *reader) dot(e *js.DotExpr) *tree.Expr {
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
	return tree.Attr(of, called)
}

func (r *reader) call(e *js.CallExpr) *tree.Expr {
	out := &tree.Expr{Op: tree.OpCall, Keys: []string{""}}
	callee, _ := e.X.(*js.LiteralExpr)
	switch {
	case callee != nil && callee.TokenType == js.ImportToken:
		out.Kids = []*tree.Expr{tree.Name("import")}
	case callee != nil && callee.TokenType == js.SuperToken:
		out.Kids = []*tree.Expr{tree.Attr(tree.Name("%super"), "__init__")}
	default:
		out.Kids = []*tree.Expr{r.expr(e.X)}
	}
	r.arguments(out, e.Args)
	return out
}

func (r *reader) arguments(to *tree.Expr, args js.Args) {
	for _, a := range args.List {
		key := ""
		if a.Rest {
			key = "*"
		}
		to.Kids = append(to.Kids, r.expr(a.Value))
		to.Keys = append(to.Keys, key)
	}
}

func (r *reader) unary(e *js.UnaryExpr) *tree.Expr {
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

func (r *reader) binary(e *js.BinaryExpr) *tree.Expr {
	switch e.Op {
	case js.EqToken:
		defaults := tree.Block()
		t := r.assignable(e.X, defaults)
		defaults.Kids = append(defaults.Kids, tree.Assign(t, r.expr(e.Y)))
		return defaults
	case js.AndEqToken, js.OrEqToken, js.NullishEqToken:
		return tree.Assign(r.assignable(e.X, nil), &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{r.expr(e.X), r.expr(e.Y)}})
	case js.AddEqToken:
		return &tree.Expr{Op: tree.OpAdd, Text: "+=", Kids: []*tree.Expr{r.assignable(e.X, nil), r.expr(e.Y)}}
	case js.SubEqToken, js.MulEqToken, js.DivEqToken, js.ModEqToken, js.ExpEqToken, js.LtLtEqToken, js.GtGtEqToken, js.GtGtGtEqToken, js.BitAndEqToken, js.BitOrEqToken, js.BitXorEqToken:
		return tree.Assign(r.assignable(e.X, nil), number(r.expr(e.X), r.expr(e.Y)))
	case js.AndToken, js.OrToken, js.NullishToken:
		return &tree.Expr{Op: tree.OpOr, Kids: []*tree.Expr{r.expr(e.X), r.expr(e.Y)}}
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
func (r *reader) sum(e *js.BinaryExpr) *tree.Expr {
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
	return &tree.Expr{Op: tree.OpJoin, Kids: r.all(parts)}
}

func (r *reader) assigned(to js.IExpr, v *tree.Expr) *tree.Expr {
	out := tree.Block()
	t := r.assignable(to, out)
	out.Kids = append([]*tree.Expr{tree.Assign(t, v)}, out.Kids...)
	return out
}

// assignable is an expression that something is assigned to: a pattern, where it
// looks like a list or an object. Without defaults it is none.
func (r *reader) assignable(e js.IExpr, defaults *tree.Expr) *tree.Expr {
	defer r.deeper()()
	element := func(e js.IExpr) *tree.Expr {
		b, ok := e.(*js.BinaryExpr)
		if !ok || b.Op != js.EqToken {
			return r.assignable(e, defaults)
		}
		t := r.assignable(b.X, defaults)
		defaults.Kids = append(defaults.Kids, tree.Assign(t, r.expr(b.Y)))
		return t
	}
	switch e := e.(type) {
	case *js.GroupExpr:
		return r.assignable(e.X, defaults)
	case *js.Var, *js.DotExpr, *js.IndexExpr:
		return r.expr(e)
	case *js.ArrayExpr:
		list := &tree.Expr{Op: tree.OpList}
		for _, k := range e.List {
			switch {
			case defaults == nil:
				r.fail("an assignment to a list")
			case k.Value == nil:
				list.Kids = append(list.Kids, tree.Name("%none"))
			case k.Spread:
				list.Kids = append(list.Kids, tree.Unary(tree.OpElem, r.assignable(k.Value, defaults)))
			default:
				list.Kids = append(list.Kids, element(k.Value))
			}
		}
		return list
	case *js.ObjectExpr:
		dict := &tree.Expr{Op: tree.OpDict}
		for _, p := range e.List {
			if _, method := p.Value.(*js.MethodDecl); method || defaults == nil || p.Name == nil && !p.Spread {
				r.fail("an assignment to an object")
			}
			if p.Spread {
				dict.Kids = append(dict.Kids, tree.Unary(tree.OpElem, tree.Data()), r.assignable(p.Value, defaults))
				continue
			}
			t := element(p.Value)
			if p.Init != nil {
				defaults.Kids = append(defaults.Kids, tree.Assign(t, r.expr(p.Init)))
			}
			dict.Kids = append(dict.Kids, r.property(*p.Name), t)
		}
		return dict
	}
	r.fail("an assignment to what is no variable")
	return nil
}
