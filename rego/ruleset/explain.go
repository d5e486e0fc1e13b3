package ruleset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/rego/schema"
)

// Unreadable says where a module cannot be parsed: a place and the line there,
// for each fault.
func Unreadable(err error) error {
	errs, ok := errors.AsType[ast.Errors](err)
	if !ok {
		return err
	}
	list := make([]error, len(errs))
	for i, e := range errs {
		list[i] = e
		d, ok := e.Details.(*ast.ParserErrorDetail)
		if !ok || e.Location == nil {
			continue
		}
		at := e.Location.String() // file and line
		if e.Location.Col > 0 {
			at += fmt.Sprintf(":%d", e.Location.Col)
		}
		list[i] = fmt.Errorf("%s: %s: %s, in: %s", at, e.Code, e.Message, strings.TrimSpace(d.Line))
	}
	return errors.Join(list...)
}

// Explain says what the compiler found, a fault on a line, in the words of the source.
func Explain(c *ast.Compiler) error {
	forbidden := forbiddenBuiltins()
	list := make([]error, len(c.Errors))
	for i, e := range c.Errors {
		text := e.Code + ": " + e.Message + hints(e)
		if e.Location != nil {
			text = e.Location.String() + ": " + text
		}
		if name, ok := undefinedFunction(e); ok && forbidden[name] {
			text += ": policies of Holdgate cannot use " + name + ", which reaches out of the policy or gives a different answer each time"
		}
		list[i] = errors.New(inSource(c, text))
	}
	return errors.Join(list...)
}

// hints ends an error of the compiler with what it says besides.
func hints(e *ast.Error) string {
	if d, ok := e.Details.(*ast.RefErrInvalidDetail); ok && len(d.OneOf) > 0 && d.Pos < len(d.Ref) {
		known := make([]string, len(d.OneOf))
		for i, v := range d.OneOf {
			known[i] = strings.Trim(v.String(), `"`)
		}
		return ": " + schema.DidYouMean(strings.Trim(d.Ref[d.Pos].String(), `"`), known)
	}
	if e.Details == nil {
		return ""
	}
	var said []string
	for _, line := range e.Details.Lines() {
		if strings.Contains(line, ": ") {
			said = append(said, strings.Replace(strings.Join(strings.Fields(line), " "), " : ", ": ", 1))
		}
	}
	if said == nil {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}

var generated = regexp.MustCompile(ast.LocalVarPrefix + `\d+__`)

// inSource names variables as the source does. One that the compiler made stands for
// what the source leaves without a name.
func inSource(c *ast.Compiler, text string) string {
	return generated.ReplaceAllStringFunc(text, func(v string) string {
		if name, ok := c.RewrittenVars[ast.Var(v)]; ok {
			return string(name)
		}
		return "_"
	})
}
