package audit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/holdgate/holdgate/store/audit"
)

func TestEveryTypeIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "entry.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []audit.Type
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := s.Type.(*ast.Ident); ok && typ.Name == "Type" {
			name, err := strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, audit.Type(name))
		}
		return true
	})
	if !slices.Equal(declared, audit.Types()) {
		t.Errorf("declared are %q, listed %q", declared, audit.Types())
	}
}
