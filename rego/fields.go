package rego

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// words are the strings that facts hold again and again: the names of fields,
// and the values that they most often have. Their terms are made once.
const words = `
program argv via unresolved unbound stdin env name value seen whole but_files but_project project path clean access inside class
verb where object tables url scheme host kind pointer
id mode auto ask deny balanced strict setting default server arguments arguments_raw cwd
category impact commands paths sql urls secrets parse_errors suspicious_text recursive force
pass build exec network spawn database message unknown read write delete secret persistence system pipe heredoc file select http https
`

// terms are the terms of words. They are shared, and never change.
var terms = func() map[string]*ast.Term {
	m := map[string]*ast.Term{}
	for w := range strings.FieldsSeq(words) {
		m[w] = ast.StringTerm(w)
	}
	return m
}()

func term(s string) *ast.Term {
	if t, ok := terms[s]; ok {
		return t
	}
	return ast.StringTerm(s)
}

// fields collects the fields of one object of input as OPA's own values. That
// suits what policies read in full, such as facts: what they may leave unread
// is cheaper as one of Go's maps, which OPA converts when asked.
type fields [][2]*ast.Term

func newFields(n int) fields { return make(fields, 0, n) }

func (f *fields) put(name string, t *ast.Term) { *f = append(*f, [2]*ast.Term{term(name), t}) }

func (f *fields) text(name, s string) { f.put(name, term(s)) }

func (f *fields) flag(name string, b bool) { f.put(name, ast.InternedTerm(b)) }

// optionalFlag leaves out what is false.
func (f *fields) optionalFlag(name string, b bool) {
	if b {
		f.flag(name, b)
	}
}

// optional leaves out what is empty.
func (f *fields) optional(name, s string) {
	if s != "" {
		f.text(name, s)
	}
}

func (f *fields) list(name string, list []string) {
	items := make([]*ast.Term, len(list))
	for i, s := range list {
		items[i] = term(s)
	}
	f.put(name, &ast.Term{Value: ast.NewArray(items...)})
}

// optionalList leaves out what is empty.
func (f *fields) optionalList(name string, list []string) {
	if len(list) > 0 {
		f.list(name, list)
	}
}

// putList adds a list of objects, and leaves out an empty one.
func putList[T any](f *fields, name string, list []T, convert func(T) fields) {
	if len(list) == 0 {
		return
	}
	items := make([]*ast.Term, len(list))
	for i, v := range list {
		items[i] = ast.ObjectTerm(convert(v)...)
	}
	f.put(name, &ast.Term{Value: ast.NewArray(items...)})
}
