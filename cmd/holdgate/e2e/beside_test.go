package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// askerVariable makes the test's program an agent that asks for what it reads, one
// URL a line (and what to post there, behind a blank), and prints what it got, one
// answer a line.
const askerVariable = "E2E_ASKER"

func beAsker(in io.Reader, out io.Writer) {
	door := strings.TrimPrefix(os.Getenv("HTTP_PROXY"), "http://")
	fmt.Fprintln(out, "ready at "+door)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if lines.Text() == "env" {
			fmt.Fprintln(out, strings.ReplaceAll(strings.Join(os.Environ(), " "), "\n", " "))
			continue
		}
		url, posted, posts := strings.Cut(lines.Text(), " ")
		method := http.MethodGet
		if posts {
			method = http.MethodPost
		}
		req, err := http.NewRequest(method, strings.ReplaceAll(url, "DOOR", door), strings.NewReader(posted))
		if err != nil {
			fmt.Fprintln(out, "error "+err.Error())
			continue
		}
		if posts {
			req.Header.Set("Content-Type", "application/json")
		}
		if key := os.Getenv("ANTHROPIC_API_KEY"); key != "" {
			req.Header.Set("X-Api-Key", key)
		}
		resp, err := client.Do(req)
		if err != nil {
			fmt.Fprintln(out, "error "+err.Error())
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Fprintf(out, "%d %s %v\n", resp.StatusCode, bytes.ReplaceAll(body, []byte("\n"), nil), err)
	}
}

// An asking is a `holdgate run` of an agent that asks for what the test says.
type asking struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr lockedBuffer
	ended  chan struct{}
}

// A lockedBuffer is written by a process and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// runAsker starts an agent by `holdgate run`, in a folder of its own.
func runAsker(t *testing.T, state string, args ...string) *asking {
	t.Helper()
	return runAskerWith(t, nil, state, args...)
}

// runAskerWith is runAsker with variables of the environment.
func runAskerWith(t *testing.T, env []string, state string, args ...string) *asking {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{t: t, ended: make(chan struct{})}
	a.cmd = exec.Command(binary, append(append([]string{"run", "--state-dir", state}, args...), "--", self)...)
	a.cmd.Dir, a.cmd.Env, a.cmd.Stderr = t.TempDir(), append(append(environment(), askerVariable+"=1", "HOME="+t.TempDir()), env...), &a.stderr
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.out = bufio.NewScanner(out)
	late := time.AfterFunc(2*patience, func() { _ = a.cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = a.in.Close()
		<-a.ended
		late.Stop()
	})
	first := a.out.Scan() && strings.HasPrefix(a.out.Text(), "ready at 127.0.0.1:")
	if !first {
		_ = a.cmd.Process.Kill()
	}
	go func() { // what is read is read by ask alone, until in is closed
		_, _ = a.cmd.Process.Wait()
		close(a.ended)
	}()
	if !first {
		t.Fatalf("the agent did not start: %s", a.stderr.String())
	}
	return a
}

// ask has the agent ask for a URL, in which DOOR is its door.
func (a *asking) ask(url string) string {
	a.t.Helper()
	if _, err := io.WriteString(a.in, url+"\n"); err != nil || !a.out.Scan() {
		a.t.Fatalf("the agent has ended (%v): %s", err, a.stderr.String())
	}
	return a.out.Text()
}

// says waits until the run has said words on its stderr.
func (a *asking) says(words string) {
	a.t.Helper()
	until(a.t, "the run says "+words, func() bool { return strings.Contains(a.stderr.String(), words) })
}

// kinds are the ways to confine that this machine has.
func kinds(t *testing.T) map[string][]string {
	ways := map[string][]string{"unconfined": {"--unconfined"}}
	text := holdgate(t, nil, "doctor").stdout
	for _, kind := range []string{"strong", "weak"} {
		if strings.Contains(text, kind+" confinement: yes") {
			ways[kind] = []string{"--confine", kind}
		} else {
			t.Logf("NOT TESTED: %s confinement cannot be had here", kind)
		}
	}
	return ways
}

