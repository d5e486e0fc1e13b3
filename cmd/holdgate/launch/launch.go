// Package launch runs an agent behind a sidecar, with one terminal for both:
// the agent works in it, and when a call of the agent's is held the person is
// asked in it.
//
// With a terminal, the agent gets a pseudo-terminal and a session of its own.
// The person's terminal stays with Holdgate, which copies between the two:
//
//	person's terminal <-> keyboard, screen <-> pty <-> agent
//
// While a question is open the copying stops in both directions. What the
// agent prints is kept (up to a bound; then the agent waits), so nothing of it
// can appear inside the question or cover it, and what the person types goes
// to the question and never to the agent. The question is drawn on the
// terminal's other screen, after whatever state the agent left the terminal in
// has been reset: half an escape sequence, another character set, colours in
// which nothing can be read. Afterwards the agent's screen and modes come back.
//
// A question takes lines, not keys. What is typed before it is on the screen,
// or within [quiet] of a change of what it shows, is thrown away. A call that
// takes several screens can be approved once all of them were shown. An answer
// carries the digest of what was shown, and goes through the approvers' door
// as any other; one that is given elsewhere meanwhile closes the question.
//
// An agent that people stop at the approvers' door is ended: by SIGTERM, and
// 5 seconds later by SIGKILL. So is one whose terminal has been closed, by SIGHUP.
//
// Without a terminal on both sides nothing is asked: the agent gets the
// streams as they are, and a line on stderr says how to answer from elsewhere.
//
// This package confines nothing by itself. The agent's environment leads it to
// the sidecar, and an agent that wants to can go around, unless it is started
// within a [confine.Sandbox].
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/draft"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// Options say what to run, and where. All fields but Plain and Within must be
// set.
type Options struct {
	Program string   // the path of the program; see [exec.LookPath]
	Args    []string // its arguments, without its own name
	Env     []string // its whole environment; see [Environment]
	Within  *confine.Sandbox

	Stdin, Stdout, Stderr *os.File
	Plain                 bool // the terminal knows no escape sequences

	Door   Door
	Agent  string // as whom the sidecar counts the agent
	Colour bool   // of questions, which rest on it for nothing
	Silent bool   // nothing is asked here: another screen does
	// Page, where it is set, shows a request in the person's browser, and says in a line
	// what became of that.
	Page   func(ctx context.Context, id string) string
	Editor string // the person's, as a command line: "vi", "code --wait"
	// Judge asks policy about a request with the arguments of a change: see [draft.Change.Judge].
	Judge func(ctx context.Context, c *draft.Change, r approvals.Request)
	// Elsewhere says how a request is answered from another terminal.
	Elsewhere func(id string) string
}

// A Door is the approvers' door of the sidecar: [client.Client] is one.
type Door interface {
	List(context.Context, approvals.Filter) ([]approvals.Request, error)
	Request(ctx context.Context, id string) (approvals.Request, error)
	Shown(ctx context.Context, id string) (approvals.Request, error)
	AgentStatus(ctx context.Context, agent string) (approvals.AgentStatus, error)
	Decide(ctx context.Context, id string, d api.Decision) (approvals.Request, error)
}

// Run runs the agent to its end and returns its exit code; 128 and the
// signal's number where a signal ended it. Signals that this process gets are
// passed on. ctx carries values only: the agent, not its end, ends Run.
func Run(ctx context.Context, o Options) (int, error) {
	ctx = context.WithoutCancel(ctx)
	cmd := exec.Command(o.Program, o.Args...)
	cmd.Env = o.Env
	if o.Within != nil {
		cmd = o.Within.Process()
	}
	run := runPassing
	if term.IsTerminal(int(o.Stdin.Fd())) && term.IsTerminal(int(o.Stdout.Fd())) {
		run = runAsking
	}
	signals := GetSignals()
	defer signals.Stop()
	err := run(ctx, o, cmd, signals)
	tellStopped(ctx, o)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return ExitCode(exit.ProcessState), nil
	}
	if err != nil {
		return 0, fmt.Errorf("running %s: %w", o.Program, err)
	}
	return 0, nil
}

// begin starts the agent in its sandbox.
func (o Options) begin() error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the working folder: %w", err)
	}
	program, err := filepath.Abs(o.Program)
	if err != nil {
		return err
	}
	return o.Within.Begin(confine.Program{Path: program, Args: o.Args, Env: o.Env, Dir: dir})
}

// ExitCode is the exit code of a process as a shell would tell it.
func ExitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// watchEvery is how often the queue is looked at for new requests and for
// answers that were given elsewhere.
const watchEvery = 250 * time.Millisecond
