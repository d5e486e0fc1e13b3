package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A pane is the one window of a tmux server of its own, in which a person works.
type pane struct {
	t      *testing.T
	socket string
}

// inTmux starts a script in a new pane. Its server ends with the test.
func inTmux(t *testing.T, dir, script string) *pane {
	t.Helper()
	p := &pane{t, filepath.Join(dir, "tmux")}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() }) // it may have ended
	cmd := exec.CommandContext(t.Context(), "tmux", "-S", p.socket, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", "sh", script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("starting tmux: %v: %s", err, out)
	}
	return p
}

// screen is what the person sees now.
func (p *pane) screen() string {
	p.t.Helper()
	out, err := exec.CommandContext(p.t.Context(), "tmux", "-S", p.socket, "capture-pane", "-p").Output()
	if err != nil {
		p.t.Fatalf("the agent has ended: looking at its pane: %v", err)
	}
	return string(out)
}

// sees waits until the screen is as wanted, and returns it. Meanwhile nudge, if there is
// one, is called every three seconds.
func (p *pane) sees(what string, ok func(screen string) bool, nudge ...func(screen string)) string {
	p.t.Helper()
	tick, over := time.NewTicker(150*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for n := 1; ; n++ {
		screen := p.screen()
		if ok(screen) {
			return screen
		}
		if n%20 == 0 {
			for _, fn := range nudge {
				fn(screen)
			}
		}
		select {
		case <-tick.C:
		case <-over:
			p.t.Fatalf("waited %v in vain for %s; the screen is\n%s", patience, what, screen)
		}
	}
}

// keys types what tmux's send-keys takes.
func (p *pane) keys(args ...string) {
	p.t.Helper()
	if out, err := exec.CommandContext(p.t.Context(), "tmux", append([]string{"-S", p.socket, "send-keys"}, args...)...).CombinedOutput(); err != nil {
		p.t.Fatalf("typing into tmux: %v: %s", err, out)
	}
}

// asksNow begins each question.
const asksNow = "HOLDGATE ASKS"

// asks waits for a question about a command, and returns its screen. Enter is pressed
// again in an agent that took it for a line of what was typed.
func (p *pane) asks(command string) string {
	p.t.Helper()
	return p.sees("a question about "+command, func(s string) bool {
		return strings.Contains(s, asksNow) && strings.Contains(s, command) && strings.Contains(s, "then Enter:")
	}, func(s string) {
		if !strings.Contains(s, asksNow) {
			p.keys("Enter")
		}
	})
}

// answers types an answer once the question has stood for as long as nothing is taken
// for one.
func (p *pane) answers(line string) {
	p.t.Helper()
	<-time.After(900 * time.Millisecond)
	p.keys("-l", line)
	p.keys("Enter")
}

// interactivePrograms are agents as people start them in a terminal, in homes that have
// what they would ask a newcomer about.
func interactivePrograms() []agentProgram {
	known := map[string]agentProgram{}
	for _, a := range confinedPrograms() {
		known[a.program] = a
	}
	claude, codex, gemini, qwen, opencode := known["claude"], known["codex"], known["gemini"], known["qwen"], known["opencode"]
	claude.args = []string{"--allowedTools=Bash", "--"}
	claude.prepare = func(t *testing.T, _, home, project string) {
		put(t, filepath.Join(home, ".claude.json"), encode(t, map[string]any{
			"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": map[string]any{"approved": []string{"test"}},
			"projects": map[string]any{project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
		}))
	}
	codex.args = nil
	codex.prepare = func(t *testing.T, base, home, project string) {
		put(t, filepath.Join(home, ".codex", "config.toml"), `model = "gpt-test"
model_provider = "lab"
sandbox_mode = "danger-full-access"
approval_policy = "never"
web_search = "disabled"
check_for_update_on_startup = false
[analytics]
enabled = false
[otel]
metrics_exporter = "none"
[model_providers.lab]
name = "lab"
base_url = "`+base+`/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."`+project+`"]
trust_level = "trusted"
`)
	}
	gemini.args = []string{"--yolo", "--skip-trust", "--model", "gemini-test", "-i"}
	qwen.args = []string{"--yolo", "--auth-type", "openai", "-i"}
	opencode.args = []string{"--model", "anthropic/claude-test", "--prompt"}
	return []agentProgram{claude, codex, gemini, qwen, opencode}
}

// Real agents in a person's tmux, each one process in which the person approves, denies,
// steers, edits and approves from now on, without another window.
func TestAgentsInTmux(t *testing.T) {
	clients := clientsDir(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: real agents in tmux: tmux is not installed")
	}
	if _, strong := kinds(t)["strong"]; !strong {
		t.Skip("SKIPPED, NOT TESTED: real agents in tmux: strong confinement cannot be had here")
	}
	t.Parallel()
	for _, a := range interactivePrograms() {
		t.Run(a.program, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(clients, "node_modules", ".bin", a.program)
			if _, err := os.Stat(program); err != nil {
				t.Skipf("SKIPPED, NOT TESTED: %s is not installed: %v", a.program, err)
			}
			a.decideInTmux(t, program)
		})
	}
}

// turns makes a provider whose model does what it is told last, however much was done
// before.
func turns(t *testing.T) *provider {
	p := newProvider(t)
	var n atomic.Int64
	p.latest = regexp.MustCompile(`run: rm `)
	p.calls = func(command string) []call {
		return []call{{id: fmt.Sprintf("toolu_%d_%s", n.Add(1), slug(command)), command: command}}
	}
	return p
}

// tight is text without what programs break lines with.
func tight(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '│' || r == '┃' {
			return -1
		}
		return r
	}, text)
}

