package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/proxy/intercept"
)

// Programs that trust one file alone trust the system's CAs with it, and read no key there.
func TestTheBundleHasTheSystemsCertificatesToo(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		if _, err := intercept.OpenCA(d); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path ...string) []byte {
		text, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	system := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(system, append(read(other, "ca.key"), read(other, "ca.pem")...), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", system)
	for range 2 { // at each start
		if err := writeBundle(dir); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := read(dir, bundleFile), append(read(other, "ca.pem"), read(dir, "ca.pem")...); !bytes.Equal(got, want) {
		t.Errorf("the bundle is\n%s\nwant\n%s", got, want)
	}
	if info, err := os.Stat(filepath.Join(dir, bundleFile)); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("its mode is %v, %v: agents' containers read it as other users", info.Mode(), err)
	}
}
