// Package install puts `holdgate hook run` into the settings of coding agents, takes it
// out, and says whether it is there. What else the settings say stays as it is.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/proxy/hook"
)

// Options say which agent's settings, and what the hook does.
type Options struct {
	Agent    hook.Agent
	Home     string // the user's home folder
	Project  string // a project's folder, whose settings are changed in the place of the user's; empty: none
	Getenv   func(string) string
	Program  string        // the absolute path of holdgate
	Door     string        // the agents' door, as HOST:PORT; empty: the default one
	Wait     time.Duration // how long people are waited for
	FailOpen bool
	Key      string // the file of the key by which the sidecar proves itself; empty: it need not
}

// Found is what an agent's settings say of the hook.
type Found struct {
	Agent     string   `json:"agent"`
	File      string   `json:"file"`
	Installed bool     `json:"installed"` // before a tool runs; without that nothing is decided
	Command   string   `json:"command,omitempty"`
	Proves    bool     `json:"proves"` // the sidecar has to prove that an answer is its own
	Events    []Event  `json:"events"`
	GoesOn    []string `json:"goes_on_where"` // the agent runs calls all the same
}

// An Event is one that the agent has a hook for.
type Event struct {
	Name      string `json:"name"`
	Purpose   string `json:"purpose"`
	Installed bool   `json:"installed"`
}

// Complete reports whether all events are hooked: those that came later are not where the hook
// was installed before.
func (f Found) Complete() bool {
	return !slices.ContainsFunc(f.Events, func(e Event) bool { return !e.Installed })
}

// events are those that the hook stands at, that before a tool first.
func (o Options) events() (all []Event) {
	a := o.Agent
	for _, e := range []Event{
		{Name: a.Before, Purpose: "decides each tool call"}, {Name: a.Permission, Purpose: "answers before the agent asks its own user"},
		{Name: a.After, Purpose: "tells what came of a call"}, {Name: a.Failed, Purpose: "tells what came of a call that failed"},
		{Name: a.Prompt, Purpose: "tells what the agent's user asks for"},
	} {
		if e.Name != "" {
			all = append(all, e)
		}
	}
	return all
}

// limits are those of agents for a hook that no setting changes.
var limits = map[string]string{"cline": "two minutes", "qwen": "one minute"}

const (
	// over is how much longer than for people an agent waits for the hook itself.
	over = 30 * time.Second
	// telling is how long an agent waits for a hook that decides nothing.
	telling = 10 * time.Second
)

// settings is where an agent's settings are, below its own folder, and how a hook stands in them.
type settings struct {
	variable, folder, file string // folder is below the home
	project                string // the folder below a project, where it is another one
	milliseconds           bool   // timeouts are in these
	matcher                string // of all tools
	flat                   bool   // the list of an event has hooks, not groups of them
}

var places = map[string]settings{
	"claude":   {variable: "CLAUDE_CONFIG_DIR", folder: ".claude", file: "settings.json", matcher: "*"},
	"codex":    {variable: "CODEX_HOME", folder: ".codex", file: "hooks.json", matcher: "*"},
	"gemini":   {folder: ".gemini", file: "settings.json", milliseconds: true, matcher: ".*"},
	"qwen":     {folder: ".qwen", file: "settings.json", milliseconds: true, matcher: "*"},
	"cursor":   {folder: ".cursor", file: "hooks.json", flat: true},
	"opencode": {variable: "OPENCODE_CONFIG_DIR", folder: ".config/opencode", file: "plugins/holdgate.js", project: ".opencode"},
	"cline":    {folder: "Documents/Cline/Hooks", file: "PreToolUse", project: ".clinerules/hooks"},
}

// file is the path of the settings.
func (o Options) file() string {
	p := places[o.Agent.Name]
	switch dir := o.Getenv(p.variable); {
	case o.Project != "":
		return filepath.Join(o.Project, filepath.FromSlash(cmp.Or(p.project, p.folder)), p.file)
	case p.variable != "" && dir != "":
		return filepath.Join(dir, p.file)
	}
	return filepath.Join(o.Home, filepath.FromSlash(p.folder), p.file)
}

// words are those of the command.
func (o Options) words() []string {
	words := []string{o.Program, "hook", "run", o.Agent.Name, "--wait", o.Wait.String()}
	if o.Door != "" {
		words = append(words, "--agents", o.Door)
	}
	if o.FailOpen {
		words = append(words, "--fail", "open")
	}
	if o.Key != "" {
		words = append(words, "--key", o.Key)
	}
	return words
}

// line is the words for a shell.
func (o Options) line() string {
	var b strings.Builder
	for i, w := range o.words() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(shellWord(w))
	}
	return b.String()
}

// command is a line for the agent's shell at an event. A hook that is missing or crashes ends
// with a code at which agents go on: only 2 stops them. Where nothing is to be stopped any end
// is a good one.
func (o Options) command(event string) string {
	b := o.line()
	if event != o.Agent.Before {
		if runtime.GOOS != "windows" {
			b += " || exit 0"
		}
		return b
	}
	if !o.FailOpen && runtime.GOOS != "windows" {
		b += `; case $? in 0) ;; 2) exit 2 ;; *) echo "[holdgate] This call was not run: the hook of Holdgate did not run." >&2; exit 2 ;; esac`
	}
	return b
}

// goesOn are the cases in which the agent runs a call all the same on a system.
func (o Options) goesOn(system string) []string {
	if system != "windows" || o.own(o.Agent.Before) != "" || places[o.Agent.Name].flat {
		return o.Agent.GoesOn
	}
	return append(slices.Clip(o.Agent.GoesOn), "the hook crashes or is missing: on Windows its command cannot make a refusal of that")
}

// timeout is how long the agent waits for the hook at an event.
func (o Options) timeout(event string) time.Duration {
	if event == o.Agent.Before || event == o.Agent.Permission {
		return (o.Wait + over).Round(time.Second)
	}
	return telling
}

// shellWord is a word as shells read it.
func shellWord(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune(`:./\-_`, r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	if runtime.GOOS == "windows" {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Status says whether the hook is installed.
func (o Options) Status() (Found, error) {
	f := Found{Agent: o.Agent.Name, File: o.file(), GoesOn: o.goesOn(runtime.GOOS), Events: o.events()}
	if o.own(o.Agent.Before) != "" {
		return o.statusOwn(f)
	}
	return o.statusOf(f)
}

// Install puts the hook in, in the place of an earlier one.
func (o Options) Install() (Found, error) {
	if limit, is := limits[o.Agent.Name]; is && o.Wait > o.Agent.Wait {
		return Found{}, fmt.Errorf("%s waits %s for a hook, and then runs the call: --wait can be %s at most", o.Agent.Name, limit, o.Agent.Wait)
	}
	if o.own(o.Agent.Before) != "" {
		return o.writeOwn()
	}
	return o.change(o.group)
}

// Uninstall takes the hook out.
func (o Options) Uninstall() (Found, error) {
	if o.own(o.Agent.Before) != "" {
		return o.removeOwn()
	}
	return o.change(nil)
}

// write puts a file in the place of another in one step, whose mode it keeps. A link stays one.
func write(name string, text []byte, mode fs.FileMode) error {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("making the settings' folder: %w", err)
	}
	if st, err := os.Stat(name); err == nil {
		mode = st.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".holdgate-*")
	if err != nil {
		return fmt.Errorf("writing the settings: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the settings: %w", err), os.Remove(f.Name()))
	}
	return nil
}
