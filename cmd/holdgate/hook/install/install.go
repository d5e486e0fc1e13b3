// Package install puts `holdgate hook run` into the settings of coding agents, takes it
// out, and says whether it is there. What else the settings say stays as it is.
package install

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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
	Installed bool     `json:"installed"`
	Command   string   `json:"command,omitempty"`
	Proves    bool     `json:"proves"`        // the sidecar has to prove that an answer is its own
	GoesOn    []string `json:"goes_on_where"` // the agent runs calls all the same
}

// over is how much longer than for people an agent waits for the hook itself.
const over = 30 * time.Second

var (
	//go:embed opencode.js
	plugin string
	//go:embed cline.sh
	script string
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

// own is the text of a file that is the hook's alone; empty: the hook stands among settings.
func (o Options) own() string {
	switch o.Agent.Name {
	case "opencode":
		command, _ := json.Marshal(o.words()) // texts have always a form
		return strings.Replace(plugin, "COMMAND", string(command), 1)
	case "cline":
		return strings.Replace(script, "COMMAND", o.line(), 1)
	}
	return ""
}

// mark stands in each file that is the hook's alone.
func (o Options) mark() []byte { return []byte("holdgate hook " + o.Agent.Name + " install") }

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

// command is a line for the agent's shell. A hook that is missing or crashes ends with a
// code at which agents go on: only 2 stops them.
func (o Options) command() string {
	b := o.line()
	if !o.FailOpen && runtime.GOOS != "windows" {
		b += `; case $? in 0) ;; 2) exit 2 ;; *) echo "[holdgate] This call was not run: the hook of Holdgate did not run." >&2; exit 2 ;; esac`
	}
	return b
}

// goesOn are the cases in which the agent runs a call all the same on a system.
func (o Options) goesOn(system string) []string {
	if system != "windows" || o.own() != "" || places[o.Agent.Name].flat {
		return o.Agent.GoesOn
	}
	return append(slices.Clip(o.Agent.GoesOn), "the hook crashes or is missing: on Windows its command cannot make a refusal of that")
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

// ours reports whether a hook of the settings is `hook run` for the agent.
func (o Options) ours(group jsontext.Value) (command string, ok bool) {
	type oneHook struct {
		Command string `json:"command"`
	}
	var g struct {
		oneHook
		Hooks []oneHook `json:"hooks"`
	}
	if json.Unmarshal(group, &g) != nil {
		return "", false
	}
	for _, h := range append(g.Hooks, g.oneHook) {
		if strings.Contains(h.Command, " hook run "+o.Agent.Name) {
			return h.Command, true
		}
	}
	return "", false
}

// Status says whether the hook is installed.
func (o Options) Status() (Found, error) {
	f := Found{Agent: o.Agent.Name, File: o.file(), GoesOn: o.goesOn(runtime.GOOS)}
	text, err := os.ReadFile(f.File)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("reading the settings: %w", err)
	}
	if o.own() != "" {
		f.Installed = bytes.Contains(text, o.mark())
		f.Proves = f.Installed && bytes.Contains(text, []byte("--key"))
		return f, nil
	}
	_, _, groups, err := o.read(text)
	if err != nil {
		return f, err
	}
	for _, g := range groups {
		if command, ok := o.ours(g); ok {
			f.Command, f.Installed, f.Proves = command, true, strings.Contains(command, " --key ")
		}
	}
	return f, nil
}

// read reads the settings, the hooks in them, and those of the event before a tool.
func (o Options) read(text []byte) (all, hooks object, groups []jsontext.Value, err error) {
	if all, err = readObject(text); err == nil {
		hooks, err = readObject(all.get("hooks"))
	}
	if err == nil {
		groups, err = readList(hooks.get(o.Agent.Before))
	}
	if err != nil {
		err = fmt.Errorf("%s cannot be read (%w): put the hook in by hand, as docs/hooks.md shows", o.file(), err)
	}
	return all, hooks, groups, err
}

// Install puts the hook in, in the place of an earlier one.
func (o Options) Install() (Found, error) {
	if o.Wait > o.Agent.Wait && o.Agent.Name == "cline" {
		return Found{}, fmt.Errorf("cline waits two minutes for a hook, and then runs the call: --wait can be %s at most", o.Agent.Wait)
	}
	if own := o.own(); own != "" {
		return o.writeOwn(own)
	}
	p := places[o.Agent.Name]
	timeout := (o.Wait + over).Round(time.Second)
	n := int64(timeout / time.Second)
	if p.milliseconds {
		n = timeout.Milliseconds()
	}
	one := map[string]any{"type": "command", "command": o.command(), "timeout": n}
	all := map[string]any{"matcher": p.matcher, "hooks": []any{one}}
	if p.flat {
		one["failClosed"] = !o.FailOpen
		all = one
	}
	group, err := json.Marshal(all)
	if err != nil {
		return Found{}, err
	}
	return o.change(group)
}

// writeOwn writes the file that is the hook's alone. Another hook's file of this name stays.
func (o Options) writeOwn(text string) (Found, error) {
	if o.Agent.Name == "cline" && runtime.GOOS == "windows" {
		return Found{}, errors.New("the hook of cline is a script for sh, which Windows has not")
	}
	there, err := os.ReadFile(o.file())
	switch {
	case err == nil && !bytes.Contains(there, o.mark()):
		return Found{}, fmt.Errorf("%s is another hook already: call it from a hook of your own, or move it away, and install again", o.file())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Found{}, fmt.Errorf("reading the hook that is there: %w", err)
	}
	if err := write(o.file(), []byte(text), 0o755); err != nil {
		return Found{}, err
	}
	return o.Status()
}

// Uninstall takes the hook out.
func (o Options) Uninstall() (Found, error) {
	if o.own() == "" {
		return o.change(nil)
	}
	f, err := o.Status()
	if err != nil || !f.Installed {
		return f, err
	}
	if err := os.Remove(f.File); err != nil {
		return f, fmt.Errorf("removing the hook's file: %w", err)
	}
	f.Installed, f.Proves = false, false
	return f, nil
}

// change writes the settings with the hook; without one, where it is nil.
func (o Options) change(group jsontext.Value) (Found, error) {
	text, err := os.ReadFile(o.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Found{}, fmt.Errorf("reading the settings: %w", err)
	}
	all, hooks, groups, err := o.read(text)
	if err != nil {
		return Found{}, err
	}
	before := len(groups)
	groups = slices.DeleteFunc(groups, func(g jsontext.Value) bool { _, ours := o.ours(g); return ours })
	if group == nil && len(groups) == before {
		return o.Status()
	}
	if group != nil {
		groups = append(groups, group)
	}
	if hooks = hooks.set(o.Agent.Before, nil); len(groups) > 0 {
		hooks = hooks.set(o.Agent.Before, listText(groups))
	}
	if group != nil && places[o.Agent.Name].flat && all.get("version") == nil {
		all = all.set("version", jsontext.Value("1")) // Cursor reads no file without it
	}
	if all = all.set("hooks", nil); len(hooks) > 0 {
		all = all.set("hooks", hooks.text())
	}
	out := all.text()
	if err := out.Indent(jsontext.WithIndent("  ")); err != nil {
		return Found{}, fmt.Errorf("writing the settings: %w", err)
	}
	if err := write(o.file(), append(out, '\n'), 0o644); err != nil {
		return Found{}, err
	}
	return o.Status()
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
