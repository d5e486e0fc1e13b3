package e2e_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// inCI starts deploy/ci/run-agent as a job does, with a real Claude Code that asks for
// `rm -rf` of a folder, and an exec channel whose command is given.
func inCI(t *testing.T, marker, answers, limit string) (p *process, data, log string) {
	t.Helper()
	program := filepath.Join(clientsDir(t), "node_modules", ".bin", "claude")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("Claude Code is not installed: %v", err)
	}
	script, err := filepath.Abs("../../../deploy/ci/run-agent")
	if err != nil {
		t.Fatal(err)
	}
	home, project, kept := t.TempDir(), t.TempDir(), t.TempDir()
	data = filepath.Join(project, "data-"+marker)
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	person := write(t, "person", "#!/bin/sh\nread -r event\n"+answers+"\n")
	if err := os.Chmod(person, 0o700); err != nil {
		t.Fatal(err)
	}
	config := write(t, "holdgate.yaml", "listen: {agents: \"127.0.0.1:0\", approvers: \"127.0.0.1:0\"}\n"+
		"plugins: {exec: {config: {command: ["+quoted(person)+"], answers: [approve, deny], user: ann}}}\n"+
		"people: {ann: {roles: [approve], channels: {exec: ann}}}\n")
	p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, script, "--unconfined", "--base-url", "--upstream", "anthropic="+newProvider(t).URL, "--",
			program, "-p", "run: rm -rf data-"+marker, "--allowedTools", "Bash")
		cmd.Dir = project
		cmd.Env = append(environment(), "HOME="+home, "CLAUDE_CONFIG_DIR="+filepath.Join(home, "claude"), "HOLDGATE="+binary, "HOLDGATE_CONFIG="+config,
			"HOLDGATE_STATE_DIR="+stateDir(t), "HOLDGATE_LOG="+kept, "HOLDGATE_TIMEOUT="+limit,
			"ANTHROPIC_API_KEY=test", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
		return cmd
	})
	return p, data, kept
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// The recipe for CI: decisions come by a channel, and the audit log is kept.
func TestAnAgentInCIIsDecidedByAChannel(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	p, data, log := inCI(t, "ci", `echo '{"decision": "approve"}'; cat >/dev/null`, "600")
	r := p.end()
	if r.code != 0 || !strings.Contains(r.stdout, done) {
		t.Errorf("the job: %v", r)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the folder is still there after its deletion was approved: %v", err)
	}
	if kept := read(t, filepath.Join(log, "audit.jsonl")); !strings.Contains(kept, `"by":"ann"`) {
		t.Errorf("the log that was kept does not say who approved: %s", kept)
	}
	if proof := read(t, filepath.Join(log, "verify.txt")); proof == "" {
		t.Error("the log that was kept has no proof")
	}
}

// Time that runs out fails the job, with a reason.
func TestAnAgentInCIThatWaitsInVainFailsTheJob(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	p, data, log := inCI(t, "late", "cat >/dev/null", "45")
	r := p.end()
	if r.code != 124 || !strings.Contains(r.stderr, "FAILED: the agent did not end within 45 s") {
		t.Errorf("the job: %v", r)
	}
	if _, err := os.Stat(data); err != nil {
		t.Errorf("the folder: %v", err)
	}
	if waited := read(t, filepath.Join(log, "pending.txt")); !strings.Contains(waited, "data-late") {
		t.Errorf("what waited is kept as %q", waited)
	}
	if kept := read(t, filepath.Join(log, "audit.jsonl")); !strings.Contains(kept, `"hold"`) {
		t.Errorf("the log that was kept: %s", kept)
	}
}

// The commands after the run read the same configuration and state, however they were
// named, and one that hangs does not keep the job from ending. The program stands for
// one whose sidecar does not answer.
func TestAJobEndsWhereHoldgateDoesNotAnswer(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../../deploy/ci/run-agent")
	if err != nil {
		t.Fatal(err)
	}
	silent := write(t, "holdgate", "#!/bin/sh\necho \"$1 with $HOLDGATE_CONFIG in $HOLDGATE_STATE_DIR\"\ncase $1 in run | pending) exec sleep 600 ;; esac\n")
	if err := os.Chmod(silent, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--config=own.yaml", "--state-dir", "own"}, {"--confine", "weak", "--config", "own.yaml", "--state-dir=own"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			log := t.TempDir()
			p := start(t, func(ctx context.Context) *exec.Cmd {
				cmd := exec.CommandContext(ctx, script, append(flags, "--", "agent", "--config", "the agent's")...)
				cmd.Env = append(environment(), "HOLDGATE="+silent, "HOLDGATE_CONFIG=another.yaml", "HOLDGATE_STATE_DIR=another", "HOLDGATE_LOG="+log, "HOLDGATE_TIMEOUT=1")
				return cmd
			})
			if r := p.end(); r.code != 124 {
				t.Errorf("the job: %v", r)
			}
			for name, want := range map[string]string{"pending.txt": "pending", "audit.jsonl": "audit"} {
				if got := read(t, filepath.Join(log, name)); got != want+" with own.yaml in own\n" {
					t.Errorf("%s: %q", name, got)
				}
			}
		})
	}
}

// The action gives its script what the script reads, takes no input for nothing, and keeps the log.
func TestTheActionIsWhole(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/ci/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Using string
			Steps []struct {
				Run, Uses string
				Env, With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{\{ inputs\.(\w+) \}\}`).FindAllStringSubmatch(string(text), -1) {
		used[m[1]] = true
	}
	if got, want := slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(action.Inputs)); !slices.Equal(got, want) {
		t.Errorf("it uses the inputs %q and declares %q", got, want)
	}
	if len(action.Runs.Steps) != 2 || action.Runs.Using != "composite" {
		t.Fatalf("steps: %+v", action.Runs)
	}
	run, keep := action.Runs.Steps[0], action.Runs.Steps[1]
	if !strings.HasPrefix(run.Run, `"$GITHUB_ACTION_PATH/run-agent" `) {
		t.Errorf("it runs %s", run.Run)
	}
	if run.Env["HOLDGATE_LOG"] == "" || run.Env["HOLDGATE_LOG"] != keep.With["path"] {
		t.Errorf("the log is in %q, and %q is kept", run.Env["HOLDGATE_LOG"], keep.With["path"])
	}
	script, err := os.ReadFile("../../../deploy/ci/run-agent")
	if err != nil {
		t.Fatal(err)
	}
	for name := range run.Env {
		if strings.HasPrefix(name, "HOLDGATE_") && !strings.Contains(string(script), name) && name != "HOLDGATE_CONFIG" { // which holdgate reads
			t.Errorf("the script does not read %s", name)
		}
	}
}
