package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ours reports whether a hook of the settings is `hook run` for the agent.
func (o Options) ours(one jsontext.Value) (command string, ok bool) {
	var h struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(one, &h) != nil {
		return "", false
	}
	return h.Command, strings.Contains(h.Command, " hook run "+o.Agent.Name)
}

// without is a group of the settings without our hooks, nil where nothing else is in it, and
// the command of one that was.
func (o Options) without(group jsontext.Value) (rest jsontext.Value, command string) {
	if command, ok := o.ours(group); ok {
		return nil, command
	}
	g, err := readObject(group)
	if err != nil {
		return group, ""
	}
	hooks, err := readList(g.get("hooks"))
	if err != nil {
		return group, ""
	}
	others := slices.DeleteFunc(slices.Clone(hooks), func(one jsontext.Value) bool {
		c, ok := o.ours(one)
		if ok {
			command = c
		}
		return ok
	})
	switch {
	case len(others) == len(hooks):
		return group, ""
	case len(others) == 0:
		return nil, command
	}
	return g.set("hooks", listText(others)).text(), command
}

// read reads the settings and the hooks in them.
func (o Options) read(text []byte) (all, hooks object, err error) {
	if all, err = readObject(text); err == nil {
		hooks, err = readObject(all.get("hooks"))
	}
	for _, e := range o.events() {
		if err == nil {
			_, err = readList(hooks.get(e.Name))
		}
	}
	if err != nil {
		err = fmt.Errorf("%s cannot be read (%w): put the hook in by hand, as docs/hooks.md shows", o.file(), err)
	}
	return all, hooks, err
}

// statusOf says at which events the settings have the hook.
func (o Options) statusOf(f Found) (Found, error) {
	text, err := os.ReadFile(f.File)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("reading the settings: %w", err)
	}
	_, hooks, err := o.read(text)
	if err != nil {
		return f, err
	}
	f.Proves = true
	for i, e := range f.Events {
		groups, _ := readList(hooks.get(e.Name)) // it was read
		for _, g := range groups {
			_, command := o.without(g)
			if command == "" {
				continue
			}
			f.Events[i].Installed = true
			f.Proves = f.Proves && strings.Contains(command, " --key ")
			if e.Name == o.Agent.Before {
				f.Command, f.Installed = command, true
			}
		}
	}
	f.Proves = f.Proves && f.Installed
	return f, nil
}

// group is the hook as it stands in the settings at an event.
func (o Options) group(event string) (jsontext.Value, error) {
	p := places[o.Agent.Name]
	timeout := int64(o.timeout(event).Seconds())
	if p.milliseconds {
		timeout = o.timeout(event).Milliseconds()
	}
	one := map[string]any{"type": "command", "command": o.command(event), "timeout": timeout}
	all := map[string]any{"hooks": []any{one}}
	if event != o.Agent.Prompt { // which no tool is matched at
		all["matcher"] = p.matcher
	}
	if p.flat {
		one["failClosed"] = !o.FailOpen && event == o.Agent.Before
		all = one
	}
	return json.Marshal(all)
}

// change writes the settings with the hook at each event; without it, where group is nil.
func (o Options) change(group func(event string) (jsontext.Value, error)) (Found, error) {
	text, err := os.ReadFile(o.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Found{}, fmt.Errorf("reading the settings: %w", err)
	}
	all, hooks, err := o.read(text)
	if err != nil {
		return Found{}, err
	}
	changed := false
	for _, e := range o.events() {
		groups, _ := readList(hooks.get(e.Name)) // it was read
		var kept []jsontext.Value
		had := false
		for _, g := range groups {
			rest, command := o.without(g)
			had = had || command != ""
			if rest != nil {
				kept = append(kept, rest)
			}
		}
		if group != nil {
			g, err := group(e.Name)
			if err != nil {
				return Found{}, err
			}
			kept = append(kept, g)
		}
		switch changed = changed || had || group != nil; {
		case !had && group == nil:
		case len(kept) > 0:
			hooks = hooks.set(e.Name, listText(kept))
		default:
			hooks = hooks.set(e.Name, nil)
		}
	}
	if !changed {
		return o.Status()
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
