package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hookRun runs a hook as an agent does that is about to run a command.
func hookRun(t *testing.T, door, agent, command string, args ...string) *exec.Cmd {
	t.Helper()
	name := map[string]string{"gemini": "BeforeTool"}[agent]
	if name == "" {
		name = "PreToolUse"
	}
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"hook", "run", agent, "--agents", door}, args...)...)
	cmd.Env = append(environment(), "HOME="+t.TempDir())
	cmd.Stdin = strings.NewReader(encode(t, map[string]any{
		"hook_event_name": name, "session_id": "s1", "cwd": "/srv/app/project", "tool_use_id": "toolu_" + slug(command),
		"tool_name": "Bash", "tool_input": map[string]string{"command": command}, "something_new": 1,
	}))
	return cmd
}

// ends starts a hook whose end is waited for later.
func ends(t *testing.T, cmd *exec.Cmd) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() { done <- finish(t, cmd) }()
	return done
}

// What `holdgate hook run` says to an agent, by its exit code and streams.
func TestHookRun(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	if r := finish(t, hookRun(t, s.agents, "claude", "ls -la")); r.code != 0 || r.stdout != "" {
		t.Errorf("an allowed call should go on without a word: %v", r)
	}
	denied := ends(t, hookRun(t, s.agents, "claude", "rm -rf /srv/app/one"))
	s.answer(s.held("/srv/app/one").ID, "deny", "--reason", "it is needed")
	if r := <-denied; r.code != 2 || !strings.Contains(r.stderr, "it is needed") || r.stdout != "" {
		t.Errorf("a denial should be exit code 2, and say why: %v", r)
	}
	approved := ends(t, hookRun(t, s.agents, "claude", "rm -rf /srv/app/two"))
	s.answer(s.held("/srv/app/two").ID, "approve")
	if r := <-approved; r.code != 0 || !strings.Contains(r.stdout, `"permissionDecision":"allow"`) {
		t.Errorf("what people approved should go on, and not be asked about by the agent: %v", r)
	}
	edited := ends(t, hookRun(t, s.agents, "gemini", "rm -rf /srv/app/three"))
	s.edit(s.held("/srv/app/three"), `{"command":"ls"}`)
	if r := <-edited; r.code != 0 || !strings.Contains(r.stdout, `"tool_input":{"command":"ls"}`) {
		t.Errorf("other arguments should reach the agent: %v", r)
	}
	for _, told := range []string{"", "[]", "nonsense", `{"hook_event_name":"PreToolUse"}`, `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Read"}`} {
		cmd := hookRun(t, s.agents, "claude", "ls")
		cmd.Stdin = strings.NewReader(told)
		if r := finish(t, cmd); r.code != 2 {
			t.Errorf("%q should be refused: %v", told, r)
		}
	}
	if r := finish(t, hookRun(t, s.agents, "nobody", "ls")); r.code != 2 || !strings.Contains(r.stderr, "claude") {
		t.Errorf("an agent that is not known should be refused: %v", r)
	}
}

// An agent that waits no longer is told to ask again, and the same call takes up the
// same request, whatever its id is. Its approval is used once.
func TestAHookThatAsksAgainTakesUpTheRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	const command = "rm -rf /srv/app/late"
	r := finish(t, hookRun(t, s.agents, "claude", command, "--wait", "0s"))
	held := s.held("/srv/app/late")
	if r.code != 2 || !strings.Contains(r.stderr, "request "+held.ID) || !strings.Contains(r.stderr, "Call the tool again") {
		t.Fatalf("the agent should be told to ask again: %v", r)
	}
	s.answer(held.ID, "approve")
	again := func() result {
		cmd := hookRun(t, s.agents, "claude", command, "--wait", "0s")
		told := new(bytes.Buffer)
		if _, err := told.ReadFrom(cmd.Stdin); err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = strings.NewReader(strings.Replace(told.String(), "toolu_", "another_", 1))
		return finish(t, cmd)
	}
	if r := again(); r.code != 0 {
		t.Errorf("the call asked again should go on: %v", r)
	}
	if r := again(); r.code != 2 {
		t.Errorf("an approval should be used once: %v", r)
	}
}

