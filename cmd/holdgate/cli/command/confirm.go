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

	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// Terminal is the terminal that a person types on, if there is one.
func (e *Env) Terminal() (*os.File, bool) {
	tty, ok := e.Stdin.(*os.File)
	return tty, ok && term.IsTerminal(int(tty.Fd()))
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
