package snippet

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

func (r *scriptReader) list(stmts []js.IStmt) (out []*expr) {
	for _, s := range stmts {
		out = append(out, r.stmt(s))
	}
	return out
}

func (r *scriptReader) stmt(s js.IStmt) *expr {
	defer r.deeper()()
	switch s := s.(type) {
	case nil, *js.EmptyStmt, *js.DebuggerStmt, *js.BranchStmt, *js.Comment, *js.DirectivePrologueStmt:
		return block()
	case *js.BlockStmt:
		return block(r.list(s.List)...)
	case *js.ExprStmt:
		return r.expr(s.Value)
	case *js.IfStmt:
		return block(r.expr(s.Cond), r.stmt(s.Body), r.stmt(s.Else))
	case *js.DoWhileStmt:
		return block(r.stmt(s.Body), r.expr(s.Cond))
	case *js.WhileStmt:
		return block(r.expr(s.Cond), r.stmt(s.Body))
	case *js.ForStmt:
		return block(r.expr(s.Init), r.expr(s.Cond), r.expr(s.Post), block(r.list(s.Body.List)...))
	case *js.ForInStmt:
		return block(r.loop(s.Init, data(r.expr(s.Value))), block(r.list(s.Body.List)...))
	case *js.ForOfStmt:
		return block(r.loop(s.Init, unary(opElem, r.expr(s.Value))), block(r.list(s.Body.List)...))
	case *js.SwitchStmt:
		out := block(r.expr(s.Init))
		for _, c := range s.List {
			out.kids = append(out.kids, r.expr(c.Cond))
			out.kids = append(out.kids, r.list(c.List)...)
		}
		return out
	case *js.ReturnStmt:
		return unary(opReturn, r.expr(s.Value))
	case *js.LabelledStmt:
		return r.stmt(s.Value)
	case *js.ThrowStmt:
		return assign(name("%thrown"), r.expr(s.Value))
	case *js.TryStmt:
		out := block(block(r.list(s.Body.List)...))
		if s.Binding != nil {
			out.kids = append(out.kids, assign(name("%thrown"), data()), r.bind(s.Binding, name("%thrown")))
		}
		for _, b := range []*js.BlockStmt{s.Catch, s.Finally} {
			if b != nil {
				out.kids = append(out.kids, r.list(b.List)...)
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
			return &expr{op: opImport, text: r.text(string(s.Module[1 : len(s.Module)-1])), keys: []string{" as %none"}}
		}
		return r.expr(s.Decl)
	}
	r.fail("a statement of the kind %T", s)
	return nil
}

// loop binds what a loop takes.
func (r *scriptReader) loop(init js.IExpr, v *expr) *expr {
	if d, ok := init.(*js.VarDecl); ok {
		if len(d.List) != 1 {
			r.fail("a loop over two variables")
		}
		return r.bind(d.List[0].Binding, v)
	}
	return r.assigned(init, v)
}

// declared is let, const or var.
func (r *scriptReader) declared(d *js.VarDecl) *expr {
	out := block()
	for _, e := range d.List {
		v := &expr{op: opOr}
		if e.Default != nil {
			v = r.expr(e.Default)
		}
		out.kids = append(out.kids, r.bind(e.Binding, v))
	}
	return out
}

// bind gives the variables of a pattern their values.
func (r *scriptReader) bind(b js.IBinding, v *expr) *expr {
	out := block()
	target := r.target(b, out)
	out.kids = append([]*expr{assign(target, v)}, out.kids...)
	return out
}

// target is a pattern as the target of an assignment. The values that stand for
// those that are missing are assigned in defaults.
func (r *scriptReader) target(b js.IBinding, defaults *expr) *expr {
	defer r.deeper()()
	element := func(e js.BindingElement) *expr {
		if e.Binding == nil {
			return name("%none")
		}
		t := r.target(e.Binding, defaults)
		if e.Default != nil {
			defaults.kids = append(defaults.kids, assign(t, r.expr(e.Default)))
		}
		return t
	}
	switch b := b.(type) {
	case *js.Var:
		return r.variable(b)
	case *js.BindingArray:
		list := &expr{op: opList}
		for _, e := range b.List {
			list.kids = append(list.kids, element(e))
		}
		if b.Rest != nil {
			list.kids = append(list.kids, unary(opElem, r.target(b.Rest, defaults)))
		}
		return list
	case *js.BindingObject:
		dict := &expr{op: opDict}
		for _, item := range b.List {
			var key *expr
			if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
				key = text(string(v.Data))
			} else {
				key = r.property(*item.Key)
			}
			dict.kids = append(dict.kids, key, element(item.Value))
		}
		if b.Rest != nil {
			dict.kids = append(dict.kids, unary(opElem, data()), r.variable(b.Rest))
		}
		return dict
	}
	r.fail("a pattern of the kind %T", b)
	return nil
}

