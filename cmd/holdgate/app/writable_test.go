package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func TestTheAgentsSocketLiesWhereNobodyCanReplaceIt(t *testing.T) {
	dir := sockettest.Folder(t)
	for _, tt := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o755, true}, {0o777 | os.ModeSticky, true}, {0o777, false}, {0o770, false}} {
		if err := os.Chmod(dir, tt.mode); err != nil {
			t.Fatal(err)
		}
		c := configuration(t)
		c.Listen.Agents, c.Listen.Approvers, c.Listen.AgentsSocket = "127.0.0.1:0", "127.0.0.1:0", filepath.Join(dir, "agents.sock")
		a, err := app.New(t.Context(), c, app.Options{Version: "test"})
		if err == nil {
			err = a.Start(t.Context())
			if serr := a.Stop(t.Context()); serr != nil {
				t.Error(serr)
			}
		}
		if tt.ok != (err == nil) || !tt.ok && !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("a folder of mode %v: got %v", tt.mode, err)
		}
	}
}

func TestWhatAgentsCanWriteDoesNotDecideOverThem(t *testing.T) {
	dir := t.TempDir()
	work, safe := filepath.Join(dir, "work"), filepath.Join(dir, "safe")
	for _, folder := range []string{filepath.Join(work, "rules"), filepath.Join(safe, "rules")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range denies("x") {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for link, target := range map[string]string{
		filepath.Join(safe, "into-work"): filepath.Join(work, "rules"),
		filepath.Join(work, "to-safe"):   filepath.Join(safe, "rules"),
		filepath.Join(safe, "via-work"):  filepath.Join("..", "work", "to-safe"),
		filepath.Join(dir, "workplace"):  work,
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name     string
		policy   string
		writable string
		change   func(*config.Config, *app.Options)
		want     string // empty: it starts
	}{
		{"rules elsewhere", filepath.Join(safe, "rules"), work, nil, ""},
		{"rules in the agent's folder", filepath.Join(work, "rules"), work, nil, "policy.path"},
		{"the agent's folder itself", work, work, nil, "policy.path"},
		{"a folder that holds the agent's", dir, work, nil, "policy.path"},
		{"a link into the agent's folder", filepath.Join(safe, "into-work"), work, nil, "policy.path"},
		{"a link that the agent can turn round", filepath.Join(work, "to-safe"), work, nil, "policy.path"},
		{"a link to a link that the agent can turn round", filepath.Join(safe, "via-work"), work, nil, "policy.path"},
		{"the agent's folder by another name", filepath.Join(work, "rules"), filepath.Join(dir, "workplace"), nil, "policy.path"},
		{"a folder whose name begins alike", filepath.Join(safe, "rules"), filepath.Join(dir, "sa"), nil, ""},
		{"rules that are trusted all the same", filepath.Join(work, "rules"), work, func(_ *config.Config, o *app.Options) { o.TrustWritable = true }, ""},
		{"the configuration", filepath.Join(safe, "rules"), work, func(c *config.Config, _ *app.Options) { c.File = filepath.Join(work, "holdgate.yaml") }, "the configuration"},
		{"the program", filepath.Join(safe, "rules"), work, func(_ *config.Config, o *app.Options) { o.Program = filepath.Join(work, "bin", "holdgate") }, "the program"},
		{"a plugin", filepath.Join(safe, "rules"), work, func(c *config.Config, _ *app.Options) {
			c.Plugins = map[string]config.Plugin{"hook": {Command: []string{filepath.Join(work, "hook")}}}
		}, "plugins.hook.command"},
		{"the keys by which agents are known", filepath.Join(safe, "rules"), work, func(c *config.Config, _ *app.Options) {
			c.Kubernetes = config.Kubernetes{Audience: "holdgate", Issuer: "https://cluster.example", Keys: filepath.Join(work, "keys.json")}
		}, "kubernetes.keys"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := configuration(t)
			c.Policy.Path = tt.policy
			if err := os.MkdirAll(tt.writable, 0o700); err != nil {
				t.Fatal(err)
			}
			o := app.Options{Version: "test", Writable: []string{tt.writable}}
			if tt.change != nil {
				tt.change(&c, &o)
			}
			a, err := app.New(t.Context(), c, o)
			if a != nil && err == nil {
				defer func() {
					if err := a.Stop(t.Context()); err != nil {
						t.Error(err)
					}
				}()
			}
			if tt.want == "" && err != nil {
				t.Errorf("got %v, want it to start", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want+" (") || !strings.Contains(err.Error(), "--trust-writable-policy")) {
				t.Errorf("got %v, want a refusal that names %s", err, tt.want)
			}
		})
	}
}
