package launch

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachAgentIsLedByWhatItHeeds(t *testing.T) {
	base := []string{"PATH=/bin", "HTTPS_PROXY=http://other", "ALL_PROXY=socks5://other", "HOLDGATE_CONFIG=/etc/h.yaml", "PWD=/s/sub", "T=token1"}
	door := "http://127.0.0.1:9"
	for _, c := range []struct {
		program string
		baseURL bool
		want    []string // besides what all get
	}{
		{"claude", false, nil},
		{"/usr/bin/claude", true, []string{"ANTHROPIC_BASE_URL=" + door + "/up/anthropic"}},
		{"qwen", true, []string{"OPENAI_BASE_URL=" + door + "/up/openai/v1"}},
		{"gemini", true, []string{"GOOGLE_GEMINI_BASE_URL=" + door + "/up/gemini"}},
		{"codex", true, nil},
		{"my-agent", true, []string{"ANTHROPIC_BASE_URL=" + door + "/up/anthropic", "OPENAI_BASE_URL=" + door + "/up/openai/v1"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			got := Environment(base, c.program, Way{Agents: "127.0.0.1:9", CA: "/c", Bundle: "/b", BaseURL: c.baseURL}, "/s", "token1", "")
			want := slices.Concat([]string{
				"PATH=/bin", "HTTP_PROXY=" + door, "http_proxy=" + door, "HTTPS_PROXY=" + door, "https_proxy=" + door,
				"HOLDGATE_AGENTS=127.0.0.1:9", "NO_PROXY=", "no_proxy=",
				"SSL_CERT_FILE=/b", "NODE_EXTRA_CA_CERTS=/c", "REQUESTS_CA_BUNDLE=/b", "CURL_CA_BUNDLE=/b", "GIT_SSL_CAINFO=/b",
				"AWS_CA_BUNDLE=/b", "CODEX_CA_CERTIFICATE=/c", "DENO_CERT=/c",
			}, c.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the environment differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTelemetryIsOffUnlessThePersonSaysOtherwise(t *testing.T) {
	const off = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
	w := Way{Agents: "127.0.0.1:9", Quiet: Quiet("/usr/bin/claude", []string{"PATH=/bin"})}
	if got := Environment([]string{"PATH=/bin"}, "claude", w); !slices.Contains(got, off+"=1") {
		t.Errorf("Claude Code gets %q", got)
	}
	for _, set := range []string{off + "=", off + "=0"} {
		if got := Quiet("claude", []string{set}); slices.Contains(got, off+"=1") {
			t.Errorf("with %s it gets %q", set, got)
		}
	}
	if got := Quiet("my-agent", nil); len(got) > 0 {
		t.Errorf("an agent that is not known gets %q", got)
	}
}

func TestTheBundleHoldsCertificatesAlone(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "roots.pem")
	block := func(typ, text string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: []byte(text)}))
	}
	for path, text := range map[string]string{
		ours:   block("CERTIFICATE", "ours"),
		theirs: "# roots\n" + block("CERTIFICATE", "one") + block("PRIVATE KEY", "secret") + block("CERTIFICATE", "two"),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust, err := NewTrust()
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Write(ours, func(string) string { return theirs }); err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(trust.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(bundle), block("CERTIFICATE", "one")+block("CERTIFICATE", "two")+block("CERTIFICATE", "ours"); got != want {
		t.Errorf("the bundle is %q, want %q", got, want)
	}
	if err := trust.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(trust.CA); !os.IsNotExist(err) {
		t.Errorf("the files are still there: %v", err)
	}
	if err := trust.Write(filepath.Join(dir, "none"), os.Getenv); err == nil {
		t.Error("a CA that is not there is no error")
	}
}
