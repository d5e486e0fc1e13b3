package command

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A WrittenTo says into which file something was put; its zero value: into none.
type WrittenTo struct {
	Written string `json:"written,omitempty"`
	ModeWas string `json:"mode_was,omitempty"` // the file's, where others could read it
}

// Writable checks that --write has a file.
func Writable(c *cli.Context, s config.Config) error {
	if !c.Bool("write") || s.File != "" {
		return nil
	}
	x := Usage("--write needs the file to write to: --config FILE, or %s", config.EnvConfig)
	x.Hint = "holdgate init makes one that needs no naming"
	return x
}

// Wrote is what was written to a file, which had this mode.
func Wrote(file string, was os.FileMode) WrittenTo {
	w := WrittenTo{Written: file}
	if was&^config.FileMode(was) != 0 {
		w.ModeWas = fmt.Sprintf("%04o", was)
	}
	return w
}

// Told says what was written of somebody, or what is to be.
func (w WrittenTo) Told(name, yaml string) string {
	if w.Written == "" {
		return "Put this into the configuration (nothing was written):\n\n" + yaml
	}
	text := w.Written + " names " + name + " now. A running sidecar reads it; holdgate config says whether it waits to be accepted.\n"
	if w.ModeWas != "" {
		text += fmt.Sprintf("Its mode was %s and is 0600 now: only its owner may read it. Where a service of another user reads it, give it that group and mode 0640.\n", w.ModeWas)
	}
	return text
}