// A hook refuses where no sidecar answers, and one that may fail open tells the next
// sidecar of it.
func TestAHookWithoutASidecar(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--agents", unusedAddr(t))
	s.kill()
	if r := finish(t, hookRun(t, s.agents, "claude", "ls")); r.code != 2 || !strings.Contains(r.stderr, "cannot be asked") {
		t.Errorf("it should fail closed: %v", r)
	}
	open := hookRun(t, s.agents, "claude", "ls", "--fail", "open")
	home := open.Env
	if r := finish(t, open); r.code != 0 {
		t.Errorf("it should fail open where that is asked for: %v", r)
	}
	s = serveIn(t, s.dir, nil, "--agents", s.agents)
	for range 2 {
		next := hookRun(t, s.agents, "claude", "ls", "--fail", "open")
		next.Env = home
		if r := finish(t, next); r.code != 0 {
			t.Errorf("an allowed call should go on: %v", r)
		}
	}
	found := 0
	for _, e := range s.entries() {
		if e.Type == "finding" {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the log has %d findings of calls that went on, want 1", found)
	}
}

// A sidecar that is killed while people are asked leaves a hook that refuses, and one that
// starts anew meanwhile is asked again.
func TestAHookOutlivesItsSidecar(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--agents", unusedAddr(t))
	waiting := ends(t, hookRun(t, s.agents, "claude", "rm -rf /srv/app/anew"))
	r := s.held("/srv/app/anew")
	s.kill()
	s = serveIn(t, s.dir, nil, "--agents", s.agents)
	s.answer(r.ID, "approve")
	if r := <-waiting; r.code != 0 {
		t.Errorf("the call should go on: %v", r)
	}
	waiting = ends(t, hookRun(t, s.agents, "claude", "rm -rf /srv/app/gone"))
	s.held("/srv/app/gone")
	s.kill()
	if r := <-waiting; r.code != 2 || !strings.Contains(r.stderr, "cannot be asked") {
		t.Errorf("the call should be refused: %v", r)
	}
	s = serveIn(t, s.dir, nil, "--agents", s.agents)
	gone := s.held("/srv/app/gone")
	s.answer(gone.ID, "approve")
	if r := finish(t, hookRun(t, s.agents, "claude", "rm -rf /srv/app/gone")); r.code != 0 {
		t.Errorf("the call asked again should take up its request: %v", r)
	}
	waiting = ends(t, hookRun(t, s.agents, "claude", "rm -rf /srv/app/open", "--fail", "open"))
	s.held("/srv/app/open")
	s.kill()
	if r := <-waiting; r.code != 0 {
		t.Errorf("the call should go on where that is asked for: %v", r)
	}
}

// The start of a hook is not that of the whole program, which takes longer than an agent
// should wait at each call.
func TestAHookStartsLight(t *testing.T) {
	t.Parallel()
	cmd := hookRun(t, "127.0.0.1:1", "claude", "ls", "--fail", "open")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "init os ") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, heavy := range []string{"/holdgate/rego ", "client_golang/prometheus ", "jsonschema", "badger/v4 ", "elazarl/goproxy ", "init net/http "} {
		if strings.Contains(string(out), heavy) {
			t.Errorf("%s is initialised before a hook runs:\n%s", heavy, out)
		}
	}
}

// hookedPrograms are the agents that have hooks, with the command that their model asks
// for: Codex refuses `rm -rf` by itself.
func hookedPrograms() map[string]agentProgram {
	all := map[string]agentProgram{
		"claude": {
			program: "claude", upstream: "anthropic", args: []string{"--allowedTools", "Bash", "-p"},
			env: func(base, home string) []string {
				return []string{"CLAUDE_CONFIG_DIR=" + filepath.Join(home, "claude"), "ANTHROPIC_API_KEY=test", "DISABLE_AUTOUPDATER=1",
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ANTHROPIC_BASE_URL=" + base}
			},
		},
		"codex": {
			program: "codex", upstream: "openai",
			args: []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "-m", "gpt-test"},
			env: func(_, home string) []string {
				return []string{"CODEX_HOME=" + home, "OPENAI_API_KEY=test", "CODEX_API_KEY=test"}
			},
			prepare: func(t *testing.T, base, home, _ string) {
				put(t, filepath.Join(home, "config.toml"), "model_provider = \"lab\"\nweb_search = \"disabled\"\n[model_providers.lab]\nname = \"lab\"\nbase_url = \""+
					base+"/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n")
			},
		},
	}
	for _, a := range agentPrograms() {
		all[a.program] = a
	}
	return all
}

