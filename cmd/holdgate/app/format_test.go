package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func TestAStateFolderOfANewerHoldgateIsRefused(t *testing.T) {
	for _, test := range []struct{ name, text, fault string }{
		{"of this version", "1\n", ""},
		{"of a newer one", "2\n", "a newer Holdgate has written this state folder"},
		{"of none", "x", "holds no version"},
		{"empty, as after a crash", "", ""},
		{"of no version that was", "0", "holds no version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if _, err := openState(dir); err != nil { // it writes the version
				t.Fatal(err)
			}
			path := filepath.Join(dir, formatFile)
			if b, err := os.ReadFile(path); err != nil || string(b) != "1\n" {
				t.Fatalf("a new folder says %q, %v", b, err)
			}
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := openState(dir)
			if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("got %v, want %q", err, test.fault)
			}
			if test.fault == "" {
				return
			}
			move := Move{Config: config.Config{StateDir: dir}}
			_, checked := CheckFiles(dir)
			_, mended := SalvageFiles(dir)
			_, moved := move.Run(t.Context())
			for door, err := range map[string]error{"store check": checked, "store salvage": mended, "store copy": moved, "store copy --cancel": move.Cancel(t.Context())} {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%s: got %v, want %q", door, err, test.fault)
				}
			}
		})
	}
}
