// Package sockettest makes folders for the sockets of tests.
package sockettest

import (
	"os"
	"testing"
)

// longest is how long the path of the temporary folder may be for sockets below a
// folder in it.
const longest = 40

// Folder makes a folder whose path is short enough for a socket below it, however
// long that of the temporary folder is. It is removed with the test.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Make is [Folder] where there is no test that removes it.
func Make() (string, error) {
	base := os.TempDir()
	if len(base) > longest {
		base = "/tmp"
	}
	return os.MkdirTemp(base, "hg")
}
