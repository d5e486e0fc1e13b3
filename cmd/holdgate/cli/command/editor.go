package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdgate/holdgate"
)

// EditText lets the person edit a text in $VISUAL, $EDITOR or vi. It lies in a
// folder of its own that others cannot read, in memory where the system has
// such a place, and is removed afterwards.
func (e *Env) EditText(ctx context.Context, text []byte) (_ []byte, err error) {
	tty, ok := e.Terminal()
	if !ok {
		return nil, ErrNoTerminal
	}
	dir, err := os.MkdirTemp(e.Getenv("XDG_RUNTIME_DIR"), "holdgate-edit-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to edit in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the arguments: %w", err)
	}
	// The setting is a command line, as git and others take it.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", e.Editor()+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, e.Stdout, e.Stderr
	if err := cmd.Run(); err != nil {
		return nil, &Exit{Code: ExitFailed, Text: fmt.Sprintf("the editor (%s) failed: %v", holdgate.Visible(e.Editor()), err), Hint: "nothing was decided; $VISUAL or $EDITOR names another"}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading what was edited: %w", err)
	}
	defer f.Close()
	return ReadBounded(f)
}

// Editor is the person's editor, as a command line.
func (e *Env) Editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v := e.Getenv(name); v != "" {
			return v
		}
	}
	return "vi"
}
