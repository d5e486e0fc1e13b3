package snippet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// A scriptReader makes expressions of a parsed JavaScript program. It is
// strict: what it does not know is an error, and so is what one JavaScript
// engine, or a script and a module, would read in different ways.
type scriptReader struct {
	types bool   // the runtime reads TypeScript
	this  string // the variable that "this" is
	async bool   // await is a keyword here, in scripts as in modules
	made  int    // names that were made up
	depth int
}

// parseScript reads a program. A runtime with types is one that takes
// TypeScript too: what the two languages read differently is an error.
func parseScript(src string, types bool) (program *expr, err error) {
	if err := plainScript(src); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			var fault syntaxError
			if e, ok := r.(error); !ok || !errors.As(e, &fault) {
				fault = syntaxError{what: "the parser fails"}
			}
			program, err = nil, fault
		}
	}()
	ast, err := js.Parse(parse.NewInputString(src), js.Options{})
	if err != nil {
		return nil, fmt.Errorf("no JavaScript: %.80s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	r := &scriptReader{types: types, this: "this"}
	return block(r.list(ast.List)...), nil
}

// plainScript refuses text whose comments depend on whether a script or a module
// is read, and bytes that hide what is there.
func plainScript(src string) error {
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

func (r *scriptReader) fail(format string, args ...any) {
	panic(syntaxError{what: fmt.Sprintf(format, args...)})
}

// deeper counts the nesting of expressions and statements.
func (r *scriptReader) deeper() func() {
	if r.depth++; r.depth > maxNesting*4 {
		r.fail("it nests too deep")
	}
	return func() { r.depth-- }
}

// fresh is a name that no program can write.
func (r *scriptReader) fresh(of string) string {
	r.made++
	return fmt.Sprintf("%s#%d", of, r.made)
}

// unseen is an expression of which nothing is known but its operands.
func unseen(what string, kids ...*expr) *expr { return block(append(kids, name(what))...) }

// number is a number made of the operands.
func number(kids ...*expr) *expr { return &expr{op: opNumber, kids: kids} }

// reserved are names that mean something else in a module than in a script.
var reserved = strings.Fields("await yield async let")

// variable is one by its name. Those that are bound by let, const, class or as
// parameters hide what the language has under their name.
func (r *scriptReader) variable(v *js.Var) *expr {
	for v.Link != nil {
		v = v.Link
	}
	n := name(r.identifier(v.Data))
	switch v.Decl {
	case js.ArgumentDecl, js.LexicalDecl, js.CatchDecl:
		n.keys = hides
	}
	return n
}

// hides marks a name that is surely the program's own.
var hides = []string{"own"}

func (r *scriptReader) identifier(data []byte) string {
	s := string(data)
	if strings.ContainsRune(s, '\\') || slices.Contains(reserved, s) {
		r.fail("the name %s", s)
	}
	return s
}

// property is the key of a property, a text where it is written down.
func (r *scriptReader) property(n js.PropertyName) *expr {
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
	return text(data)
}
