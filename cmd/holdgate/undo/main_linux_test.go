package undo

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// The test binary is also the program that confines itself, and the agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case confine.Command:
			code, err := confine.Init(os.Args[2:])
			if err != nil {
				fmt.Fprintln(os.Stderr, "confined:", err)
				code = 99
			}
			os.Exit(code)
		case killedCommand:
			os.Exit(killed(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

var testKey = []byte(strings.Repeat("k", 32))

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folders are a working folder and a place for the store, on one mount.
func folders(t testing.TB) (root, store string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "undo")
	must(t, err)
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		must(t, os.RemoveAll(dir))
	})
	root, store = filepath.Join(dir, "work"), filepath.Join(dir, "state", "undo")
	must(t, os.Mkdir(root, 0o755))
	return root, store
}

// manifest is all that is to be brought back: a line for each path.
func manifest(t testing.TB, root string) []string {
	t.Helper()
	var list []string
	groups := map[uint64]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		line := fmt.Sprintf("%q %o %d.%09d", rel, st.Mode, st.Mtim.Sec, st.Mtim.Nsec)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(path)
			if os.IsPermission(err) {
				_ = os.Chmod(path, 0o600)
				b, err = os.ReadFile(path)
				_ = os.Chmod(path, fs.FileMode(st.Mode&0o777))
			}
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %s", hex.EncodeToString(b))
			if st.Nlink > 1 {
				if groups[st.Ino] != "" {
					line += " = " + groups[st.Ino]
				} else {
					groups[st.Ino] = rel
				}
			}
		case unix.S_IFLNK:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + to
		}
		list = append(list, line)
		return nil
	}))
	slices.Sort(list)
	return list
}

// same fails where two manifests differ.
func same(t testing.TB, before, after []string) {
	t.Helper()
	if slices.Equal(before, after) {
		return
	}
	short := func(s string) string {
		if len(s) < 160 {
			return s
		}
		return fmt.Sprintf("%s...%s (%d)", s[:80], s[len(s)-60:], len(s))
	}
	var b strings.Builder
	for _, line := range before {
		if !slices.Contains(after, line) {
			fmt.Fprintf(&b, "- %s\n", short(line))
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			fmt.Fprintf(&b, "+ %s\n", short(line))
		}
	}
	t.Errorf("the folder is not as it was:\n%s", b.String())
}
