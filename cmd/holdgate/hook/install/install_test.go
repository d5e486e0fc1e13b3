package install_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/hook/install"
	"github.com/holdgate/holdgate/proxy/hook"
)

func options(t *testing.T, agent string) install.Options {
	t.Helper()
	a, known := hook.Find(agent)
	if !known {
		t.Fatalf("%s has no hooks", agent)
	}
	return install.Options{Agent: a, Home: t.TempDir(), Getenv: func(string) string { return "" }, Program: "/opt/hold gate/holdgate", Wait: min(time.Minute, a.Wait)}
}

// What else the settings say stays, in its order; a second installation takes the place
// of the first; and without the hook they are what they were.
func TestSettingsStayButForTheHook(t *testing.T) {
	const before = `{
  "zeta": 1.50,
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "echo"
          }
        ]
      }
    ]
  },
  "alpha": {
    "b": "é\u2028"
  }
}
`
	for _, agent := range []string{"claude", "codex", "gemini", "qwen", "cursor"} {
		o := options(t, agent)
		f, err := o.Status()
		if err != nil || f.Installed {
			t.Fatalf("%s: %+v, %v", agent, f, err)
		}
		if err := os.MkdirAll(filepath.Dir(f.File), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.File, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{time.Hour, time.Minute} {
			o.Wait = wait
			if agent == "qwen" {
				o.Wait = wait / 120
			}
			if f, err = o.Install(); err != nil || !f.Installed || !strings.Contains(f.Command, "'/opt/hold gate/holdgate' hook run "+agent) {
				t.Fatalf("%s: %+v, %v", agent, f, err)
			}
		}
		text, err := os.ReadFile(f.File)
		if err != nil || strings.Count(string(text), "hook run") != len(f.Events) || !f.Complete() || strings.Index(string(text), "zeta") > strings.Index(string(text), "alpha") {
			t.Errorf("%s: the settings are %s (%v)", agent, text, err)
		}
		want := `"timeout": 90`
		switch agent {
		case "gemini":
			want += "000"
		case "qwen":
			want = `"timeout": 31000`
		}
		if !strings.Contains(string(text), want) || !json.Valid(text) {
			t.Errorf("%s: want %s in %s", agent, want, text)
		}
		if f, err = o.Uninstall(); err != nil || f.Installed {
			t.Errorf("%s: %+v, %v", agent, f, err)
		}
		text, err = os.ReadFile(f.File)
		st, serr := os.Stat(f.File)
		if err != nil || serr != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, %v", agent, err, serr, st.Mode())
		}
		var was, is any
		if json.Unmarshal([]byte(before), &was) != nil || json.Unmarshal(text, &is) != nil {
			t.Fatalf("%s: %s", agent, text)
		}
		if agent == "cursor" {
			was.(map[string]any)["version"] = 1
		}
		if a, b := encoded(t, was), encoded(t, is); a != b {
			t.Errorf("%s: the settings are %s, and were %s", agent, b, a)
		}
	}
}

