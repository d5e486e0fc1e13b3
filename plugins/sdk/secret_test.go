package sdk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
)

func TestASecretIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, []byte(" 0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode os.FileMode
		path string
		most int
		want string // of the error
	}{
		{0o600, path, 20, ""},
		{0o400, path, 20, ""},
		{0o640, path, 20, "only its owner"},
		{0o604, path, 20, "only its owner"},
		{0o620, path, 20, "only its owner"},
		{0o600, path, 11, "5 to 11 bytes"},
		{0o600, dir, 20, "only its owner"},
		{0o600, filepath.Join(dir, "nowhere"), 20, "no such file"},
		{0o600, "", 20, "key is not set"},
	} {
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		got, err := sdk.ReadSecret("key", c.path, 5, c.most)
		switch {
		case c.want == "" && (err != nil || string(got) != "0123456789"):
			t.Errorf("%o: %q, %v", c.mode, got, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "key") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "0123456789")):
			t.Errorf("%o %s: %v, want %q", c.mode, c.path, err, c.want)
		}
	}
	if _, err := sdk.ReadSecret("key", path, 11, 20); err == nil {
		t.Error("a short secret passes")
	}
}
