package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// longHold is for how long TestLongHold lets calls wait: none, so that it is
// skipped, unless HOLDGATE_HOLD says how long. Clients give up at 300 s, if at all.
func longHold() time.Duration {
	d, err := time.ParseDuration(os.Getenv("HOLDGATE_HOLD"))
	if err != nil {
		return 0
	}
	return d
}

// A longCall is a call that is held for long, and the agent that waits for it.
type longCall struct {
	agent     string
	p         *process
	data, ran string // the folder that the call removes, and the file into which it writes a line
	request   request
}

// Six agents wait side by side for as long as people may take; then the call
// is approved, and runs once.
func TestLongHold(t *testing.T) {
	hold := longHold()
	if hold == 0 {
		t.Skip("HOLDGATE_HOLD is not set, so no call was held for long. HOLDGATE_HOLD=5m10s holds one of each agent.")
	}
	clientsDir(t)
	plain := newProvider(t)
	plain.calls = func(command string) []call {
		return []call{{id: "toolu_" + slug(command), command: "echo ran >> ran.txt; " + command}}
	}
	s := serve(t, nil, "--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL, "--upstream", "gemini="+plain.URL)
	calls := startLong(t, s)
	for i := range calls {
		calls[i].request = s.held(filepath.Base(calls[i].data))
	}
	time.Sleep(hold) // what is tested is time itself, of programs that know no other
	for _, c := range calls {
		t.Run(c.agent, func(t *testing.T) {
			defer func() { t.Logf("it said: %s\n%s", &c.p.stdout, &c.p.stderr) }()
			if _, err := os.Stat(c.data); err != nil || !c.p.running() {
				t.Fatalf("it did not wait until somebody was asked (%v): %v", err, c.p.end())
			}
			waited := time.Since(c.request.CreatedAt).Round(time.Second)
			s.answer(c.request.ID, "approve")
			if out := c.p.output(); !strings.Contains(out, done) {
				t.Errorf("it should print %q: %s", done, out)
			}
			lines, err := os.ReadFile(c.ran)
			if got := strings.Count(string(lines), "ran"); err != nil || got != 1 {
				t.Errorf("the call ran %d times (%v), want once", got, err)
			}
			if _, err := os.Stat(c.data); err == nil {
				t.Error("the folder is still there")
			}
			asked := len(plain.asked(filepath.Base(c.data)))
			t.Logf("%s: held %v, the provider was asked %d times, the call ran once", c.agent, waited, asked)
		})
	}
}

// startLong starts the six agents, each with a call of its own.
func startLong(t *testing.T, s *sidecar) []longCall {
	t.Helper()
	const marker = "long"
	var calls []longCall
	add := func(agent string, p *process, data string) {
		calls = append(calls, longCall{agent: agent, p: p, data: data, ran: filepath.Join(filepath.Dir(data), "ran.txt")})
	}
	p, data := claude(t, marker+"-claude", []string{"ANTHROPIC_BASE_URL=" + s.base("anthropic")})
	add("claude", p, data)
	lab := fmt.Sprintf(`model_providers.lab={name="lab",base_url=%q,wire_api="responses",env_key="OPENAI_API_KEY"}`, s.base("openai")+"/v1")
	p, data = codex(t, marker+"-codex", []string{"-c", lab, "-c", `model_provider="lab"`, "-m", "gpt-test", "-c", `web_search="disabled"`}, nil)
	add("codex", p, data)
	for _, a := range agentPrograms() {
		p, data := a.start(t, s.base(a.upstream), marker+"-"+a.program)
		add(a.program, p, data)
	}
	return calls
}
