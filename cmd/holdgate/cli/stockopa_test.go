package cli

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStockOPATakesWhatTheDocsSay runs the commands about policies that README.md,
// policies/README.md, docs/policy.md and the output of `holdgate init` give, as
// they stand there, with the stock binary that HOLDGATE_OPA names.
func TestStockOPATakesWhatTheDocsSay(t *testing.T) {
	opa := os.Getenv("HOLDGATE_OPA")
	if opa == "" {
		t.Skip("SKIPPED, NOT TESTED: HOLDGATE_OPA names no stock opa; .ci/run builds one")
	}
	path := filepath.Dir(opa) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, doc := range []string{"README.md", "docs/policy.md", "policies/README.md"} {
		t.Run(doc, func(t *testing.T) {
			s := shellIn{t, workplace(t), path, t.TempDir()}
			ran := 0
			for _, line := range commandsIn(t, filepath.Join("..", "..", "..", doc)) {
				printed := s.run(line)
				if !strings.HasPrefix(line, "holdgate init") {
					ran++
					continue
				}
				for _, line := range afterInit(printed) {
					s.run(line)
					ran++
				}
			}
			if bundle := "rules.tar.gz"; doc == "docs/policy.md" { // what it says to build and to configure
				config := "policy: {path: " + bundle + ", bundle: {key: public.pem, algorithm: ES256}}\n"
				if err := os.WriteFile(filepath.Join(s.dir, "holdgate.yaml"), []byte(config), 0o600); err != nil {
					t.Fatal(err)
				}
				s.run("holdgate policy check --config holdgate.yaml")
			}
			if ran < 2 {
				t.Errorf("%d commands were found, want two at least", ran)
			}
		})
	}
}

// aboutPolicies are the commands that need no sidecar.
var aboutPolicies = regexp.MustCompile(`^(opa |holdgate init$|holdgate policy (check|test)\b)`)

// commandsIn are the commands about policies in the indented blocks of a page.
func commandsIn(t *testing.T, page string) []string {
	t.Helper()
	body, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for lines := bufio.NewScanner(strings.NewReader(string(body))); lines.Scan(); {
		line, indented := strings.CutPrefix(lines.Text(), "    ")
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "$ "), " #")
		if line = strings.TrimSpace(line); indented && aboutPolicies.MatchString(line) {
			list = append(list, line)
		}
	}
	return list
}

// afterInit are the commands that init prints, without the one that serves.
func afterInit(printed string) []string {
	var list []string
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		for _, word := range []string{"check ", "test "} {
			line = strings.TrimSpace(strings.TrimPrefix(line, word))
		}
		if aboutPolicies.MatchString(line) {
			list = append(list, line)
		}
	}
	return list
}

// workplace is a folder with the shipped policies and, in rules/, the files that
// policies/README.md shows whole.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "policies"), os.DirFS("../../../policies")); err != nil {
		t.Fatal(err)
	}
	signingKey(t, filepath.Join(dir, "private.pem"), filepath.Join(dir, "public.pem"))
	page, err := os.ReadFile("../../../policies/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "rules"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```(?:rego|yaml)\n# ([a-z_]+\\.[a-z]+)\n(.*?)```").FindAllSubmatch(page, -1)
	if len(files) < 2 {
		t.Fatalf("policies/README.md shows %d files, want a rule and its test", len(files))
	}
	for _, f := range files {
		if string(f[1]) == "settings.yaml" {
			continue // it changes what the pack's own tests expect, as the page says
		}
		if err := os.WriteFile(filepath.Join(dir, "rules", string(f[1])), f[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// signingKey writes a key of ES256 in two halves.
func signingKey(t *testing.T, private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	known, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{private: {Type: "EC PRIVATE KEY", Bytes: secret}, public: {Type: "PUBLIC KEY", Bytes: known}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A shellIn runs commands in a folder, with a home folder of its own.
type shellIn struct {
	t               *testing.T
	dir, path, home string
}

func (s shellIn) run(line string) string {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + s.path, "HOME=" + s.home}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
