package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// Terminal is the terminal that a person types on, if there is one.
func (e *Env) Terminal() (*os.File, bool) {
	tty, ok := e.Stdin.(*os.File)
	return tty, ok && term.IsTerminal(int(tty.Fd()))
}

// Confirm asks on the terminal whether to send d: the word for it is that of the answer, as
// everywhere where people answer, and "yes" does as well. A call of critical risk wants a
// word that names its target instead.
func (e *Env) Confirm(ctx context.Context, w io.Writer, r approvals.Request, d api.Decision) error {
	words := []string{string(d.Decision), "yes"}
	if r.Risk == holdgate.RiskCritical {
		words = []string{r.Target()}
	}
	yes, err := e.ConfirmWord(ctx, w, again(r)+fmt.Sprintf("%s this call? Type %s to do it, anything else to leave it pending: ", d.Decision, words[0]), words...)
	if err == nil && !yes {
		err = &Exit{Code: ExitFailed, Text: "nothing was decided; " + r.ID + " stays pending"}
	}
	return err
}

// again says once more what is decided: the page before the question may have gone off the
// top of the terminal.
func again(r approvals.Request) string {
	what := Known(string(r.Risk)) + " risk"
	if r.Briefing.Undo != "" {
		what += ", " + r.Briefing.Undo
	}
	return what + ": " + holdgate.Visible(r.Briefing.Summary) + "\n"
}

// ConfirmWord asks a question on the terminal, and reports whether one of the words was
// typed. What was typed before the question was shown is thrown away. Without a
// terminal it returns ErrNoTerminal.
func (e *Env) ConfirmWord(ctx context.Context, w io.Writer, question string, words ...string) (bool, error) {
	tty, ok := e.Terminal()
	if !ok {
		return false, ErrNoTerminal
	}
	if err := launch.FlushInput(tty); err != nil {
		return false, fmt.Errorf("clearing the terminal's input: %w", err)
	}
	fmt.Fprint(w, question)
	line, err := ReadLine(ctx, tty)
	if err != nil {
		return false, err
	}
	return slices.Contains(words, strings.TrimSpace(line)), nil
}

// ReadLine reads a line. A terminal cannot be read with a deadline, so the
// read is left to itself when ctx ends: the process ends then too.
func ReadLine(ctx context.Context, tty *os.File) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(tty).ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		if a.err != nil && a.line == "" {
			return "", fmt.Errorf("reading your answer: %w", a.err)
		}
		return a.line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
