package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Where Holdgate answers the model itself, real agents get one answer that
// they understand: the refusal, and what the model said to it.
func TestAgentsGoOnAfterARefusal(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	config := filepath.Join(t.TempDir(), "holdgate.yaml")
	put(t, config, "holds: {on_refusal: continue}\n")
	s := serve(t, []string{"HOLDGATE_CONFIG=" + config}, "--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL, "--upstream", "gemini="+plain.URL)
	decide := func(t *testing.T, p *process, data, marker string, prints ...string) {
		t.Helper()
		defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
		r := s.held("data-" + marker)
		s.must("deny", r.ID, "--reason", "the data is still needed")
		out := p.output()
		for _, words := range prints {
			if !strings.Contains(out, words) {
				t.Errorf("it should print %q: %s", words, out)
			}
		}
		if _, err := os.Stat(data); err != nil {
			t.Errorf("the folder is gone: %v", err)
		}
		told := false // the model was told by Holdgate, before the agent asked again
		for _, b := range plain.asked("data-" + marker) {
			told = told || resultOfTool.MatchString(b) && strings.Contains(b, "the data is still needed")
		}
		if !told {
			t.Error("the model was not told of the refusal")
		}
	}
	t.Run("claude", func(t *testing.T) {
		p, data := claude(t, "claude-goes-on", []string{"ANTHROPIC_BASE_URL=" + s.base("anthropic")})
		decide(t, p, data, "claude-goes-on", done) // it prints the last text of an answer only
	})
	t.Run("codex", func(t *testing.T) {
		lab := `model_providers.lab={name="lab",base_url="` + s.base("openai") + `/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`
		p, data := codex(t, "codex-goes-on", []string{"-c", lab, "-c", `model_provider="lab"`, "-m", "gpt-test", "-c", `web_search="disabled"`}, nil)
		decide(t, p, data, "codex-goes-on", "the data is still needed")
		if all := p.stderr.String(); !strings.Contains(all, done) { // it prints one message, and shows all
			t.Errorf("it should show what the model said then: %s", all)
		}
	})
	for _, a := range agentPrograms() {
		t.Run(a.program, func(t *testing.T) {
			marker := a.program + "-goes-on"
			p, data := a.start(t, s.base(a.upstream), marker)
			decide(t, p, data, marker, "the data is still needed", done)
		})
	}
}

// The official SDKs read an answer that went on as one, plain and streamed: the
// refusal, what the model said to it, and the end of an answer without calls.
func TestSDKsReadAnAnswerThatWentOn(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	config := filepath.Join(t.TempDir(), "holdgate.yaml")
	put(t, config, "holds: {on_refusal: continue}\n")
	scripts := []string{"anthropic", "openai", "responses", "gemini", "ollama", "bedrock", "bedrock-invoke", "mistral"}
	var upstreams []string
	for _, name := range scripts {
		upstreams = append(upstreams, "--upstream", name+"="+plain.URL)
	}
	s := serve(t, []string{"HOLDGATE_CONFIG=" + config}, upstreams...)
	for _, name := range scripts {
		for _, mode := range []string{"plain", "stream"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				base := s.base(name)
				if slices.Contains([]string{"openai", "responses"}, name) {
					base += "/v1"
				}
				c := sdkCase{s: s, script: name + ".mjs", mode: mode}
				command := "rm -rf goes-on-" + name + "-" + mode
				p := node(t, []string{"PROMPT=run: " + command, "STORE=false"}, c.script, base, mode)
				s.must("deny", s.held(command).ID, "--reason", "the data is still needed")
				out := p.output()
				c.refused(t, out, "the data is still needed")
				if said := c.turn(t, out).text; !strings.HasSuffix(strings.TrimSpace(said), done) {
					t.Errorf("what the model said to it is missing: %s", out)
				}
				if n := len(plain.asked(command)); n != 2 {
					t.Errorf("the model was asked %d times", n)
				}
			})
		}
	}
}