const session = "http://DOOR/v1/session"

// Agents that are started beside a sidecar use it, each under a name of its own.
func TestARunBesideAnother(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(self)
	for kind, flags := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			state := stateDir(t)
			first := runAsker(t, state, flags...)
			second := runAsker(t, state, flags...)
			third := runAsker(t, state, "--unconfined")
			for agent, a := range map[string]*asking{name: first, name + "-2": second, name + "-3": third} {
				if got := a.ask(session); !strings.Contains(got, `"agent":"`+agent+`"`) {
					t.Errorf("the agent is not %s: %s", agent, got)
				}
			}
			list := holdgate(t, []string{"HOLDGATE_STATE_DIR=" + state}, "agents", "--json").stdout
			if want := `"id": "` + name + `-2",` + "\n" + `    "proven": ` + map[bool]string{true: "true", false: "false"}[kind == "strong"] + ",\n" + `    "confinement": "` + kind + `"`; !strings.Contains(list, want) {
				t.Errorf("agents prints no %s\n%s", want, list)
			}
			// The sidecar's own agent ends, and it goes on for the others.
			_ = first.in.Close()
			first.says(name + "-2, " + name + "-3 still uses the sidecar")
			if got := second.ask(session); !strings.HasPrefix(got, "200 ") {
				t.Errorf("the sidecar does not go on: %s", got)
			}
			for _, a := range []*asking{second, third} {
				_ = a.in.Close()
				<-a.ended
			}
			<-first.ended
		})
	}
}

// Where the sidecar dies, what the other agent asks goes nowhere.
func TestARunWhoseSidecarDies(t *testing.T) {
	t.Parallel()
	for kind, flags := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			state := stateDir(t)
			s := serveIn(t, state, nil)
			a := runAsker(t, state, flags...)
			if got := a.ask(session); !strings.HasPrefix(got, "200 ") {
				t.Fatalf("the control: %s", got)
			}
			s.kill()
			a.says("has ended: nothing that it asks goes on any longer")
			if got := a.ask(session); !strings.HasPrefix(got, "error ") {
				t.Errorf("something still answers: %s", got)
			}
		})
	}
}

// A sidecar's policy is not to be changed by an agent that was started later.
func TestARunBesideKeepsPolicyFromTheAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "rules.rego"), "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\", \"rule\": \"a\"} if false\n")
	state := stateDir(t)
	serveIn(t, state, nil, "--policy", filepath.Join(dir, "rules.rego"))
	cmd := exec.CommandContext(t.Context(), binary, "run", "--unconfined", "--state-dir", state, "--", "true")
	cmd.Dir, cmd.Env = dir, environment()
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("can be changed by the agent")) {
		t.Errorf("got %v: %s", err, out)
	}
}

// A state folder that goes away under a sidecar keeps nobody waiting.
func TestARunEndsWhereItsStateHasGone(t *testing.T) {
	t.Parallel()
	state := stateDir(t)
	a := runAsker(t, state, "--unconfined")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.ended:
	case <-time.After(patience):
		_ = a.cmd.Process.Signal(syscall.SIGQUIT)
		<-a.ended
		t.Fatalf("it goes on after SIGTERM: %.4000s", a.stderr.String())
	}
	t.Logf("it ended after %s", time.Since(began))
	if !strings.Contains(a.stderr.String(), "folder has gone") {
		t.Errorf("it does not say what happened: %s", a.stderr.String())
	}
}