// An event that came later is not hooked where the hook was installed before: that is said, and
// installing again puts it in. What a person has put beside the hook stays.
func TestAnEarlierInstallationIsIncomplete(t *testing.T) {
	const theirs = `{"type":"command","command":"notify"}`
	for _, agent := range []string{"claude", "codex", "gemini", "qwen"} {
		o := options(t, agent)
		f, _ := o.Status()
		put := func(text string) {
			if err := os.MkdirAll(filepath.Dir(f.File), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.File, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(`{"hooks":{"` + o.Agent.Before + `":[{"matcher":"*","hooks":[{"type":"command","command":"/opt/holdgate hook run ` + agent + ` --wait 10m0s"},` + theirs + `]}],"` + o.Agent.After + `":[]}}`)
		f, err := o.Status()
		if err != nil || !f.Installed || f.Complete() || !f.Events[0].Installed || f.Events[1].Installed {
			t.Fatalf("%s: %+v, %v", agent, f, err)
		}
		if f, err = o.Install(); err != nil || !f.Complete() {
			t.Fatalf("%s: %+v, %v", agent, f, err)
		}
		if f, err = o.Uninstall(); err != nil || f.Installed {
			t.Fatalf("%s: %+v, %v", agent, f, err)
		}
		text, err := os.ReadFile(f.File)
		if err != nil || strings.Contains(string(text), "hook run") || !strings.Contains(string(text), `"notify"`) {
			t.Errorf("%s: %s, %v", agent, text, err)
		}
		put(`{"hooks":{"` + o.Agent.After + `":[],"Stop":[]}}`)
		if _, err = o.Uninstall(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(f.File); err != nil || string(text) != `{"hooks":{"`+o.Agent.After+`":[],"Stop":[]}}` {
			t.Errorf("%s: what was not ours has become %s (%v)", agent, text, err)
		}
	}
}

// Only the hook before a tool can stop anything: at the other events any end is a good one, as
// some agents drop a result or a prompt otherwise.
func TestOtherEventsStopNothing(t *testing.T) {
	dir := t.TempDir()
	for _, agent := range []string{"claude", "codex", "gemini", "qwen"} {
		o := options(t, agent)
		o.Program = filepath.Join(dir, "no one's")
		f, err := o.Install()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(f.File)
		if err != nil {
			t.Fatal(err)
		}
		var settings struct {
			Hooks map[string][]struct{ Hooks []struct{ Command string } }
		}
		if err := json.Unmarshal(text, &settings); err != nil {
			t.Fatal(err)
		}
		for event, groups := range settings.Hooks {
			err := exec.CommandContext(t.Context(), "sh", "-c", groups[0].Hooks[0].Command).Run()
			if stops := event == o.Agent.Before; (err != nil) != stops {
				t.Errorf("%s, %s: with a hook that is gone it ends with %v", agent, event, err)
			}
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSettingsThatCannotBeReadStay(t *testing.T) {
	for _, text := range []string{"[]", "{", "{ // comment\n}", `{"hooks":[]}`, `{"hooks":{"PreToolUse":{}}}`, `{"a":1,"a":2}`} {
		o := options(t, "claude")
		f, _ := o.Status()
		if err := os.MkdirAll(filepath.Dir(f.File), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Install(); err == nil || !strings.Contains(err.Error(), f.File) {
			t.Errorf("%s: %v", text, err)
		}
		if got, err := os.ReadFile(f.File); err != nil || string(got) != text {
			t.Errorf("%s became %s (%v)", text, got, err)
		}
	}
}

// Cursor blocks a call where its hook fails, by a word in its settings; Claude Code has none.
func TestCursorFailsClosed(t *testing.T) {
	for open, want := range map[bool]string{false: `"failClosed": true`, true: `"failClosed": false`} {
		o := options(t, "cursor")
		o.FailOpen = open
		f, err := o.Install()
		if err != nil || !f.Installed || !strings.Contains(f.Command, "hook run cursor") {
			t.Fatalf("%+v, %v", f, err)
		}
		if text, err := os.ReadFile(f.File); err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), `"version": 1`) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// Cline goes by what a hook prints. A script says no where `hook run` says nothing or fails.
func TestTheScriptOfCline(t *testing.T) {
	o := options(t, "cline")
	dir := t.TempDir()
	o.Program = filepath.Join(dir, "hold gate's")
	f, err := o.Install()
	if err != nil || !f.Installed {
		t.Fatalf("%+v, %v", f, err)
	}
	for program, want := range map[string]string{
		"":                                 `{"cancel":true`,
		"#!/bin/sh\ncat":                   `{"told":1}`,
		"#!/bin/sh\nexit 0":                `{"cancel":true`,
		"#!/bin/sh\necho '{}'\nexit 2":     `{"cancel":true`,
		"#!/bin/sh\nkill -9 $$":            `{"cancel":true`,
		"#!/bin/sh\necho '{\"cancel\":0}'": `{"cancel":0}`,
	} {
		if program != "" {
			if err := os.WriteFile(o.Program, []byte(program+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), f.File)
		cmd.Stdin = strings.NewReader(`{"told":1}`)
		out, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(out), want) || !json.Valid(out) {
			t.Errorf("with %q it says %s (%v), want %s", program, out, err, want)
		}
		if err := os.Remove(o.Program); err != nil && program != "" {
			t.Fatal(err)
		}
	}
	o.Wait = time.Hour
	if _, err := o.Install(); err == nil || !strings.Contains(err.Error(), "two minutes") {
		t.Errorf("it would wait longer than Cline does: %v", err)
	}
	if f, err = o.Uninstall(); err != nil || f.Installed {
		t.Errorf("%+v, %v", f, err)
	}
	o.Wait = time.Second
	if err := os.WriteFile(f.File, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Install(); err == nil || !strings.Contains(err.Error(), f.File+" is another hook") {
		t.Errorf("another hook is lost: %v", err)
	}
}

// Cline's other hooks tell of something: they never cancel its run.
func TestTheOtherScriptsOfCline(t *testing.T) {
	o := options(t, "cline")
	o.Program = filepath.Join(t.TempDir(), "holdgate")
	f, err := o.Install()
	if err != nil || !f.Complete() || len(f.Events) != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, event := range []string{"PostToolUse", "UserPromptSubmit"} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(f.File), event)).Output()
		if err != nil || string(out) != `{"cancel":false}`+"\n" {
			t.Errorf("%s says %s (%v)", event, out, err)
		}
	}
	if err := os.Remove(filepath.Join(filepath.Dir(f.File), "PostToolUse")); err != nil {
		t.Fatal(err)
	}
	if f, err = o.Status(); err != nil || !f.Installed || f.Complete() {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = o.Uninstall(); err != nil || f.Installed {
		t.Errorf("%+v, %v", f, err)
	}
	if left, err := os.ReadDir(filepath.Dir(f.File)); err != nil || len(left) != 0 {
		t.Errorf("what is left: %v, %v", left, err)
	}
}

func TestThePluginOfOpencode(t *testing.T) {
	o := options(t, "opencode")
	f, err := o.Install()
	if err != nil || !f.Installed || !f.Complete() {
		t.Fatalf("%+v, %v", f, err)
	}
	text, err := os.ReadFile(f.File)
	if err != nil || !strings.Contains(string(text), `["/opt/hold gate/holdgate","hook","run","opencode","--wait","1m0s"]`) {
		t.Errorf("%s, %v", text, err)
	}
	if f, err = o.Uninstall(); err != nil || f.Installed {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := os.Stat(f.File); err == nil {
		t.Error("the plugin is there")
	}
}

// On Windows the command that stands in the settings cannot stop a call by itself.
func TestWhereTheCommandCannotRefuseIsSaid(t *testing.T) {
	for agent, more := range map[string]int{"claude": 1, "codex": 1, "gemini": 1, "qwen": 1, "opencode": 0, "cursor": 0, "cline": 0} {
		o := options(t, agent)
		if elsewhere, windows := o.GoesOnAt("linux"), o.GoesOnAt("windows"); len(windows) != len(elsewhere)+more || more > 0 && !strings.Contains(windows[len(windows)-1], "crashes or is missing") {
			t.Errorf("%s goes on where %q", agent, windows)
		}
	}
}
