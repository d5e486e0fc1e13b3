package javascript

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

func (r *reader) list(stmts []js.IStmt) (out []*tree.Expr) {
	for _, s := range stmts {
		out = append(out, r.stmt(s))
	}
	return out
}

func (r *reader) stmt(s js.IStmt) *tree.Expr {
	defer r.deeper()()
	switch s := s.(type) {
	case nil, *js.EmptyStmt, *js.DebuggerStmt, *js.BranchStmt, *js.Comment, *js.DirectivePrologueStmt:
		return tree.Block()
	case *js.BlockStmt:
		return tree.Block(r.list(s.List)...)
	case *js.ExprStmt:
		return r.expr(s.Value)
	case *js.IfStmt:
		return tree.Block(r.expr(s.Cond), r.stmt(s.Body), r.stmt(s.Else))
	case *js.DoWhileStmt:
		return tree.Block(r.stmt(s.Body), r.expr(s.Cond))
	case *js.WhileStmt:
		return tree.Block(r.expr(s.Cond), r.stmt(s.Body))
	case *js.ForStmt:
		return tree.Block(r.expr(s.Init), r.expr(s.Cond), r.expr(s.Post), tree.Block(r.list(s.Body.List)...))
	case *js.ForInStmt:
		return tree.Block(r.loop(s.Init, tree.Data(r.expr(s.Value))), tree.Block(r.list(s.Body.List)...))
	case *js.ForOfStmt:
		return tree.Block(r.loop(s.Init, tree.Unary(tree.OpElem, r.expr(s.Value))), tree.Block(r.list(s.Body.List)...))
	case *js.SwitchStmt:
		out := tree.Block(r.expr(s.Init))
		for _, c := range s.List {
			out.Kids = append(out.Kids, r.expr(c.Cond))
			out.Kids = append(out.Kids, r.list(c.List)...)
		}
		return out
	case *js.ReturnStmt:
		return tree.Unary(tree.OpReturn, r.expr(s.Value))
	case *js.LabelledStmt:
		return r.stmt(s.Value)
	case *js.ThrowStmt:
		return tree.Assign(tree.Name("%thrown"), r.expr(s.Value))
	case *js.TryStmt:
		out := tree.Block(tree.Block(r.list(s.Body.List)...))
		if s.Binding != nil {
			out.Kids = append(out.Kids, tree.Assign(tree.Name("%thrown"), tree.Data()), r.bind(s.Binding, tree.Name("%thrown")))
		}
		for _, b := range []*js.BlockStmt{s.Catch, s.Finally} {
			if b != nil {
				out.Kids = append(out.Kids, r.list(b.List)...)
			}
		}
		return out
	case *js.VarDecl:
		return r.expr(s)
	case *js.FuncDecl:
		return r.expr(s)
	case *js.ClassDecl:
		return r.expr(s)
	case *js.ImportStmt:
		return r.imports(s)
	case *js.ExportStmt:
		if s.Module != nil {
			return &tree.Expr{Op: tree.OpImport, Text: r.text(string(s.Module[1 : len(s.Module)-1])), Keys: []string{" as %none"}}
		}
		return r.expr(s.Decl)
	}
	r.fail("a statement of the kind %T", s)
	return nil
}

// loop binds what a loop takes.
func (r *reader) loop(init js.IExpr, v *tree.Expr) *tree.Expr {
	if d, ok := init.(*js.VarDecl); ok {
		if len(d.List) != 1 {
			r.fail("a loop over two variables")
		}
		return r.bind(d.List[0].Binding, v)
	}
	return r.assigned(init, v)
}

// declared is let, const or var.
func (r *reader) declared(d *js.VarDecl) *tree.Expr {
	out := tree.Block()
	for _, e := range d.List {
		v := &tree.Expr{Op: tree.OpOr}
		if e.Default != nil {
			v = r.expr(e.Default)
		}
		out.Kids = append(out.Kids, r.bind(e.Binding, v))
	}
	return out
}

// bind gives the variables of a pattern their values.
func (r *reader) bind(b js.IBinding, v *tree.Expr) *tree.Expr {
	out := tree.Block()
	target := r.target(b, out)
	out.Kids = append([]*tree.Expr{tree.Assign(target, v)}, out.Kids...)
	return out
}