// hooked starts an agent with the hook in its settings, and has its model ask for a
// command on a folder of its project.
func (a agentProgram) hooked(t *testing.T, base, door, marker string, args ...string) (p *process, data string) {
	t.Helper()
	program, home, project, data := inProject(t, a.program, marker)
	if a.prepare != nil {
		a.prepare(t, base, home, project)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_COLOR=1", "CI=1"}, a.env(base, home)...)
	install := exec.CommandContext(t.Context(), binary, append([]string{"hook", a.program, "install", "--agents", door}, args...)...)
	install.Env, install.Dir = env, project
	if r := finish(t, install); r.code != 0 {
		t.Fatalf("installing the hook: %v", r)
	}
	command := "rm -rf data-" + marker
	if a.program == "codex" {
		command = "rm -r data-" + marker
	}
	p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, append(slices.Clone(a.args), "run: "+command)...)
		cmd.Dir, cmd.Env = project, env
		return cmd
	})
	return p, data
}

// Real agents with the hook alone, and no proxy: what a person decides is what happens,
// and the model reads why.
func TestAgentsWithAHook(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil)
	t.Run("all", func(t *testing.T) { agentsWithAHook(t, plain, s) })
	s.nothingFound()
}

func agentsWithAHook(t *testing.T, plain *provider, s *sidecar) {
	decisions := []personsDecision{personsDecisions[1], personsDecisions[2], personsDecisions[0]}
	for name, a := range hookedPrograms() {
		for i, c := range decisions {
			if i > 0 && name != "claude" && name != "codex" && name != "opencode" { // which take long to start
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := s.in(t)
				marker := name + "-hook-" + c.name
				p, data := a.hooked(t, plain.URL, s.agents, marker, "--state-dir", s.dir)
				defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
				r := s.held("data-" + marker)
				if _, err := os.Stat(data); err != nil {
					t.Fatal("the call ran before anybody was asked")
				}
				// Cline's command line tells no hook what its user asks for.
				if shown := s.must("show", r.ID); name != "cline" && !strings.Contains(shown, "run: rm") {
					t.Errorf("people are not told what the agent's user has asked for:\n%s", shown)
				}
				s.answer(r.ID, c.decide...)
				p.output()
				if _, err := os.Stat(data); (err != nil) != c.gone {
					t.Errorf("the folder is gone: %t, want %t", err != nil, c.gone)
				}
				ran := slices.ContainsFunc(s.entries(), func(e entry) bool {
					return e.RequestID == r.ID && strings.HasPrefix(e.Note, "by the agent's word")
				})
				if ran != c.gone {
					t.Errorf("the log has what came of the call: %t, want %t", ran, c.gone)
				}
				// Cline ends its run, and tells the reason to nobody.
				if !c.gone && name != "cline" && !slices.ContainsFunc(plain.asked("data-"+marker), func(body string) bool { return strings.Contains(body, c.prints) }) {
					t.Errorf("the model should read %q", c.prints)
				}
			})
		}
		t.Run(name+"/edited", func(t *testing.T) {
			t.Parallel()
			if name == "qwen" {
				t.Skip("it takes no other arguments from a hook")
			}
			s := s.in(t)
			marker := name + "-hook-edited"
			p, data := a.hooked(t, plain.URL, s.agents, marker, "--state-dir", s.dir)
			defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
			edited := `{"command":"touch data-` + marker + `/kept","description":"Keep it"}`
			if name == "cline" {
				edited = `{"commands":["touch data-` + marker + `/kept"]}`
			}
			s.edit(s.held("data-"+marker), edited)
			p.output()
			if _, err := os.Stat(filepath.Join(data, "kept")); err != nil {
				t.Errorf("the edited command did not run: %v", err)
			}
		})
	}
}

