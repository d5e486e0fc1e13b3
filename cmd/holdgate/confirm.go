package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

// confirm asks on the terminal whether to send d. What was typed before the
// question was shown is thrown away. A call of critical risk wants its tool's
// name instead of a yes.
func (e *env) confirm(ctx context.Context, w io.Writer, r approvals.Request, d api.Decision) error {
	tty, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(tty.Fd())) {
		x := usage("without a terminal to ask on, %s needs the ID", d.Decision)
		x.hint = fmt.Sprintf("holdgate show %s, then: holdgate %s %s", r.ID, d.Decision, r.ID)
		return x
	}
	word := "yes"
	if r.Risk == holdgate.RiskCritical && r.Call.Tool != nil {
		word = holdgate.Visible(r.Call.Tool.Name)
	}
	if err := flushInput(tty); err != nil {
		return fmt.Errorf("clearing the terminal's input: %w", err)
	}
	fmt.Fprintf(w, "\n%s this call? Type %s to do it, anything else to leave it pending: ", d.Decision, word)
	line, err := readLine(ctx, tty)
	if err != nil {
		return err
	}
	if strings.TrimSpace(line) != word {
		return &exitError{code: exitFailed, text: "nothing was decided; " + r.ID + " stays pending"}
	}
	return nil
}

// readLine reads a line. A terminal cannot be read with a deadline, so the
// read is left to itself when ctx ends: the process ends then too.
func readLine(ctx context.Context, tty *os.File) (string, error) {
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
