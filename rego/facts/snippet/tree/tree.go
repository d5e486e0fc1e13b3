// Package tree is what programs of all languages are read into. A reader of a language
// makes it, and what follows a program's values goes through it.
package tree

import "fmt"

// MaxNesting bounds how deep brackets, blocks and expressions of a program nest.
const MaxNesting = 100

// A SyntaxError says what of a program is not understood: it may be wrong, or
// it may be something that is not read here.
type SyntaxError struct {
	Line int // 0 where it is not known
	What string
}

func (e SyntaxError) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

// An Op says what an expression is. All languages are read into the same few:
// what follows it asks what a program can touch and not what it computes.
type Op uint8

const (
	OpData   Op = iota // a harmless value made of the operands: arithmetic, comparisons, None
	OpText             // a string that is known: text
	OpNumber           // a number, or another value whose text is a plain word
	OpName             // a variable: text
	OpAttr             // operand 0's attribute text
	OpCall             // operand 0 called; the others are arguments, named by keys
	OpNew              // the same for an object that is made (JavaScript's new)
	OpItem             // operand 0 at operand 1
	OpList             // a container of the operands
	OpDict             // the same of keys and values in turn
	OpOr               // one of the operands
	OpJoin             // the operands' texts, one after the other
	OpSlash            // operand 0 / operand 1: a division, or a path in a folder
	OpElem             // an element of operand 0, as a loop takes it
	OpEnter            // what "with operand 0" binds
	OpFunc             // a function: text is its name, keys its parameters
	OpClass            // a class: text is its name, the first len(keys) operands its bases
	OpReturn           // operand 0 leaves the function
	OpAssign           // operand 0 becomes operand 1
	OpAdd              // operand 0 grows by operand 1 (+=)
	OpImport           // module text; keys are "name", or "name as alias"; "" is the module itself
	OpBlock            // the operands one after the other
)

// An Expr is an expression or a statement. Which of the branches runs, and how
// often, is not kept.
type Expr struct {
	Op   Op
	Text string
	Kids []*Expr
	Keys []string
}

// Walk calls f for the expression and all below it.
func (e *Expr) Walk(f func(*Expr)) {
	if e == nil {
		return
	}
	f(e)
	for _, k := range e.Kids {
		k.Walk(f)
	}
}

func Data(kids ...*Expr) *Expr         { return &Expr{Op: OpData, Kids: kids} }
func Block(kids ...*Expr) *Expr        { return &Expr{Op: OpBlock, Kids: kids} }
func Assign(target, v *Expr) *Expr     { return &Expr{Op: OpAssign, Kids: []*Expr{target, v}} }
func Name(text string) *Expr           { return &Expr{Op: OpName, Text: text} }
func Unary(o Op, kid *Expr) *Expr      { return &Expr{Op: o, Kids: []*Expr{kid}} }
func Binary(o Op, a, b *Expr) *Expr    { return &Expr{Op: o, Kids: []*Expr{a, b}} }
func Text(s string) *Expr              { return &Expr{Op: OpText, Text: s} }
func Attr(of *Expr, name string) *Expr { return &Expr{Op: OpAttr, Text: name, Kids: []*Expr{of}} }
