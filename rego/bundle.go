package rego

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/keys"
)

// Signing says which bundles are to be trusted. The zero value trusts any that
// is not signed; with a key, one that is not signed with it is refused.
type Signing struct {
	Key       string   // a public key in PEM, or the secret of an HS algorithm
	Algorithm string   // of JWS (RFC 7518), such as ES256; RS256 where empty
	Scope     string   // must equal the scope in the signature
	Exclude   []string // files that the signature need not cover, as patterns
}

// signingKey names the one key: whatever the signature calls it, no other is
// used.
const signingKey = "holdgate"

// verification is what OPA is to check; nil where there is no key.
func (s Signing) verification() (*bundle.VerificationConfig, error) {
	if s.Key == "" {
		return nil, nil
	}
	if s.Algorithm == "" {
		s.Algorithm = "RS256"
	}
	if !keys.IsSupportedAlgorithm(s.Algorithm) {
		return nil, fmt.Errorf("reading the key for bundles: the algorithm %q is not known: want one such as RS256, ES256 or HS256", s.Algorithm)
	}
	key := &keys.Config{Key: s.Key, Algorithm: s.Algorithm, Scope: s.Scope}
	return bundle.NewVerificationConfig(map[string]*keys.Config{signingKey: key}, signingKey, s.Scope, s.Exclude), nil
}

// isBundle reports whether a path names a bundle, as `opa build` writes it.
func isBundle(name string) bool { return strings.HasSuffix(name, ".tar.gz") }

// maxBundleBytes bounds a bundle as it is stored.
const maxBundleBytes = 64 << 20

// readBundle reads the bundle in a file, and checks its signature.
func readBundle(name string, signing Signing) (*sources, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading bundle: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxBundleBytes:
		return nil, fmt.Errorf("reading bundle %s: want an ordinary file of at most %d bytes", name, maxBundleBytes)
	}
	body, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading bundle: %w", err)
	}
	verification, err := signing.verification()
	if err != nil {
		return nil, err
	}
	return parseBundle(name, body, verification)
}

// parseBundle reads a bundle's bytes. name stands before the names of its
// files in errors.
func parseBundle(name string, body []byte, verification *bundle.VerificationConfig) (*sources, error) {
	b, err := bundle.NewCustomReader(bundle.NewTarballLoaderWithBaseURL(bytes.NewReader(body), "").WithSizeLimitBytes(maxSourceBytes)).
		WithSizeLimitBytes(maxSourceBytes).
		WithRegoVersion(ast.RegoV1).
		WithBundleVerificationConfig(verification).
		Read()
	switch {
	case err != nil && verification == nil && strings.Contains(err.Error(), "verification key"):
		return nil, fmt.Errorf("reading bundle %s: %w: it is signed, and policy.bundle.key must name the key", name, err)
	case err != nil:
		return nil, fmt.Errorf("reading bundle %s: %w", name, err)
	}
	return bundleSources(name, &b)
}

// bundleSources are the files of a bundle. Its data is one document.
func bundleSources(name string, b *bundle.Bundle) (*sources, error) {
	switch {
	case b.Type() != bundle.SnapshotBundleType:
		return nil, fmt.Errorf("reading bundle %s: it is a delta bundle, which cannot be signed or checked as a whole: serve snapshots", name)
	case len(b.WasmModules) > 0 || len(b.Manifest.WasmResolvers) > 0:
		return nil, fmt.Errorf("reading bundle %s: it holds WebAssembly, which is not evaluated: build it with -t rego", name)
	}
	s := &sources{label: b.Manifest.Revision}
	if b.Manifest.Roots != nil {
		s.roots = *b.Manifest.Roots
	}
	for _, m := range b.Modules {
		below := strings.TrimPrefix(m.Path, "/")
		s.add(name+":"+below, folders(path.Dir(below)), m.Raw)
	}
	if len(b.Data) > 0 {
		body, err := json.Marshal(b.Data)
		if err != nil {
			return nil, fmt.Errorf("reading data of bundle %s: %w", name, err)
		}
		s.add(name+":data.json", nil, body)
	}
	if len(s.modules)+len(s.data) == 0 {
		return nil, errors.New("reading bundle " + name + ": it is empty")
	}
	return s, nil
}
