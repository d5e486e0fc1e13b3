package app

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// bundleFile is in the state folder: the CA with the system's certificates, for programs
// that trust one file alone.
const bundleFile = "ca-bundle.pem"

// CABundle reads the certificate of a CA, and makes of it and the system's a file for programs
// that trust one file alone. named is the file that SSL_CERT_FILE names, if any. On a
// system without a file of certificates the bundle has the CA's alone.
func CABundle(caFile, named string) (ca, bundle []byte, err error) {
	if ca, err = certificates(caFile); err != nil {
		return nil, nil, fmt.Errorf("reading the CA: %w", err)
	}
	return ca, append(systemRoots(named), ca...), nil
}

// writeBundle writes the bundle into the state folder, in one step, for pods mount it.
func writeBundle(stateDir string) error {
	_, bundle, err := CABundle(filepath.Join(stateDir, "ca.pem"), os.Getenv("SSL_CERT_FILE"))
	if err != nil {
		return err
	}
	path := filepath.Join(stateDir, bundleFile)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, bundle) {
		return nil
	}
	f, err := os.CreateTemp(stateDir, ".ca-bundle-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = f.Write(bundle)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

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