// function is one that is declared or written as an expression. All but arrows
// have a "this" of their own, as the first of their parameters.
func (r *scriptReader) function(called string, arrow, async bool, params js.Params, body js.BlockStmt) *expr {
	outer := *r
	f := &expr{op: opFunc, text: called}
	if r.async = async; !arrow {
		r.this = r.fresh("this")
		f.keys = []string{r.this}
	}
	start := block()
	parameter := func(star string, e js.BindingElement) {
		t := r.target(e.Binding, start)
		if e.Default != nil {
			start.kids = append(start.kids, assign(t, r.expr(e.Default)))
		}
		if t.op == opName {
			f.keys = append(f.keys, star+t.text)
			return
		}
		n := r.fresh("parameter")
		f.keys = append(f.keys, star+n)
		start.kids = append([]*expr{assign(t, name(n))}, start.kids...)
	}
	for _, p := range params.List {
		parameter("", p)
	}
	if params.Rest != nil {
		parameter("*", js.BindingElement{Binding: params.Rest})
	}
	f.kids = append([]*expr{start}, r.list(body.List)...)
	r.this, r.async = outer.this, outer.async
	return f
}

func (r *scriptReader) declaredFunction(d *js.FuncDecl) *expr {
	called := ""
	if d.Name != nil {
		called = r.variable(d.Name).text
	}
	return r.function(called, false, d.Async, d.Params, d.Body)
}

func (r *scriptReader) method(m *js.MethodDecl, called string) *expr {
	if m.Get || m.Set {
		return unseen("a getter or a setter", r.function("", false, m.Async, m.Params, m.Body))
	}
	return r.function(called, false, m.Async, m.Params, m.Body)
}

// class is one of the program's own. It stands on its own, or on one of the
// language's errors.
func (r *scriptReader) class(c *js.ClassDecl) *expr {
	out := &expr{op: opClass}
	around := block(out)
	if c.Name != nil {
		out.text = r.variable(c.Name).text
	}
	if base, ok := c.Extends.(*js.Var); c.Extends != nil && (!ok || !strings.HasSuffix(string(base.Data), "Error") || base.Decl != js.NoDecl) {
		around.kids = []*expr{unseen("a class that extends another", r.expr(c.Extends)), out}
	}
	var init *expr
	var fields []js.Field
	for _, e := range c.List {
		switch {
		case e.StaticBlock != nil:
			out.kids = append(out.kids, unseen("a static block", r.list(e.StaticBlock.List)...))
		case e.Method == nil && e.Static:
			out.kids = append(out.kids, unseen("a static field", r.expr(e.Field.Init)))
		case e.Method == nil:
			fields = append(fields, e.Field)
		default:
			called := r.elementName(e.Method.Name, out)
			m := r.method(e.Method, called)
			if called == "constructor" && !e.Method.Static && m.op == opFunc {
				m.text, init = "__init__", m
			}
			out.kids = append(out.kids, m)
		}
	}
	if len(fields) > 0 {
		r.fields(out, init, fields)
	}
	return around
}

// fields are set by the constructor of a class, init, or by one that is made up.
func (r *scriptReader) fields(class, init *expr, fields []js.Field) {
	if init == nil {
		this := r.fresh("this")
		init = &expr{op: opFunc, text: "__init__", keys: []string{this, "*" + r.fresh("rest")}}
		class.kids = append(class.kids, init)
	}
	outer := r.this
	r.this = init.keys[0]
	for _, f := range fields {
		init.kids = append(init.kids, assign(attr(name(r.this), r.elementName(f.Name, class)), r.expr(f.Init)))
	}
	r.this = outer
}

// elementName is what a member of a class is called. One whose name is computed
// is unseen.
func (r *scriptReader) elementName(n js.ClassElementName, class *expr) string {
	if n.Private != nil {
		return string(n.Private.Data)
	}
	key := r.property(n.PropertyName)
	if key.op != opText || strings.HasPrefix(key.text, "__") {
		class.kids = append(class.kids, unseen("a member whose name is computed", key))
		return r.fresh("member")
	}
	return key.text
}

func (r *scriptReader) imports(s *js.ImportStmt) *expr {
	e := &expr{op: opImport, text: r.text(string(s.Module[1 : len(s.Module)-1]))}
	if s.Default != nil {
		e.keys = append(e.keys, "default as "+r.identifier(s.Default))
	}
	for _, a := range s.List {
		switch bound := string(a.Binding); {
		case a.Binding == nil: // behind a last comma
		case string(a.Name) == "*":
			e.keys = append(e.keys, " as "+bound)
		case a.Name == nil:
			e.keys = append(e.keys, r.identifier(a.Binding)+" as "+bound)
		case a.Name[0] == '"' || a.Name[0] == '\'':
			r.fail("an import by a text")
		default:
			e.keys = append(e.keys, r.identifier(a.Name)+" as "+r.identifier(a.Binding))
		}
	}
	if len(e.keys) == 0 {
		e.keys = []string{" as %none"}
	}
	return e
}
