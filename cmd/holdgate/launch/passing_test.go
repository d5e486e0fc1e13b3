package launch_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

func TestWithoutATerminalTheStreamsAreTheAgentsAlone(t *testing.T) {
	t.Parallel()
	r := newRun(t, "ask", "rm -rf data")
	var stdout bytes.Buffer
	r.cmd.Stdin, r.cmd.Stdout = strings.NewReader("hello\nworld\n"), &stdout
	pipe, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr := bufio.NewReader(pipe)
	warning, err := stderr.ReadString('\n')
	if err != nil || !strings.HasPrefix(warning, "warning: the agent runs UNCONFINED") {
		t.Errorf("stderr begins with %q, %v", warning, err)
	}
	told, err := stderr.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := r.pending(1)[0]
	told = regexp.MustCompile(`denied in [0-9hms]+;`).ReplaceAllString(told, "denied in TIME;")
	if want := "holdgate: testagent (UNCONFINED) waits for you: Deletes ./data and everything in it; without an answer it is denied in TIME; answer with: holdgate approve " + p.ID + " --state-dir " + r.dir + ", or on the page: holdgate open " + p.ID + " --state-dir " + r.dir + "\n"; told != want {
		t.Errorf("stderr says %q, want %q", told, want)
	}
	if _, err := r.client().Decide(t.Context(), p.ID, api.Decision{Decision: holdgate.AnswerApprove, Digest: p.Call.Digest}); err != nil {
		t.Fatal(err)
	}
	more, err := io.ReadAll(stderr)
	if err != nil || len(more) > 0 {
		t.Errorf("stderr goes on with %q, %v", more, err)
	}
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got, want := stdout.String(), "model: <rm -rf data>\nheard: hello\n"; got != want {
		t.Errorf("stdout is %q, want %q", got, want)
	}
}

func TestAProviderThatGaveNoAnswerIsSaidAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newRun(t, "ask", "rm -rf data")
	host := strings.TrimPrefix(r.provider.URL, "http://")
	r.provider.Close()
	var stderr bytes.Buffer
	r.cmd.Stderr = &stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.code()
	want := regexp.MustCompile(`(?m)^note: ` + regexp.QuoteMeta(host) + ` gave testagent no answer: .*refused\. Nothing listens there\. Is upstreams\.anthropic\.url right\?$`)
	if !want.Match(stderr.Bytes()) {
		t.Errorf("stderr does not match %s:\n%s", want, stderr.String())
	}
}

func TestTheEnvironmentNamesNoSecret(t *testing.T) {
	t.Parallel()
	r := newRun(t, "env")
	r.cmd.Env = append(r.cmd.Env, "NOTE=see "+r.dir+"/db", "NO_PROXY=*", "KEPT=yes")
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	r.code()
	env := string(text)
	token, err := os.ReadFile(filepath.Join(r.dir, "approver.token"))
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`(?m)^HOLDGATE_AGENTS=127\.0\.0\.1:\d+$`).ReplaceAllString(env, "")
	for _, secret := range []string{r.dir, strings.TrimSpace(string(token)), "HOLDGATE_"} {
		if strings.Contains(other, secret) {
			t.Errorf("the environment holds %q: %s", secret, env)
		}
	}
	for _, want := range []string{"KEPT=yes\n", "HTTPS_PROXY=http://127.0.0.1:", "NO_PROXY=\n", "ANTHROPIC_BASE_URL=http://127.0.0.1:", "/up/openai/v1\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %q: %s", want, env)
		}
	}
	for line := range strings.Lines(env) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "SSL_CERT_FILE="); ok {
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("%s is there after the run: %v", path, err)
			}
		}
	}
}

// The CA comes from the environment: an agent whose TLS library heeds none of
// the variables would fail here.
func TestTheAgentTrustsTheSidecar(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(upstream.Close)
	r := newRun(t, "fetch", upstream.URL)
	out, err := r.cmd.Output()
	if got, want := string(out), "signed by [Holdgate]\n"; got != want {
		t.Errorf("the agent saw %q, %v, want %q", got, err, want)
	}
}

func TestASidecarThatRunsIsUsed(t *testing.T) {
	t.Parallel()
	r := newRun(t, "ask", "rm -rf data")
	serve := exec.CommandContext(t.Context(), binary, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--upstream", "anthropic="+r.provider.URL)
	serve.Env = r.cmd.Env
	ready, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	lines := bufio.NewReader(ready)
	for range 3 { // one for each listener
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	r.cmd.Args = slices.DeleteFunc(r.cmd.Args, func(a string) bool { return a == "--upstream" || strings.HasPrefix(a, "anthropic=") })
	tm := attach(r)
	tm.sees("the sidecar that runs already is used; the agent counts there as testagent")
	tm.answers("deny it is needed")
	tm.sees("denied by")
	tm.types("\r")
	tm.ended(0)
	list, err := tm.client().List(t.Context(), approvals.Filter{Status: holdgate.StatusDenied})
	if err != nil || len(list) != 1 {
		t.Errorf("after the run the sidecar knows %d denied requests, %v", len(list), err)
	}
}

const confinementRule = `package holdgate.custom.seen

decisions contains {
	"action": "deny", "rule": "seen.deny",
	"reason": concat(" ", ["it is", input.agent.id, input.agent.confinement]),
} if {
	input.kind == "tool_call"
}
`

func TestPolicySeesHowTheAgentIsConfined(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--unconfined": "unconfined", "--confine=strong": "strong", "--confine=weak": "weak"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			needs(t, want)
			r := newRunWith(t, flag, "ask", "ls").inFolder()
			path := filepath.Join(t.TempDir(), "seen.rego")
			if err := os.WriteFile(path, []byte(confinementRule), 0o600); err != nil {
				t.Fatal(err)
			}
			r.cmd.Args = slices.Insert(r.cmd.Args, 2, "--policy", path)
			out, err := r.cmd.Output()
			if want := "it is testagent " + want; err != nil || !strings.Contains(string(out), want) {
				t.Errorf("the agent saw %q, %v, want %q", out, err, want)
			}
		})
	}
}
