package undo

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		case wreckCommand:
			os.Exit(wreck())
		case superviseCommand:
			number, _ := strconv.ParseInt(os.Args[6], 10, 64)
			os.Exit(supervise(os.Args[2], os.Args[3], os.Args[4], os.Args[5], number))
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
			line += fmt.Sprintf(" %s%s", shortened(b), fileFlags(path))
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

// shortened is a content, or what tells a long one from others.
func shortened(b []byte) string {
	if len(b) < 64 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
}

// fileFlags are those of a file's flags and attributes that people set.
func fileFlags(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	flags, _ := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	attrs, _ := attributes(int(f.Fd()))
	return fmt.Sprintf(" %x %q", flags&0xff, attrs)
}

// same fails where two manifests differ.
func same(t testing.TB, before, after []string) {
	t.Helper()
	if slices.Equal(before, after) {
		return
	}
	var b strings.Builder
	differ := func(sign string, list, other []string) {
		for _, line := range list {
			if _, found := slices.BinarySearch(other, line); !found && b.Len() < 10_000 {
				fmt.Fprintf(&b, "%s %s\n", sign, line)
			}
		}
	}
	differ("-", before, after)
	differ("+", after, before)
	t.Errorf("the folder is not as it was:\n%s", b.String())
}
