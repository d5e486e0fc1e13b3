package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdgate/holdgate"
)

// editText lets the person edit a text in $VISUAL, $EDITOR or vi. It lies in a
// folder of its own that others cannot read, in memory where the system has
// such a place, and is removed afterwards.
func (e *env) editText(ctx context.Context, text []byte) (_ []byte, err error) {
	tty, ok := e.terminal()
	if !ok {
		return nil, errNoTerminal
	}
	dir, err := os.MkdirTemp(e.getenv("XDG_RUNTIME_DIR"), "holdgate-edit-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to edit in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the arguments: %w", err)
	}
	// The setting is a command line, as git and others take it.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", e.editor()+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, e.stdout, e.stderr
	if err := cmd.Run(); err != nil {
		return nil, &exitError{code: exitFailed, text: fmt.Sprintf("the editor (%s) failed: %v", holdgate.Visible(e.editor()), err), hint: "nothing was decided; $VISUAL or $EDITOR names another"}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading what was edited: %w", err)
	}
	defer f.Close()
	return readBounded(f)
}

// editor is the person's editor, as a command line.
func (e *env) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v := e.getenv(name); v != "" {
			return v
		}
	}
	return "vi"
}
