package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServeRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		file string // holdgate.yaml, where not empty
		args []string
		code int
		says []string
	}{
		{name: "a flag that it does not know", args: []string{"--approve-all"}, code: 2, says: []string{"approve-all"}},
		{name: "an argument", args: []string{"now"}, code: 2, says: []string{`"now"`}},
		{name: "a key that it does not know", file: "listen:\n  agents: \"127.0.0.1:0\"\n  agent: \"127.0.0.1:0\"\n", code: 1, says: []string{"holdgate.yaml:3", `unknown key "agent"`}},
		{name: "a value of the wrong kind", file: "limits:\n  body: large\n", code: 1, says: []string{"holdgate.yaml:2", `"large" is not a size`}},
		{name: "one address for agents and approvers", args: []string{"--agents", "127.0.0.1:7399", "--approvers", "127.0.0.1:7399"}, code: 1, says: []string{"must not reach the approvers' door"}},
		{name: "an upstream without a name", args: []string{"--upstream", "http://127.0.0.1:1"}, code: 1, says: []string{"NAME=URL"}},
		{name: "to answer by itself where others can reach it", args: []string{"--auto", "approve", "--agents", "0.0.0.0:0"}, code: 1, says: []string{"--auto", "0.0.0.0:0"}},
		{name: "an answer that it does not know", args: []string{"--auto", "yes"}, code: 2, says: []string{`"yes"`, "approve, deny or first-option"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"serve", "--state-dir", stateDir(t), "--approvers", "127.0.0.1:0"}
			if c.file != "" {
				args = append(args, "--config", write(t, "holdgate.yaml", c.file))
			}
			r := holdgate(t, nil, append(args, c.args...)...)
			if r.code != c.code || !strings.HasPrefix(r.stderr, "error: ") {
				t.Errorf("want exit code %d and an error, got %v", c.code, r)
			}
			for _, text := range c.says {
				if !strings.Contains(r.stderr, text) {
					t.Errorf("it should say %s: %v", text, r)
				}
			}
		})
	}
}

// write puts text into a file of this name and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An agent can write to the folder that it works in: what is there must not
// decide over the agent.
func TestAConfigurationInTheWorkingDirectoryIsNotRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"holdgate.yaml", "holdgate.yml", ".holdgate.yaml"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("policy: {mode: observe}\nnonsense: true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serveAt(t, folder, stateDir(t), nil)
	resp, err := s.api(http.MethodGet, "/v1/status", "")
	if err != nil {
		t.Fatal(err)
	}
	if status := body(t, resp); !strings.Contains(status, `"enforce"`) {
		t.Errorf("the status is %s", status)
	}
}

func TestASecondSidecarOnTheSameStateSaysSo(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	r := s.run("serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0")
	if r.code != 1 || !strings.Contains(r.stderr, "another") || !strings.Contains(r.stderr, s.dir) {
		t.Errorf("the second one should say that another one uses %s: %v", s.dir, r)
	}
	if s.run("pending").code != 4 {
		t.Error("the first one does not answer any longer")
	}
}

const (
	goodRule   = "package holdgate.custom.mine\n\ndecisions contains {\"action\": \"hold\", \"rule\": \"mine.first\", \"reason\": \"Mine.\"} if input.tool.name == \"Bash\"\n"
	betterRule = "package holdgate.custom.mine\n\ndecisions contains {\"action\": \"hold\", \"rule\": \"mine.second\", \"reason\": \"Mine.\"} if input.tool.name == \"Bash\"\n"
	brokenRule = "package holdgate.custom.mine\n\ndecisions contains {\"action\": \"allow\"} if {\n\tinput.tool.name = = \"Bash\"\n}\n"
)

// Part of TestPromise4.
func noPolicyThatLoads(t *testing.T) {
	t.Parallel()
	file := write(t, "mine.rego", brokenRule)
	r := holdgate(t, nil, "serve", "--state-dir", stateDir(t), "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--policy", file)
	if r.code != 1 || !strings.Contains(r.stderr, "mine.rego:4") {
		t.Errorf("it should end and name mine.rego:4: %v", r)
	}
}

// While it serves, an edit that does not load leaves the last good policy in
// force and is in the log; one that loads is in force without a restart. Part of
// TestPromise4.
func brokenEditKeepsThePolicy(t *testing.T) {
	t.Parallel()
	p, file := newProvider(t), write(t, "mine.rego", goodRule)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--policy", file)
	edit := func(text, logged string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, "an entry of the log with "+logged, func() bool { return strings.Contains(s.must("audit", "export"), logged) })
	}
	holds := func(rule, command string) {
		t.Helper()
		ended := hold(t, s, command)
		r := s.held(command)
		if r.Rule != rule {
			t.Errorf("%s is held by rule %s, want %s", command, r.Rule, rule)
		}
		s.must("deny", r.ID)
		<-ended
	}
	holds("mine.first", "ls one")
	edit(brokenRule, "a policy was refused and the earlier one stays")
	if got := s.must("status"); !strings.Contains(got, "does NOT load") || !strings.Contains(got, "mine.rego:4") {
		t.Errorf("status does not say that the rules do not load:\n%s", got)
	}
	holds("mine.first", "ls two")
	before := strings.Count(s.must("audit", "export"), "policy in force")
	if err := os.WriteFile(file, []byte(betterRule), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the next policy in force", func() bool {
		return strings.Count(s.must("audit", "export"), "policy in force") > before
	})
	if got := s.must("status"); strings.Contains(got, "does NOT load") {
		t.Errorf("status says still that the rules do not load:\n%s", got)
	}
	holds("mine.second", "ls three")
}

// hold starts a streamed turn in which the model asks for command. What is
// returned is closed when the connection has ended.
func hold(t *testing.T, s *sidecar, command string) <-chan struct{} {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json",
			strings.NewReader(string(turn("run: "+command, agentKind{stream: true}))))
		if err != nil {
			return // the sidecar may be on its way out
		}
		defer resp.Body.Close()
		drain(resp)
	}()
	return ended
}

func TestSIGTERMEndsItInOrderAndWhatIsHeldStays(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL}
	s := serve(t, nil, args...)
	ended := []<-chan struct{}{hold(t, s, "rm -rf one"), hold(t, s, "rm -rf two")}
	before := []request{s.held("rm -rf one"), s.held("rm -rf two")}
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log())
	}
	for _, e := range ended {
		<-e
	}
	s = serveIn(t, s.dir, nil, args...)
	for _, want := range before {
		if got := s.heldAs("request "+want.ID, func(r request) bool { return r.ID == want.ID }); got.Call.Digest != want.Call.Digest {
			t.Errorf("request %s is of another call after the restart: %s", want.ID, got.Call.Digest)
		}
	}
	answered := hold(t, s, "rm -rf one")
	s.answer(before[0].ID, "approve")
	<-answered
	if n := len(p.asked("rm -rf one")); n != 1 {
		t.Errorf("the model was asked %d times for what was stored", n)
	}
	s.must("audit", "verify")
}