// target is a pattern as the target of an assignment. The values that stand for
// those that are missing are assigned in defaults.
func (r *reader) target(b js.IBinding, defaults *tree.Expr) *tree.Expr {
	defer r.deeper()()
	element := func(e js.BindingElement) *tree.Expr {
		if e.Binding == nil {
			return tree.Name("%none")
		}
		t := r.target(e.Binding, defaults)
		if e.Default != nil {
			defaults.Kids = append(defaults.Kids, tree.Assign(t, r.expr(e.Default)))
		}
		return t
	}
	switch b := b.(type) {
	case *js.Var:
		return r.variable(b)
	case *js.BindingArray:
		list := &tree.Expr{Op: tree.OpList}
		for _, e := range b.List {
			list.Kids = append(list.Kids, element(e))
		}
		if b.Rest != nil {
			list.Kids = append(list.Kids, tree.Unary(tree.OpElem, r.target(b.Rest, defaults)))
		}
		return list
	case *js.BindingObject:
		dict := &tree.Expr{Op: tree.OpDict}
		for _, item := range b.List {
			var key *tree.Expr
			if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
				key = tree.Text(string(v.Data))
			} else {
				key = r.property(*item.Key)
			}
			dict.Kids = append(dict.Kids, key, element(item.Value))
		}
		if b.Rest != nil {
			dict.Kids = append(dict.Kids, tree.Unary(tree.OpElem, tree.Data()), r.variable(b.Rest))
		}
		return dict
	}
	r.fail("a pattern of the kind %T", b)
	return nil
}

// function is one that is declared or written as an expression. All but arrows
// have a "this" of their own, as the first of their parameters.
func (r *reader) function(called string, arrow, async bool, params js.Params, body js.BlockStmt) *tree.Expr {
	outer := *r
	f := &tree.Expr{Op: tree.OpFunc, Text: called}
	if r.async = async; !arrow {
		r.this = r.fresh("this")
		f.Keys = []string{r.this}
	}
	start := tree.Block()
	parameter := func(star string, e js.BindingElement) {
		t := r.target(e.Binding, start)
		if e.Default != nil {
			start.Kids = append(start.Kids, tree.Assign(t, r.expr(e.Default)))
		}
		if t.Op == tree.OpName {
			f.Keys = append(f.Keys, star+t.Text)
			return
		}
		n := r.fresh("parameter")
		f.Keys = append(f.Keys, star+n)
		start.Kids = append([]*tree.Expr{tree.Assign(t, tree.Name(n))}, start.Kids...)
	}
	for _, p := range params.List {
		parameter("", p)
	}
	if params.Rest != nil {
		parameter("*", js.BindingElement{Binding: params.Rest})
	}
	f.Kids = append([]*tree.Expr{start}, r.list(body.List)...)
	r.this, r.async = outer.this, outer.async
	return f
}

func (r *reader) declaredFunction(d *js.FuncDecl) *tree.Expr {
	called := ""
	if d.Name != nil {
		called = r.variable(d.Name).Text
	}
	return r.function(called, false, d.Async, d.Params, d.Body)
}

func (r *reader) method(m *js.MethodDecl, called string) *tree.Expr {
	switch {
	case called != "" && m.Get: // of a class: see flow
		return r.function("get "+called, false, m.Async, m.Params, m.Body)
	case called != "" && m.Set:
		return r.function("set "+called, false, m.Async, m.Params, m.Body)
	case m.Get || m.Set:
		return unseen("a getter or a setter", r.function("", false, m.Async, m.Params, m.Body))
	}
	return r.function(called, false, m.Async, m.Params, m.Body)
}

