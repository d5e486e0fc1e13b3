package e2e_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// freshHome is a home folder with nothing in it, outside /tmp, which is the agent's
// own where it is confined.
func freshHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "hg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return home
}

// interactiveCodex starts Codex as a person does, with its settings in its home, in a
// project with a folder data that it is told to delete.
func interactiveCodex(t *testing.T, home string, confinement ...string) (tm *terminal, s *sidecar, data string) {
	t.Helper()
	program := filepath.Join(clientsDir(t), "node_modules", ".bin", "codex")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("Codex is not installed: %v", err)
	}
	plain := newProvider(t)
	project, state := t.TempDir(), stateDir(t)
	data = filepath.Join(project, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	// By the proxy, and so at the name of a host: nothing but Codex's own settings
	// leads it to the provider.
	put(t, filepath.Join(home, ".codex", "config.toml"), `model = "gpt-test"
model_provider = "lab"
sandbox_mode = "danger-full-access"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[otel]
metrics_exporter = "none"
[model_providers.lab]
name = "lab"
base_url = "`+plain.URL+`/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."`+project+`"]
trust_level = "trusted"
`)
	tm = inTerminal(t, func(ctx context.Context) *exec.Cmd {
		args := append([]string{"run", "--state-dir", state, "--upstream", "openai=" + plain.URL}, confinement...)
		cmd := exec.CommandContext(ctx, binary, append(args, "--", program, "run: rm -r data")...)
		cmd.Dir = project
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm-256color", "OPENAI_API_KEY=test"}
		return cmd
	})
	return tm, &sidecar{t: t, dir: state}, data
}

// Codex as people use it: in a terminal, with a home that it was never started in. It
// asks once about the tool that runs at its provider, and all of the question is in
// the terminal, where it can be approved.
func TestInteractiveCodex(t *testing.T) {
	clientsDir(t)
	if _, strong := kinds(t)["strong"]; !strong {
		t.Skip("NOT TESTED: strong confinement cannot be had here")
	}
	t.Parallel()
	tm, s, data := interactiveCodex(t, freshHome(t))
	page := tm.sees("HOLDGATE ASKS") + tm.sees("[s]teer")
	if !strings.Contains(page, "web_search") || strings.Contains(page, flat("NOT SHOWN")) || !strings.Contains(page, "[a]pprove") {
		t.Errorf("the question about the provider's tools is %s", page)
	}
	tm.answers("a")
	page = tm.sees("HOLDGATE ASKS") + tm.sees("[s]teer")
	if strings.Contains(page, "model.server_tools") || !strings.Contains(page, flat("rm -r data")) {
		t.Errorf("it should ask about the deletion alone: %s", page)
	}
	if _, err := os.Stat(data); err != nil {
		t.Errorf("it ran before anybody was asked: %v", err)
	}
	tm.answers("approve")
	until(t, "the deletion", func() bool { _, err := os.Stat(data); return err != nil })
	tm.sees(done)
	tm.types("and now?")
	tm.sees("and now?")
	tm.types("\r")
	if said := tm.sees(done, "HOLDGATE ASKS"); !strings.HasSuffix(said, flat(done)) {
		t.Errorf("it is asked again about the provider's tools: %s", said)
	}
	if list := s.must("grants", "list", "--json"); !strings.Contains(list, "model.server_tools") {
		t.Errorf("the approval for the session is not listed: %s", list)
	}
}

// Where a shared server of Codex's runs already, the agent does not use it: what that
// asks goes around the sidecar.
func TestInteractiveCodexUsesNoSharedServer(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	home := freshHome(t)
	socket := filepath.Join(home, ".codex", "app-server-control", "app-server-control.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	knocked := make(chan struct{}, 64)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			knocked <- struct{}{}
		}
	}()
	tm, _, _ := interactiveCodex(t, home, "--unconfined")
	t.Cleanup(func() {
		select {
		case <-knocked:
			t.Error("it asked the shared server")
		default:
		}
	})
	tm.sees("HOLDGATE ASKS")
}
