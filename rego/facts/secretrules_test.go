package facts

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/rego/facts/collect"
)

// secretsIn are the kinds of secret in one text.
func secretsIn(t testing.TB, text string) []string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"content": text})
	if err != nil {
		t.Fatal(err)
	}
	f := Extract(context.Background(), toolCall("Write", string(args)), patient)
	if len(f.ParseErrors) > 0 {
		t.Errorf("parse errors %q", f.ParseErrors)
	}
	var kinds []string
	for _, s := range f.Secrets {
		kinds = append(kinds, s.Kind)
	}
	return kinds
}

// The secrets are put together at run time, so that no scanner takes this
// file for a leak.
func TestSecretsByRule(t *testing.T) {
	random := "q7Zr2Kx9Wm4Tn8Vb3Lp6Hs1Dj5Gf0Ycq7Zr2Kx9Wm4Tn8Vb3Lp6Hs1Dj5Gf0Yc"
	hex := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	far := strings.Repeat("some ordinary words of prose, ", 3000)
	for _, tt := range []struct{ name, text, want string }{
		{"a token with a prefix of its own", "dop_v1_" + hex, "digitalocean_pat"},
		{"one that only its neighbour gives away", `datadog_api_key = "` + hex[:40] + `"`, "datadog_access_token"},
		{"in a long text, at its end", far + " SK" + hex[:32], "twilio_api_key"},
		{"in a long text, at its start", "SK" + hex[:32] + " " + far, "twilio_api_key"},
		{"behind many places that look like it", strings.Repeat("dop_v1_none ", 5000) + "dop_v1_" + hex, "digitalocean_pat"},
		{"a kind that has a name already keeps it", "AIza" + random[:35], "google_api_key"},
		{"a password on a command line", `curl -u deploy:` + random[:12] + ` https://ci.example/`, "curl_auth_user"},
		{"a token in a header", `curl -H "Authorization: Token ` + random[:24] + `" https://ci.example/`, "curl_auth_header"},
		{"a placeholder is none", `curl -u deploy:$PASSWORD https://ci.example/`, ""},
		{"one letter over and over is none", "dop_v1_" + strings.Repeat("a", 64), ""},
		{"prose about tokens is none", "the datadog api key and the twilio sk are in the vault", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(secretsIn(t, tt.text), " "); got != tt.want {
				t.Errorf("secrets %q, want %q", got, tt.want)
			}
		})
	}
}

// TestOrdinaryCodeHoldsNoSecret holds that the sources of this module are not
// taken for credentials.
func TestOrdinaryCodeHoldsNoSecret(t *testing.T) {
	for _, file := range goFiles(t) {
		if kinds := secretsIn(t, file.text); len(kinds) > 0 {
			t.Errorf("%s holds %q", file.name, kinds)
		}
	}
}

type goFile struct{ name, text string }

// goFiles are Go files of this module, but for tests: those hold what looks
// like a secret on purpose.
func goFiles(t testing.TB) []goFile {
	t.Helper()
	var out []goFile
	for _, pattern := range []string{"*.go", "../*.go", "../../*.go", "../../proxy/*.go", "../../approvals/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "secrets.go" {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, goFile{name, string(text)})
		}
	}
	if len(out) < 50 {
		t.Fatalf("%d files, want 50 at least", len(out))
	}
	return out
}

// TestSecretsInParts holds that a credential which only the parsed call shows is
// found in the argument that it was written in.
func TestSecretsInParts(t *testing.T) {
	random := "q7Zr2Kx9Wm4Tn8Vb3Lp6Hs1Dj5Gf0Yc"
	for _, tt := range []struct{ name, tool, args, want string }{
		{"quotes divide it", "Bash", `{"command":"curl -H \"Authorization: Bear\"'er t-ab''` + random + `' https://ci.example/"}`, "bearer_token /command"},
		{"quotes divide what a rule finds", "Bash", `{"command":"curl -u dep''loy:` + random[:6] + `\"` + random[6:16] + `\" https://ci.example/"}`, "curl_auth_user /command"},
		{"variables hold its parts", "Bash", `{"command":"A=ghp_` + random[:9] + `; curl -H \"X: ${A}` + random[:27] + `\" https://ci.example/"}`, "github_token /command"},
		{"escapes spell it", "Bash", `{"command":"curl -H $'X: \\x67hp_` + random + random[:5] + `' https://ci.example/"}`, "github_token /command"},
		{"a command within a command", "Bash", `{"command":"bash -c 'curl -H \"X: g\"hp_` + random + random[:5] + `'"}`, "github_token /command"},
		{"the environment of a command", "Bash", `{"command":"T=gh\"p_\"` + random + random[:5] + ` ./deploy"}`, "github_token /command"},
		{"a document of a line that goes on", "Bash", `{"command":"cat <<EOF\nghp_` + random[:9] + `\\\n` + random + `\nEOF"}`, "github_token /command"},
		{"a path", "Bash", `{"command":"B=p_` + random + random[:5] + `; echo x > /tmp/gh$B"}`, "github_token /command"},
		{"words of a list", "shell", `{"command":["curl","-u","deploy:` + random[:16] + `","https://ci.example/"]}`, "curl_auth_user /command"},
		{"a word of a list is enough", "shell", `{"command":["curl","-H","X: ghp_` + random + random[:5] + `","https://ci.example/"]}`, "github_token /command/2"},
		{"words in two arguments", "shell", `{"command":"curl","args":["-u","deploy:` + random[:16] + `","https://ci.example/"]}`, "curl_auth_user "},
		{"lines of a list", "run", `{"commands":["ls",{"command":"curl -H 'X: g''hp_` + random + random[:5] + `'"}]}`, "github_token /commands/1/command"},
		{"an encoded address", "WebFetch", `{"url":"https://ci.example/?k=%67hp_` + random + random[:5] + `"}`, "github_token /url"},
		{"a name", "x", `{"env":{"ghp_` + random + random[:5] + `":1}}`, "github_token /env"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Extract(context.Background(), toolCall(tt.tool, tt.args), patient)
			var got []string
			for _, s := range f.Secrets {
				got = append(got, s.Kind+" "+s.Pointer)
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("secrets (-want +got):\n%s\nof %s, parse errors %q", diff, tt.args, f.ParseErrors)
			}
		})
	}
}

// BenchmarkSecrets measures what 256 KiB of Go costs, and of words that many
// rules look at.
func BenchmarkSecrets(b *testing.B) {
	var code strings.Builder
	for _, f := range goFiles(b) {
		code.WriteString(f.text)
	}
	for code.Len() < collect.DefaultMaxBytes {
		code.WriteString(code.String())
	}
	hostile := strings.Repeat("datadog twitter discord okta jira ", collect.DefaultMaxBytes/34)
	for _, bb := range []struct{ name, text string }{{"code", code.String()[:collect.DefaultMaxBytes]}, {"hostile", hostile}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			for b.Loop() {
				x := collect.New(context.Background(), patient)
				x.Guard(func() { x.Secrets(nil, bb.text) })
			}
		})
	}
}
