// Package program finds the program that tests of packages, images and charts start.
package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Static returns the path of a static holdgate: the one that HOLDGATE_STATIC names, or
// one that it builds.
func Static(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("HOLDGATE_STATIC"); file != "" {
		return file
	}
	file := filepath.Join(t.TempDir(), "holdgate")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/holdgate")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building holdgate: %v\n%s", err, out)
	}
	return file
}