// With a hook and a proxy people are asked once: where the call stands in the model's
// answer.
func TestAgentsWithAHookAndAProxyAreAskedOnce(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL, "--upstream", "gemini="+plain.URL)
	t.Run("all", func(t *testing.T) {
		for name, a := range hookedPrograms() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := s.in(t)
				marker := name + "-both"
				p, data := a.hooked(t, s.base(a.upstream), s.agents, marker, "--wait", "1s", "--state-dir", s.dir)
				defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
				s.answer(s.held("data-"+marker).ID, "approve")
				p.output()
				if _, err := os.Stat(data); err == nil {
					t.Error("the folder is there: people were asked again")
				}
			})
		}
	})
	s.nothingFound()
}

// nothingFound says that the log has no finding.
func (s *sidecar) nothingFound() {
	s.t.Helper()
	for _, e := range s.entries() {
		if e.Type == "finding" {
			s.t.Errorf("nothing was done that no model asked for: %+v", e)
		}
	}
}

// A sidecar that is killed while people are asked leaves agents that do not run the call, and
// whose model reads why.
func TestAgentsWithAHookWhoseSidecarIsKilled(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil)
	type held struct {
		p    *process
		data string
	}
	all := map[string]held{}
	for name, a := range hookedPrograms() {
		p, data := a.hooked(t, plain.URL, s.agents, name+"-killed", "--state-dir", s.dir)
		all[name] = held{p, data}
	}
	for name := range all {
		s.held("data-" + name + "-killed")
	}
	s.kill()
	for name, h := range all {
		h.p.end()
		if _, err := os.Stat(h.data); err != nil {
			t.Errorf("%s: the call ran. It said: %s\n%s", name, &h.p.stdout, &h.p.stderr)
		}
		if name != "cline" && !slices.ContainsFunc(plain.asked("data-"+name+"-killed"), func(body string) bool { return strings.Contains(body, "cannot be asked") }) {
			t.Errorf("%s: the model is not told why", name)
		}
	}
}

// A call that people leave alone for five minutes is held at each agent's hook, and runs once it
// is approved. HOLDGATE_HOLD=5m says how long; without it the test is left out.
func TestAgentsWaitLongAtAHook(t *testing.T) {
	hold := longHold()
	if hold == 0 {
		t.Skip("HOLDGATE_HOLD does not say how long")
	}
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil)
	for name, a := range hookedPrograms() {
		if name == "cline" || name == "qwen" { // which wait less: TestAgentsThatWaitForAShortTime
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			p, data := a.hooked(t, plain.URL, s.agents, name+"-long", "--state-dir", s.dir)
			r := s.held("data-" + name + "-long")
			select {
			case <-time.After(hold):
			case <-p.ended:
				t.Fatalf("it did not wait: %s\n%s", &p.stdout, &p.stderr)
			}
			if _, err := os.Stat(data); err != nil {
				t.Fatal("the call ran before anybody had answered")
			}
			s.answer(r.ID, "approve")
			p.output()
			if _, err := os.Stat(data); err == nil {
				t.Errorf("the call did not run: %s\n%s", &p.stdout, &p.stderr)
			}
		})
	}
}

// An agent that runs a call once its hook takes longer than some time, whatever its settings say,
// is refused before that; the request stays.
func TestAgentsThatWaitForAShortTimeAreRefused(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil)
	for _, name := range []string{"qwen", "cline"} {
		a := hookedPrograms()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			p, data := a.hooked(t, plain.URL, s.agents, name+"-short", "--state-dir", s.dir)
			r := s.held("data-" + name + "-short")
			p.end()
			if _, err := os.Stat(data); err != nil {
				t.Errorf("the call ran before anybody had answered: %s\n%s", &p.stdout, &p.stderr)
			}
			if name == "qwen" && len(plain.asked("request "+r.ID)) == 0 {
				t.Error("the model is not told to call again")
			}
			if again := s.held("data-" + name + "-short"); again.ID != r.ID {
				t.Errorf("the request is %s, and was %s", again.ID, r.ID)
			}
		})
	}
}

// A call of an agent with a hook is not run where no sidecar is there to ask.
func TestAgentsWithAHookAndNoSidecar(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	for name, a := range hookedPrograms() {
		if name == "opencode" || name == "cline" { // they take long to start; what their hooks say then is tried without them
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, data := a.hooked(t, plain.URL, "127.0.0.1:1", name+"-alone")
			defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
			p.output()
			if _, err := os.Stat(data); err != nil {
				t.Error("the call ran")
			}
		})
	}
}
