package install

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

var (
	//go:embed opencode.js
	plugin string
	//go:embed cline.sh
	script string
	//go:embed clinetells.sh
	tellingScript string
)

// own is the text of a file that is the hook's alone; empty: the hook stands among settings.
func (o Options) own(event string) string {
	switch o.Agent.Name {
	case "opencode":
		command, _ := json.Marshal(o.words()) // texts have always a form
		return strings.Replace(plugin, "COMMAND", string(command), 1)
	case "cline":
		text := tellingScript
		if event == o.Agent.Before {
			text = script
		}
		return strings.Replace(text, "COMMAND", o.line(), 1)
	}
	return ""
}

// mark stands in each file that is the hook's alone.
func (o Options) mark() []byte { return []byte("holdgate hook " + o.Agent.Name + " install") }

// files are those that are the hook's alone, by event. Cline has one for each.
func (o Options) files() map[string]string {
	files := map[string]string{}
	for _, e := range o.events() {
		files[e.Name] = o.file()
		if o.Agent.Name == "cline" {
			files[e.Name] = filepath.Join(filepath.Dir(o.file()), e.Name)
		}
	}
	return files
}

// statusOwn says which of the files are there, and which events they stand at.
func (o Options) statusOwn(f Found) (Found, error) {
	files := o.files()
	for i, e := range f.Events {
		text, err := os.ReadFile(files[e.Name])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, fmt.Errorf("reading the hook that is there: %w", err)
		}
		ours := bytes.Contains(text, o.mark())
		f.Events[i].Installed = ours && (o.Agent.Name == "cline" || bytes.Contains(text, []byte(`"`+e.Name+`"`)))
		if e.Name == o.Agent.Before {
			f.Installed, f.Proves = ours, ours && bytes.Contains(text, []byte("--key"))
		}
	}
	return f, nil
}

// writeOwn writes the files that are the hook's alone. Another hook's file of such a name stays.
func (o Options) writeOwn() (Found, error) {
	if o.Agent.Name == "cline" && runtime.GOOS == "windows" {
		return Found{}, errors.New("the hook of cline is a script for sh, which Windows has not")
	}
	files := o.files()
	for _, file := range files {
		there, err := os.ReadFile(file)
		switch {
		case err == nil && !bytes.Contains(there, o.mark()):
			return Found{}, fmt.Errorf("%s is another hook already: call it from a hook of your own, or move it away, and install again", file)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return Found{}, fmt.Errorf("reading the hook that is there: %w", err)
		}
	}
	for event, file := range files {
		if err := write(file, []byte(o.own(event)), 0o755); err != nil {
			return Found{}, err
		}
	}
	return o.Status()
}

// removeOwn removes the files that are the hook's alone, and no others of such a name.
func (o Options) removeOwn() (Found, error) {
	for _, file := range o.files() {
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, o.mark()) {
			err = os.Remove(file)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Found{}, fmt.Errorf("removing the hook's file: %w", err)
		}
	}
	return o.Status()
}
