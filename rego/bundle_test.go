package rego

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/holdgate/holdgate"
)

// packed is a bundle of the files, as `opa build` makes it.
func packed(t *testing.T, revision string, files map[string]string, data map[string]any, sign *bundle.SigningConfig) []byte {
	t.Helper()
	b := bundle.Bundle{Manifest: bundle.Manifest{Revision: revision}, Data: data}
	b.Manifest.Init()
	if b.Data == nil {
		b.Data = map[string]any{}
	}
	for name, body := range files {
		m, err := ast.ParseModule(name, body)
		if err != nil {
			t.Fatal(err)
		}
		b.Modules = append(b.Modules, bundle.ModuleFile{URL: "/" + name, Path: "/" + name, Raw: []byte(body), Parsed: m})
	}
	if sign != nil {
		if err := b.GenerateSignature(sign, "any name", false); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).Write(b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func putBundle(t *testing.T, body []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := os.WriteFile(name, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// keyPair returns what signs bundles and what checks them.
func keyPair(t *testing.T) (*bundle.SigningConfig, Signing) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.NewSigningConfig(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), "ES256", ""),
		Signing{Key: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), Algorithm: "ES256"}
}

var team = map[string]string{"team.rego": custom}

func TestBundleIsLaidOverThePack(t *testing.T) {
	body := packed(t, "v7", team, map[string]any{"settings": map[string]any{"tools": map[string]any{"Read": "deny"}}}, nil)
	e := open(t, Options{Path: putBundle(t, body)})
	if l := e.Loaded(); l.Whole || l.Name != "v7" || l.Revision == "" {
		t.Errorf("got %+v, want the bundle v7 over the pack", l)
	}
	for command, want := range map[string]string{"make": "team.no_make", "rm x": "files.delete", "ls": "default"} {
		if d := e.Decide(t.Context(), Input{Call: bashCall(command)}); d.Rule != want {
			t.Errorf("%s: got %v by %s, want %s", command, d.Action, d.Rule, want)
		}
	}
	if d := e.Decide(t.Context(), Input{Call: toolCall(t, "Read", map[string]any{"file_path": "a"})}); d.Action != holdgate.Deny {
		t.Errorf("the bundle's settings: got %v by %s, want deny", d.Action, d.Rule)
	}
}

func TestBundleThatCannotBeTrustedDoesNotLoad(t *testing.T) {
	private, public := keyPair(t)
	_, other := keyPair(t)
	signed := packed(t, "v1", team, nil, private)
	scoped := public
	scoped.Scope = "write"
	for _, tt := range []struct {
		name    string
		body    []byte
		signing Signing
		want    string // empty: it loads
	}{
		{"signed with the key", signed, public, ""},
		{"unsigned, and no key to check with", packed(t, "", team, nil, nil), Signing{}, ""},
		{"unsigned", packed(t, "", team, nil, nil), public, ".signatures.json"},
		{"signed with another key", signed, other, "verify"},
		{"signed for another scope", signed, scoped, "scope"},
		{"signed, and no key to check with", signed, Signing{}, "policy.bundle.key"},
		{"changed after it was signed", repacked(t, signed, public), public, "team.rego"},
		{"an unknown algorithm", signed, Signing{Key: public.Key, Algorithm: "none"}, "none"},
		{"no bundle at all", []byte("not gzip"), Signing{}, "reading bundle"},
		{"cut short", signed[:len(signed)/2], public, "reading bundle"},
		{"empty", packed(t, "", nil, nil, nil), Signing{}, "empty"},
		{"with a rule that reaches out", packed(t, "", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\"} if http.send({\"method\": \"get\", \"url\": \"http://a\"})\n"}, nil, nil), Signing{}, "http.send"},
		{"with rules that nobody asks", packed(t, "", map[string]string{"a.rego": "package a\n\nx := 1\n"}, nil, nil), Signing{}, "ever asked"},
		{"with a setting of the wrong type", packed(t, "", team, map[string]any{"settings": map[string]any{"tools": 7}}, nil), Signing{}, "settings.tools"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Check(t.Context(), Options{Path: putBundle(t, tt.body), Signing: tt.signing})
			if tt.want == "" && err != nil {
				t.Errorf("got %v, want it loaded", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
		})
	}
	t.Run("a folder, where bundles must be signed", func(t *testing.T) {
		_, err := Check(t.Context(), Options{Path: write(t, team), Signing: public})
		if err == nil || !strings.Contains(err.Error(), "no bundle") {
			t.Errorf("got %v, want it refused", err)
		}
	})
}

// repacked is a bundle with its signature and another rule.
func repacked(t *testing.T, body []byte, key Signing) []byte {
	t.Helper()
	verification, err := key.verification()
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.NewReader(bytes.NewReader(body)).WithBundleVerificationConfig(verification).Read()
	if err != nil {
		t.Fatal(err)
	}
	b.Modules[0].Raw = []byte(strings.ReplaceAll(custom, "deny", "allow"))
	if bytes.Equal(b.Modules[0].Raw, []byte(custom)) {
		t.Fatal("there was nothing to change")
	}
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).DisableFormat(true).Write(b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestBundleIsReloadedAndABrokenOneKeepsTheLast(t *testing.T) {
	private, public := keyPair(t)
	name := putBundle(t, packed(t, "v1", team, nil, private))
	loads := make(chan told, 100)
	e := open(t, Options{Path: name, Signing: public, OnLoad: func(l Load) { loads <- told{l.Loaded, l.Err} }})
	next(t, loads)
	start(t, e)
	swap := func(body []byte) {
		t.Helper()
		if err := os.WriteFile(name+".new", body, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	swap(packed(t, "v2", map[string]string{"team.rego": strings.ReplaceAll(custom, "make", "bake")}, nil, private))
	if l := next(t, loads); l.err != nil || l.loaded.Name != "v2" {
		t.Fatalf("got %+v, want v2", l)
	}
	swap(packed(t, "v3", team, nil, nil))
	if l := next(t, loads); l.err == nil || l.loaded.Name != "v2" {
		t.Fatalf("an unsigned bundle: got %+v, want an error and v2", l)
	}
}