func (a agentProgram) decideInTmux(t *testing.T, program string) {
	provider := turns(t)
	dir, project, state := freshHome(t), t.TempDir(), stateDir(t)
	home := filepath.Join(dir, "home")
	base := "http://127.0.0.1:7300/up/" + a.upstream
	if a.prepare != nil {
		a.prepare(t, base, home, project)
	}
	put(t, filepath.Join(home, ".keep"), "")
	folder := func(name string) string {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := func(path string) bool { _, err := os.Stat(path); return err != nil }
	editor := filepath.Join(dir, "editor")
	put(t, editor, "#!/bin/sh\nsed -i s/data-edited/data-other/ \"$1\"\n")
	if err := os.Chmod(editor, 0o755); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "start.sh")
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=screen-256color", "USER=ada", "EDITOR=" + editor}, a.env(base, home)...)
	words := slices.Concat([]string{"exec", "env", "-i"}, env, []string{binary, "run", "--state-dir", state, "--base-url", "--upstream", a.upstream + "=" + provider.URL, "--", program}, a.args, []string{"run: rm -r data-approved"})
	for i, w := range words {
		if i > 2 {
			words[i] = "'" + w + "'"
		}
	}
	put(t, script, "cd '"+project+"'\n"+strings.Join(words, " ")+"\n")

	approved, denied, steered, edited, other := folder("data-approved"), folder("data-denied"), folder("data-steered"), folder("data-edited"), folder("data-other")
	put(t, filepath.Join(approved, "a"), "")
	put(t, filepath.Join(approved, "b"), "")
	p := inTmux(t, dir, script)
	says := func(shown, command string) {
		t.Helper()
		screen := p.sees("the agent's own screen", func(s string) bool { return !strings.Contains(s, asksNow) && strings.Contains(tight(s), tight(shown)) })
		t.Logf("%s is told: %s\n%s", a.program, shown, screen)
		p.keys("-l", "run: "+command)
		p.sees("the words in its box", func(s string) bool { return strings.Contains(s, "run: "+command) })
		p.keys("Enter")
	}
	if a.program == "opencode" { // it only writes the words into its box
		p.sees("the words in its box", func(s string) bool { return strings.Contains(s, "run: rm -r data-approved") })
		p.keys("Enter")
	}
	screen := p.asks("rm -r data-approved")
	t.Logf("%s is asked about\n%s", a.program, screen)
	if !strings.Contains(tight(screen), tight("Deletes ./data-approved and everything in it (2 files")) {
		t.Errorf("it does not say how many files go: %s", screen)
	}
	if gone(approved) {
		t.Error("it ran before anybody was asked")
	}
	p.answers("approve")
	until(t, "the deletion", func() bool { return gone(approved) })

	says(done, "rm -r data-denied")
	t.Logf("%s: to be denied\n%s", a.program, p.asks("rm -r data-denied"))
	p.answers("d it is still needed")

	says("it is still needed", "rm -r data-steered")
	t.Logf("%s: to be steered\n%s", a.program, p.asks("rm -r data-steered"))
	p.answers("s move it to archive/ instead")

	says("move it to archive/ instead", "rm -r data-edited")
	p.asks("rm -r data-edited")
	p.answers("e")
	t.Logf("%s: edited\n%s", a.program, p.asks("rm -r data-other"))
	p.answers("approve")
	until(t, "the deletion of another folder", func() bool { return gone(other) })

	always := folder("data-always")
	says(done, "rm -r data-always")
	p.asks("rm -r data-always")
	p.answers("w")
	t.Logf("%s: from now on\n%s", a.program, p.sees("what stands from now on", func(s string) bool { return strings.Contains(s, "always ") && strings.Contains(s, "[u]ndo") }))
	p.answers("approve")
	until(t, "the deletion", func() bool { return gone(always) })
	folder("data-always")
	says(done, "rm -r data-always")
	p.sees("the same deletion unasked", func(s string) bool {
		if strings.Contains(s, asksNow) {
			t.Fatalf("it is asked about again:\n%s", s)
		}
		return gone(always)
	}, func(string) { p.keys("Enter") })
	t.Logf("%s in the end\n%s", a.program, p.sees("the agent's own screen", func(s string) bool { return strings.Contains(s, done) }))
	for _, reason := range []string{"it is still needed", "move it to archive/ instead"} {
		if len(provider.asked(reason)) == 0 {
			t.Errorf("the model was not told: %s", reason)
		}
	}
	if gone(denied) || gone(steered) || gone(edited) {
		t.Errorf("what was denied, steered or edited ran: denied %t, steered %t, edited %t", gone(denied), gone(steered), gone(edited))
	}
}
