package launch

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Trust are files with the certificates that the agent is to trust. They are
// in a folder of their own, for the agent is not told where the state folder
// is. Remove them once the agent has ended.
type Trust struct {
	Dir        string
	CA, Bundle string // paths in it; see [Way]
	JavaStore  string
}

// NewTrust makes the folder. [Trust.Write] fills it.
func NewTrust() (*Trust, error) {
	dir, err := os.MkdirTemp("", "holdgate-run-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for certificates: %w", err)
	}
	return &Trust{Dir: dir, CA: filepath.Join(dir, "ca.pem"), Bundle: filepath.Join(dir, "ca-bundle.pem"), JavaStore: filepath.Join(dir, "ca-bundle.jks")}, nil
}

// Write writes the files: caFile's certificate, and it with the system's. A
// system without a file of certificates has a bundle of ours alone, which is
// enough for all that goes through the sidecar.
func (t *Trust) Write(caFile string, getenv func(string) string) error {
	ca, err := certificates(caFile)
	if err != nil {
		return fmt.Errorf("reading the CA: %w", err)
	}
	bundle := append(systemRoots(getenv("SSL_CERT_FILE")), ca...)
	if err := errors.Join(os.WriteFile(t.CA, ca, 0o600), os.WriteFile(t.Bundle, bundle, 0o600), os.WriteFile(t.JavaStore, javaStore(bundle), 0o600)); err != nil {
		return fmt.Errorf("writing certificates: %w", err)
	}
	return nil
}

// Remove removes the files.
func (t *Trust) Remove() error { return os.RemoveAll(t.Dir) }

// systemRoots reads the first file that holds the system's certificates: the
// one that the person named, or where the systems keep it.
func systemRoots(named string) []byte {
	for _, path := range []string{
		named,
		"/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
		"/etc/pki/tls/certs/ca-bundle.crt",                  // older ones
		"/etc/ssl/ca-bundle.pem",                            // openSUSE
		"/etc/ssl/cert.pem",                                 // Alpine, macOS, BSD
	} {
		if path == "" {
			continue
		}
		if roots, err := certificates(path); err == nil {
			return roots
		}
	}
	return nil
}

// certificates reads the certificates of a PEM file, and nothing else that may
// be in it: a private key must not be passed on.
func certificates(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		if b.Type != "CERTIFICATE" {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: b.Type, Bytes: b.Bytes}); err != nil {
			return nil, err
		}
	}
	if out.Len() == 0 {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return out.Bytes(), nil
}