// The example of docs/identity.md: the agent has a placeholder, and the provider
// gets the key, which only the sidecar has.
func TestAnAgentDoesNotHaveTheKey(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-the-real-one"
	got := make(chan http.Header, 16)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Clone()
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(provider.Close)
	for kind, flags := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "holdgate.yaml")
			put(t, config, "credentials:\n  anthropic:\n    hosts: [\""+provider.URL+"\"]\n    header: x-api-key\n    env: ANTHROPIC_API_KEY\n")
			a := runAskerWith(t, []string{"ANTHROPIC_API_KEY=" + key, "COPY=" + key}, stateDir(t), append(flags, "--config", config, "--upstream", "anthropic="+provider.URL)...)
			if env := a.ask("env"); strings.Contains(env, key) || !strings.Contains(env, "ANTHROPIC_API_KEY=held-by-holdgate") {
				t.Errorf("the agent's environment is %s", env)
			}
			text := a.ask("http://DOOR/up/anthropic/v1/models")
			if kind != "strong" { // it has not proven who it is
				if !strings.HasPrefix(text, "401 ") || !strings.Contains(text, "credential anthropic") {
					t.Errorf("got %s", text)
				}
				return
			}
			if h := <-got; !strings.HasPrefix(text, "200 ") || h.Get("X-Api-Key") != key {
				t.Errorf("got %s, and the provider %v", text, h)
			}
		})
	}
	if len(got) > 0 {
		t.Errorf("the provider was asked %d times more", len(got))
	}
}

// A program that is called as an agent which the configuration knows by its token
// is not that agent: neither its key nor a rule for it is for the program.
func TestARunDoesNotTakeTheNameOfAnAgentWithAToken(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(self)
	got := make(chan http.Header, 16)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Clone()
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(provider.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "holdgate.yaml")
	put(t, config, "agents:\n  "+name+": {token_sha256: \""+strings.Repeat("ab", 32)+"\"}\n"+
		"credentials:\n  anthropic: {hosts: [\""+provider.URL+"\"], header: x-api-key, env: ANTHROPIC_API_KEY, agents: ["+name+"]}\n")
	for kind, flags := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			a := runAskerWith(t, []string{"ANTHROPIC_API_KEY=sk-ant-the-real-one"}, stateDir(t), append(flags, "--config", config, "--upstream", "anthropic="+provider.URL)...)
			a.says("this one counts as " + name + "-2")
			if text := a.ask(session); !strings.Contains(text, `"agent":"`+name+`-2"`) {
				t.Errorf("it counts as %s", text)
			}
			if text := a.ask("http://DOOR/up/anthropic/v1/models"); !strings.HasPrefix(text, "401 ") {
				t.Errorf("the other's key: got %s", text)
			}
		})
	}
	if len(got) > 0 {
		t.Errorf("the provider was asked with %v", <-got)
	}
}

// What a run has asked that ended waits for nobody: it interrupts no later run, and stands
// apart and last.
func TestAQuestionOfAnEndedRunStandsApart(t *testing.T) {
	t.Parallel()
	to, state := newTelemetry(t), stateDir(t)
	args := []string{"--unconfined", "--upstream", "telemetry=" + to.URL, "--policy", to.setting(t, "ask")}
	s := &sidecar{t: t, dir: state}
	post := func(a *asking, path string) {
		if _, err := io.WriteString(a.in, "http://DOOR/up/telemetry"+path+" {}\n"); err != nil {
			t.Fatal(err)
		}
		until(t, "the post to "+path+" pending", func() bool { return strings.Contains(s.run("pending").stdout, path) })
	}
	first := runAsker(t, state, args...)
	post(first, "/old")
	if out := s.must("pending"); strings.Contains(out, "Nobody waits") {
		t.Errorf("the agent waits, and pending prints\n%s", out)
	}
	_ = first.cmd.Process.Signal(syscall.SIGTERM)
	<-first.ended
	second := runAsker(t, state, args...)
	second.says("a question of an earlier run is still open, though nobody waits for it: holdgate show ")
	post(second, "/new")
	out := s.must("pending")
	now, left, apart := strings.Cut(out, "Nobody waits for these any more")
	if !apart || !strings.Contains(now, "/new") || strings.Contains(now, "/old") || !strings.Contains(left, "/old") {
		t.Errorf("pending prints\n%s", out)
	}
	for _, r := range s.pending() {
		if shown := s.must("show", r.ID); strings.Contains(shown, "from a run that ended at ") != regexp.MustCompile(`(?m)^http .*/old$`).MatchString(shown) {
			t.Errorf("show prints\n%s", shown)
		}
	}
	_ = second.cmd.Process.Signal(syscall.SIGTERM)
}
