package tree

import (
	"fmt"
	"strconv"
	"strings"
)

var opNames = [...]string{
	OpData: "data", OpText: "text", OpNumber: "number", OpName: "name", OpAttr: "attr", OpCall: "call", OpNew: "new",
	OpItem: "item", OpList: "list", OpDict: "dict", OpOr: "or", OpJoin: "join", OpSlash: "slash", OpElem: "elem",
	OpEnter: "enter", OpFunc: "func", OpClass: "class", OpReturn: "return", OpAssign: "assign", OpAdd: "add",
	OpImport: "import", OpBlock: "block",
}

// String writes an expression in brackets, its operator first: (call print "x").
func (e *Expr) String() string {
	if e == nil {
		return "nil"
	}
	switch {
	case e.Op == OpText:
		return strconv.Quote(e.Text)
	case e.Op == OpName && len(e.Keys)+len(e.Kids) == 0:
		return e.Text
	}
	var b strings.Builder
	b.WriteString("(" + opNames[e.Op])
	switch {
	case e.Op == OpAttr || e.Op == OpName:
		b.WriteString(" ." + e.Text)
	case e.Text != "":
		b.WriteString(" " + e.Text)
	}
	if strings.Join(e.Keys, "") != "" {
		fmt.Fprintf(&b, " %q", e.Keys)
	}
	for _, k := range e.Kids {
		b.WriteString(" " + k.String())
	}
	return b.String() + ")"
}
