package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems holds that the program is one for macOS and for Linux on other
// processors, and with the commands of a sidecar's clients for Windows: its own packages are checked from their sources, and
// of libraries what they declare. To compile all of it for each takes minutes.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	ours := func(file string) bool { return strings.HasPrefix(file, root+string(filepath.Separator)) }
	for _, system := range []string{"darwin/arm64", "darwin/amd64", "linux/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			goos, arch, _ := strings.Cut(system, "/")
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax,
				Env:  append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
				ParseFile: func(files *token.FileSet, name string, src []byte) (*ast.File, error) {
					f, err := parser.ParseFile(files, name, src, parser.AllErrors|parser.SkipObjectResolution)
					if !ours(name) {
						declare(f)
					}
					return f, err
				},
			}, ".")
			if err != nil {
				t.Fatal(err)
			}
			packages.Visit(loaded, nil, func(p *packages.Package) {
				for _, e := range p.Errors {
					if ours(e.Pos) || e.Kind != packages.TypeError { // libraries are not whole
						t.Error(e)
					}
				}
			})
		})
	}
}

// declare leaves of a library's file what it declares: most of the time would go into the bodies of functions.
func declare(f *ast.File) {
	if f == nil {
		return
	}
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
