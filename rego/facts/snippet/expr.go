package snippet

// An op says what an expression is. All languages are read into the same few:
// the walker asks what a program can touch and not what it computes.
type op uint8

const (
	opData   op = iota // a harmless value made of the operands: arithmetic, comparisons, None
	opText             // a string that is known: text
	opNumber           // a number, or another value whose text is a plain word
	opName             // a variable: text
	opAttr             // operand 0's attribute text
	opCall             // operand 0 called; the others are arguments, named by keys
	opNew              // the same for an object that is made (JavaScript's new)
	opItem             // operand 0 at operand 1
	opList             // a container of the operands
	opDict             // the same of keys and values in turn
	opOr               // one of the operands
	opJoin             // the operands' texts, one after the other
	opSlash            // operand 0 / operand 1: a division, or a path in a folder
	opElem             // an element of operand 0, as a loop takes it
	opEnter            // what "with operand 0" binds
	opFunc             // a function: text is its name, keys its parameters
	opClass            // a class: text is its name, the first len(keys) operands its bases
	opReturn           // operand 0 leaves the function
	opAssign           // operand 0 becomes operand 1
	opAdd              // operand 0 grows by operand 1 (+=)
	opImport           // module text; keys are "name", or "name as alias"; "" is the module itself
	opBlock            // the operands one after the other
)

// An expr is an expression or a statement. Which of the branches runs, and how
// often, is not kept.
type expr struct {
	op   op
	text string
	kids []*expr
	keys []string
}

// walk calls f for the expression and all below it.
func (e *expr) walk(f func(*expr)) {
	if e == nil {
		return
	}
	f(e)
	for _, k := range e.kids {
		k.walk(f)
	}
}

func data(kids ...*expr) *expr         { return &expr{op: opData, kids: kids} }
func block(kids ...*expr) *expr        { return &expr{op: opBlock, kids: kids} }
func assign(target, v *expr) *expr     { return &expr{op: opAssign, kids: []*expr{target, v}} }
func name(text string) *expr           { return &expr{op: opName, text: text} }
func unary(o op, kid *expr) *expr      { return &expr{op: o, kids: []*expr{kid}} }
func binary(o op, a, b *expr) *expr    { return &expr{op: o, kids: []*expr{a, b}} }
func text(s string) *expr              { return &expr{op: opText, text: s} }
func attr(of *expr, name string) *expr { return &expr{op: opAttr, text: name, kids: []*expr{of}} }
