package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems holds that the program is one for macOS, and with the commands of
// a sidecar's clients for Windows: its own packages are checked from their sources,
// which takes less than compiling all that they import for each.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short")
	}
	for _, system := range []string{"darwin/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			goos, arch, _ := strings.Cut(system, "/")
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
				Env:  append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
			}, ".")
			if err != nil {
				t.Fatal(err)
			}
			packages.Visit(loaded, nil, func(p *packages.Package) {
				for _, e := range p.Errors {
					t.Error(e)
				}
			})
		})
	}
}
