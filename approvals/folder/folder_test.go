package folder

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestBranch(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commit := strings.Repeat("0123456789", 4)
	for name, c := range map[string]struct {
		lay  func(t *testing.T, dir string)
		want string
	}{
		"checked out": {func(t *testing.T, dir string) { write(t, dir+"/.git/HEAD", "ref: refs/heads/feature/cart\n") }, "feature/cart"},
		"a commit":    {func(t *testing.T, dir string) { write(t, dir+"/.git/HEAD", commit+"\n") }, commit[:12]},
		"a tree of its own": {func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: ../w\n")
			write(t, dir+"/../w/HEAD", "ref: refs/heads/w\n")
		}, "w"},
		"something else there": {func(t *testing.T, dir string) { write(t, dir+"/.git/HEAD", "-----BEGIN PRIVATE KEY-----\n") }, ""},
		"no file": {func(t *testing.T, dir string) {
			if err := os.Mkdir(dir+"/.git", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(dir+"/.git/HEAD", 0o600); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"nothing": {func(*testing.T, string) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			c.lay(t, dir)
			if got := Branch(dir); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
