package tui

import (
	"context"
	"errors"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate/approvals/client"
)

// Options say where a person sits. All fields but the flags must be set.
type Options struct {
	API    *client.Client
	Input  *os.File // a terminal, as is Output
	Output *os.File
	Colour bool
	Editor string // the person's, as a command line: "vi", "code --wait"
	Silent bool   // no bell
	Plain  bool   // the terminal knows no escape sequences: requests are asked line by line
	// Flush throws away what was typed and not read yet. Plain prompts need it.
	Flush func() error
}

// retryAfter is how long a sidecar that has gone is left alone between two looks.
const retryAfter = time.Second

// Run shows the inbox until the person leaves or ctx ends. A sidecar that is not
// there to begin with is an error; one that goes later is waited for.
func Run(ctx context.Context, o Options) error {
	if _, err := o.API.Status(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Plain {
		return (&plain{o: o, now: time.Now}).run(ctx)
	}
	m := newModel(ctx, o.API, time.Now, o.Colour)
	m.silent = o.Silent
	if o.Editor != "" {
		m.editor = o.Editor
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.Input), tea.WithOutput(o.Output), tea.WithoutSignalHandler())
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(ctx, o.API, retryAfter, p.Send)
	}()
	_, err := p.Run()
	ended := ctx.Err()
	cancel()
	<-done
	if ended != nil && errors.Is(err, tea.ErrProgramKilled) {
		return ended
	}
	return err
}
