package folder

import (
	"cmp"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git runs git in a folder, without the configuration of whoever runs the tests.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// What git itself lists is what is read of its index, in each form that it has.
func TestIndexesAreRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 20) + strings.Repeat("n", 200)
	for name, c := range map[string]struct {
		object, version string
		then            [][]string
		fails           bool
		without         string // is in git's list, but has no content
	}{
		"version 2":     {version: "2"},
		"version 3":     {version: "3", then: [][]string{{"add", "-N", "later"}}, without: "later"},
		"version 4":     {version: "4"},
		"SHA-256":       {object: "sha256", version: "2"},
		"no checksum":   {version: "2", then: [][]string{{"-c", "index.skipHash=true", "update-index", "--force-write-index"}}},
		"a split index": {version: "2", then: [][]string{{"update-index", "--split-index"}}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"a", "ab", "a b/c", "ä/ö", long, "z"} {
				put(t, filepath.Join(dir, name), name)
			}
			git(t, dir, "init", "-q", "--object-format="+cmp.Or(c.object, "sha1"))
			git(t, dir, "add", ".")
			put(t, filepath.Join(dir, "later"), "")
			git(t, dir, "update-index", "--index-version", c.version)
			for _, args := range c.then {
				git(t, dir, args...)
			}
			index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = names(index, func(name []byte) { got = append(got, string(name)) })
			if failed := err != nil; failed != c.fails {
				t.Fatalf("got the error %v", err)
			}
			want := strings.Split(strings.TrimSuffix(git(t, dir, "ls-files", "-z"), "\x00"), "\x00")
			want = slices.DeleteFunc(want, func(name string) bool { return name == c.without })
			if !c.fails && !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if !c.fails && name != "no checksum" {
				index[len(index)/2] ^= 1
				if names(index, func([]byte) {}) == nil {
					t.Error("a damaged one is read")
				}
			}
		})
	}
}

// Whatever an agent writes there is read within its bounds.
func FuzzNames(f *testing.F) {
	dir := f.TempDir()
	for _, name := range []string{"a", "ab/c", "ab/d"} {
		if err := os.MkdirAll(filepath.Join(dir, "ab"), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			f.Fatal(err)
		}
	}
	git(f, dir, "init", "-q")
	git(f, dir, "add", ".")
	for _, version := range []string{"2", "4"} {
		git(f, dir, "update-index", "--index-version", version)
		index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(index)
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		if len(index) > 20 {
			clear(index[len(index)-20:]) // no checksum, or nothing would come this far
		}
		n, size := 0, 0
		if err := names(index, func(name []byte) { n, size = n+1, max(size, len(name)) }); err == nil {
			if count := int(binary.BigEndian.Uint32(index[8:])); n > count || size > len(index) {
				t.Errorf("%d names of %d, %d bytes of %d", n, count, size, len(index))
			}
		}
	})
}
