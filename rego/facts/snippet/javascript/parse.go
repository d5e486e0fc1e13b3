// Package javascript reads JavaScript, and TypeScript without its types, into a tree. It is
// strict: what it does not know is an error.
package javascript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// A reader makes expressions of a parsed JavaScript program. It is
// strict: what it does not know is an error, and so is what one JavaScript
// engine, or a script and a module, would read in different ways.
type reader struct {
	types bool   // the runtime reads TypeScript
	this  string // the variable that "this" is
	async bool   // await is a keyword here, in scripts as in modules
	made  int    // names that were made up
	depth int
	inner map[*js.Var]string // names of variables that are not the program's own scope's
	outer js.VarArray        // those that are
}

// Parse reads a program. A runtime with types is one that takes
// TypeScript too: what the two languages read differently is an error.
func Parse(src string, types bool) (program *tree.Expr, err error) {
	if err := plain(src); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			var fault tree.SyntaxError
			if e, ok := r.(error); !ok || !errors.As(e, &fault) {
				fault = tree.SyntaxError{What: "the parser fails"}
			}
			program, err = nil, fault
		}
	}()
	ast, err := js.Parse(parse.NewInputString(src), js.Options{})
	if err != nil {
		return nil, fmt.Errorf("no JavaScript: %.80s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	r := &reader{types: types, this: "this", inner: make(map[*js.Var]string), outer: ast.Scope.Declared}
	return tree.Block(r.list(ast.List)...), nil
}

// plain refuses text whose comments depend on whether a script or a module
// is read, and bytes that hide what is there.
func plain(src string) error {
	switch {
	case !utf8.ValidString(src):
		return errors.New("bytes that are no UTF-8")
	case strings.ContainsRune(src, 0):
		return errors.New("a NUL")
	case strings.Contains(src, "<!--"):
		return errors.New("an HTML comment")
	}
	for rest := src; ; {
		at := strings.Index(rest, "-->")
		if at < 0 {
			return nil
		}
		before := strings.TrimRightFunc(rest[:at], func(r rune) bool {
			return r != '\n' && r != '\r' && r != '\u2028' && r != '\u2029' && (unicode.IsSpace(r) || r == '\ufeff')
		})
		last, _ := utf8.DecodeLastRuneInString(before)
		if before == "" || strings.HasSuffix(before, "*/") || strings.ContainsRune("\n\r\u2028\u2029", last) {
			return errors.New("an HTML comment")
		}
		rest = rest[at+3:]
	}
}

func (r *reader) fail(format string, args ...any) {
	panic(tree.SyntaxError{What: fmt.Sprintf(format, args...)})
}

// deeper counts the nesting of expressions and statements.
func (r *reader) deeper() func() {
	if r.depth++; r.depth > tree.MaxNesting*4 {
		r.fail("it nests too deep")
	}
	return func() { r.depth-- }
}

// fresh is a name that no program can write.
func (r *reader) fresh(of string) string {
	r.made++
	return fmt.Sprintf("%s#%d", of, r.made)
}

// unseen is an expression of which nothing is known but its operands.
func unseen(what string, kids ...*tree.Expr) *tree.Expr {
	return tree.Block(append(kids, tree.Name(what))...)
}

// number is a number made of the operands.
func number(kids ...*tree.Expr) *tree.Expr { return &tree.Expr{Op: tree.OpNumber, Kids: kids} }

// reserved are names that mean something else in a module than in a script.
var reserved = strings.Fields("await yield async let")

// variable is one by its name. Those that are bound by let, const, class or as
// parameters hide what the language has under their name, and in a scope within the
// program they are no other variable of the same name.
func (r *reader) variable(v *js.Var) *tree.Expr {
	for v.Link != nil {
		v = v.Link
	}
	n := tree.Name(r.identifier(v.Data))
	switch v.Decl {
	case js.ArgumentDecl, js.LexicalDecl, js.CatchDecl:
		n.Keys = hides
		if slices.Contains(r.outer, v) {
			break
		}
		if r.inner[v] == "" {
			r.inner[v] = fmt.Sprintf("%s~%d", n.Text, len(r.inner)+1)
		}
		n.Text = r.inner[v]
	}
	return n
}

// hides marks a name that is surely the program's own.
var hides = []string{"own"}

func (r *reader) identifier(data []byte) string {
	s := string(data)
	if strings.ContainsRune(s, '\\') || slices.Contains(reserved, s) {
		r.fail("the name %s", s)
	}
	return s
}

// property is the key of a property, a text where it is written down.
func (r *reader) property(n js.PropertyName) *tree.Expr {
	if n.IsComputed() {
		return r.expr(n.Computed)
	}
	data := string(n.Literal.Data)
	if n.Literal.TokenType == js.StringToken {
		data = r.text(data[1 : len(data)-1])
	}
	if strings.ContainsRune(data, '\\') && n.Literal.TokenType != js.StringToken {
		r.fail("the name %s", data)
	}
	return tree.Text(data)
}