// class is one of the program's own.
func (r *reader) class(c *js.ClassDecl) *tree.Expr {
	out := &tree.Expr{Op: tree.OpClass}
	around := tree.Block(out)
	if c.Name != nil {
		out.Text = r.variable(c.Name).Text
	}
	if base, ok := c.Extends.(*js.Var); c.Extends != nil && (!ok || !strings.HasSuffix(string(base.Data), "Error") || base.Decl != js.NoDecl) {
		out.Keys, out.Kids = []string{""}, []*tree.Expr{r.expr(c.Extends)}
	}
	var init *tree.Expr
	var fields []js.Field
	for _, e := range c.List {
		switch {
		case e.StaticBlock != nil:
			out.Kids = append(out.Kids, unseen("a static block", r.list(e.StaticBlock.List)...))
		case e.Method == nil && e.Static:
			out.Kids = append(out.Kids, unseen("a static field", r.expr(e.Field.Init)))
		case e.Method == nil:
			fields = append(fields, e.Field)
		default:
			called := "__iter__"
			if e.Method.Generator && r.iterates(e.Method.Name) {
				out.Kids = append(out.Kids, r.expr(e.Method.Name.Computed))
			} else {
				called = r.elementName(e.Method.Name, out)
			}
			m := r.method(e.Method, called)
			if called == "constructor" && !e.Method.Static && m.Op == tree.OpFunc {
				m.Text, init = "__init__", m
			}
			out.Kids = append(out.Kids, m)
		}
	}
	if len(fields) > 0 {
		r.fields(out, init, fields)
	}
	return around
}

// fields are set by the constructor of a class, init, or by one that is made up.
func (r *reader) fields(class, init *tree.Expr, fields []js.Field) {
	if init == nil {
		this := r.fresh("this")
		rest := r.fresh("rest")
		init = &tree.Expr{Op: tree.OpFunc, Text: "__init__", Keys: []string{this, "*" + rest}}
		if len(class.Keys) > 0 {
			init.Kids = []*tree.Expr{{Op: tree.OpCall, Kids: []*tree.Expr{tree.Attr(tree.Name("%super"), "__init__"), tree.Name(rest)}, Keys: []string{"", "*"}}}
		}
		class.Kids = append(class.Kids, init)
	}
	outer := r.this
	r.this = init.Keys[0]
	for _, f := range fields {
		init.Kids = append(init.Kids, tree.Assign(tree.Attr(tree.Name(r.this), r.elementName(f.Name, class)), r.expr(f.Init)))
	}
	r.this = outer
}

// elementName is what a member of a class is called. One whose name is computed
// is unseen.
func (r *reader) elementName(n js.ClassElementName, class *tree.Expr) string {
	if n.Private != nil {
		return string(n.Private.Data)
	}
	key := r.property(n.PropertyName)
	if key.Op != tree.OpText || strings.HasPrefix(key.Text, "__") {
		class.Kids = append(class.Kids, unseen("a member whose name is computed", key))
		return r.fresh("member")
	}
	return key.Text
}

// iterates reports whether a member of a class is what a loop over its objects goes through.
func (r *reader) iterates(n js.ClassElementName) bool {
	if n.Private != nil || !n.PropertyName.IsComputed() {
		return false
	}
	key := r.expr(n.PropertyName.Computed)
	return key.Op == tree.OpAttr && (key.Text == "iterator" || key.Text == "asyncIterator") && key.Kids[0].Op == tree.OpName && key.Kids[0].Text == "Symbol"
}

func (r *reader) imports(s *js.ImportStmt) *tree.Expr {
	e := &tree.Expr{Op: tree.OpImport, Text: r.text(string(s.Module[1 : len(s.Module)-1]))}
	if s.Default != nil {
		e.Keys = append(e.Keys, "default as "+r.identifier(s.Default))
	}
	for _, a := range s.List {
		switch bound := string(a.Binding); {
		case a.Binding == nil: // behind a last comma
		case string(a.Name) == "*":
			e.Keys = append(e.Keys, " as "+bound)
		case a.Name == nil:
			e.Keys = append(e.Keys, r.identifier(a.Binding)+" as "+bound)
		case a.Name[0] == '"' || a.Name[0] == '\'':
			r.fail("an import by a text")
		default:
			e.Keys = append(e.Keys, r.identifier(a.Name)+" as "+r.identifier(a.Binding))
		}
	}
	if len(e.Keys) == 0 {
		e.Keys = []string{" as %none"}
	}
	return e
}
