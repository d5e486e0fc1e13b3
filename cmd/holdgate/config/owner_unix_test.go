//go:build !windows

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A service that reads the file by its group goes on reading it, and others do not.
func TestAFileThatIsWrittenKeepsItsOwnerAndGroup(t *testing.T) {
	for was, want := range map[os.FileMode]os.FileMode{0o600: 0o600, 0o640: 0o640, 0o644: 0o600, 0o660: 0o600, 0o400: 0o600} {
		if got := config.FileMode(was); got != want {
			t.Errorf("%04o becomes %04o, want %04o", was, got, want)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root may give a file away")
	}
	file := filepath.Join(t.TempDir(), "holdgate.yaml")
	if err := errors.Join(os.WriteFile(file, []byte("approver: ada\n"), 0o640), os.Chown(file, 65534, 7300)); err != nil {
		t.Fatal(err)
	}
	if _, err := config.AddPerson(file, "bob", bob()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 65534 || s.Gid != 7300 || info.Mode() != 0o640 {
		t.Errorf("it belongs to %d:%d, mode %v", s.Uid, s.Gid, info.Mode())
	}
}
