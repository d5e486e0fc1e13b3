package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

// Exit codes. Scripts rely on them.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitDenied  = 3 // denied or expired
	exitNothing = 4 // nothing to act on
	exitSteered = 5
)

// An exitError ends the command with a code, after an error and a hint.
type exitError struct {
	code int
	text string // empty: what there is to say has been said
	hint string
}

func (e *exitError) Error() string { return e.text }

// usageHint is the hint of a usage error until it is known which command it is
// of.
const usageHint = "holdgate --help lists the commands, holdgate COMMAND --help what one takes"

// usage is an error of the command line.
func usage(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, text: fmt.Sprintf(format, args...), hint: usageHint}
}

// hinted runs a command, and has its usage errors point to its own help.
func hinted(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if x, ok := errors.AsType[*exitError](err); ok && x.hint == usageHint && c.Command.HelpName != "" {
			x.hint = c.Command.HelpName + " --help says what it takes"
		}
		return err
	}
}

// report prints err for people and returns the exit code.
func (e *env) report(err error) int {
	if err == nil {
		return exitDone
	}
	x := explain(err)
	if x.text != "" {
		for line := range strings.SplitSeq(x.text, "\n") {
			fmt.Fprintf(e.stderr, "error: %s\n", holdgate.Visible(strings.ReplaceAll(line, "\t", "    ")))
		}
	}
	if x.hint != "" {
		fmt.Fprintf(e.stderr, "hint: %s\n", holdgate.Visible(x.hint))
	}
	return x.code
}

// explain finds the exit code and what to do about an error.
func explain(err error) *exitError {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e
	}
	x := &exitError{code: exitFailed, text: err.Error()}
	if e, ok := errors.AsType[*client.NoSidecarError](err); ok {
		x.hint = fmt.Sprintf("start one with: holdgate serve --state-dir %s (or name another state folder with --state-dir)", filepath.Dir(e.Looked))
		return x
	}
	if e, ok := errors.AsType[*run.RefusedError](err); ok {
		x.code, x.hint = exitUsage, e.Hint
		return x
	}
	if _, ok := errors.AsType[*client.UnprovenError](err); ok {
		x.hint = "nothing secret was sent to it; either it does not know your token (holdgate config says whether the file that names you waits to be accepted), or see which program listens there"
		return x
	}
	if e, ok := errors.AsType[*client.TokenError](err); ok {
		x.hint = tokenHint(e)
		return x
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return explainProblem(p)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		x.hint = "does another sidecar run (holdgate agents)? listen elsewhere with: holdgate serve --agents ADDR --approvers ADDR"
	}
	if errors.Is(err, context.Canceled) {
		x.text = "interrupted"
	}
	return x
}

// tokenHint says what to do about a file that holds no usable token.
func tokenHint(e *client.TokenError) string {
	if filepath.Base(e.Path) != client.TokenName {
		return "name the file that holds your token, mode 0600, with --token-file; an administrator makes a new token with: holdgate people add"
	}
	return fmt.Sprintf("make a new one: stop the sidecar, remove %s, and start it again; what others could read is no secret any more", e.Path)
}

// explainProblem says what to do about a problem that the sidecar told.
func explainProblem(p *api.Problem) *exitError {
	x := &exitError{code: exitFailed, text: p.Detail}
	switch p.Word() {
	case api.ProblemDecided:
		x.code = exitNothing
		if p.Request != nil {
			x.code = endedCode(p.Request.Status)
			x.hint = "nothing was changed; holdgate show " + p.Request.ID
		}
	case api.ProblemNotFound:
		x.code = exitNothing
		x.hint = "holdgate pending lists what waits"
	case api.ProblemDigest:
		x.hint = "nothing was decided; look again with: holdgate show ID"
	case api.ProblemSteerForbidden:
		x.hint = "nothing was decided; approve or deny it"
	case api.ProblemNotEntitled:
		x.hint = "nothing was changed; holdgate show ID says who may, and --token-file acts as somebody else"
		if strings.Contains(p.Detail, "takes the role") {
			x.hint = "nothing was changed; holdgate people says who has which role, and --token-file acts as somebody else"
		}
	case api.ProblemClaimed:
		x.hint = "nothing was changed; wait for them, or answer it all the same"
	case api.ProblemVoted:
		x.hint = "nothing was changed; somebody else must approve too, and you can still deny"
	case api.ProblemNoAgent:
		x.code = exitNothing
		x.hint = "holdgate agents lists those that were seen; --all is for every agent"
	case api.ProblemNoSession:
		x.code = exitNothing
		x.hint = "holdgate sessions list lists those that are known"
	case api.ProblemConfig:
		x.hint = "nothing was changed; holdgate config says whether a file waits, and its digest"
	case api.ProblemStopped:
		x.hint = "nothing was changed; holdgate resume lets it go on"
	case "unauthorized":
		x.text = "your token is not known"
		x.hint = "is it the sidecar of your state folder? holdgate config says whether the file that names the person waits to be accepted"
	}
	if p.Status == http.StatusUnprocessableEntity && x.hint == "" {
		x.hint = "nothing was decided"
	}
	return x
}

// endedCode is the exit code for a request that ended in this status before
// the command could act on it.
func endedCode(s holdgate.Status) int {
	switch s {
	case holdgate.StatusDenied, holdgate.StatusExpired:
		return exitDenied
	case holdgate.StatusSteered:
		return exitSteered
	case holdgate.StatusApproved, holdgate.StatusCancelled:
		return exitNothing
	}
	return exitFailed
}
