package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// Exit codes. Scripts rely on them.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitDenied  = 3 // denied or expired
	ExitNothing = 4 // nothing to act on
	ExitSteered = 5
)

// An Exit ends the command with a code, after an error and a hint.
type Exit struct {
	Code int
	Text string // empty: what there is to say has been said
	Hint string
}

func (e *Exit) Error() string { return e.Text }

// usageHint is the hint of a usage error until it is known which command it is
// of.
const usageHint = "holdgate --help lists the commands, holdgate COMMAND --help what one takes"

// Usage is an error of the command line.
func Usage(format string, args ...any) *Exit {
	return &Exit{Code: ExitUsage, Text: fmt.Sprintf(format, args...), Hint: usageHint}
}

// Hinted runs a command, and has its usage errors point to its own help.
func Hinted(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if x, ok := errors.AsType[*Exit](err); ok && x.Hint == usageHint && c.Command.HelpName != "" {
			x.Hint = c.Command.HelpName + " --help says what it takes"
		}
		return err
	}
}

// Report prints err for people, on a terminal as wide as that, and returns the exit code.
func (e *Env) Report(err error) int {
	if err == nil {
		return ExitDone
	}
	x := Explain(err)
	var lines []page.Line
	if x.Text != "" {
		for line := range strings.SplitSeq(x.Text, "\n") {
			lines = append(lines, page.Line{Label: "error: ", Text: holdgate.Visible(strings.ReplaceAll(line, "\t", "    "))})
		}
	}
	if x.Hint != "" {
		lines = append(lines, page.Line{Label: "hint: ", Text: holdgate.Visible(x.Hint)})
	}
	width, _ := e.Screen(e.Stderr)
	fmt.Fprint(e.Stderr, page.Text(lines, width, false))
	return x.Code
}

// Explain finds the exit code and what to do about an error.
func Explain(err error) *Exit {
	if e, ok := errors.AsType[*Exit](err); ok {
		return e
	}
	x := &Exit{Code: ExitFailed, Text: err.Error()}
	if e, ok := errors.AsType[*client.NoSidecarError](err); ok {
		if !filepath.IsAbs(e.Tried) {
			x.Hint = "start the sidecar there, or unset " + EnvURL + " for the one of the state folder"
			return x
		}
		env := Env{Getenv: os.Getenv}
		x.Hint = "start one with: " + CommandLine(append([]string{"serve"}, env.Elsewhere(filepath.Dir(e.Tried))...)) + " (or name another state folder with --state-dir)" + others()
		return x
	}
	if e, ok := errors.AsType[*run.RefusedError](err); ok {
		x.Code, x.Hint = ExitUsage, e.Hint
		return x
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		x.Hint = "nothing was sent to it; where it signs for itself (own_ca), copy page-ca.pem of its state folder into yours, or name it: SSL_CERT_FILE=page-ca.pem"
		return x
	}
	if e, ok := errors.AsType[*client.UnprovenError](err); ok {
		x.Text = fmt.Sprintf("your token is not known to what listens at %s: %v", e.Addr, e.Err)
		x.Hint = "nothing secret was sent to it; where it is your sidecar, holdgate config says whether the file that names you waits to be accepted; where it is not, see which program listens there"
		return x
	}
	if e, ok := errors.AsType[*client.TokenError](err); ok {
		x.Hint = tokenHint(e)
		return x
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return ExplainProblem(p)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		x.Hint = "does another sidecar run (holdgate agents)? listen elsewhere with: holdgate serve --agents ADDR --approvers ADDR"
	}
	if errors.Is(err, context.Canceled) {
		x.Text = "interrupted"
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

// ExplainProblem says what to do about a problem that the sidecar told.
func ExplainProblem(p *api.Problem) *Exit {
	x := &Exit{Code: ExitFailed, Text: p.Detail}
	switch p.Word() {
	case api.ProblemDecided:
		x.Code = ExitNothing
		if p.Request != nil {
			x.Code = endedCode(p.Request.Status)
			x.Hint = "nothing was changed; holdgate show " + p.Request.ID
		}
	case api.ProblemNotFound:
		x.Code = ExitNothing
		x.Hint = "holdgate pending lists what waits"
	case api.ProblemDigest:
		x.Hint = "nothing was decided; look again with: holdgate show ID"
	case api.ProblemSteerForbidden:
		x.Hint = "nothing was decided; approve or deny it"
	case api.ProblemNotEntitled:
		x.Hint = "nothing was changed; holdgate show ID says who may, and --token-file acts as somebody else"
		if strings.Contains(p.Detail, "takes the role") {
			x.Hint = "nothing was changed; holdgate people says who has which role, and --token-file acts as somebody else"
		}
	case api.ProblemClaimed:
		x.Hint = "nothing was changed; wait for them, or answer it all the same"
	case api.ProblemVoted:
		x.Hint = "nothing was changed; somebody else must approve too, and you can still deny"
	case api.ProblemNoAgent:
		x.Code = ExitNothing
		x.Hint = "holdgate agents lists those that were seen; --all is for every agent"
	case api.ProblemNoSession:
		x.Code = ExitNothing
		x.Hint = "holdgate sessions list lists those that are known"
	case api.ProblemConfig:
		x.Hint = "nothing was changed; holdgate config says whether a file waits, and its digest"
	case api.ProblemUnknown:
		x.Hint = "once the sidecar works again, holdgate pending and holdgate audit query say what counts"
	case api.ProblemStore:
		x.Hint = "nothing was changed; holdgate status says more"
	case api.ProblemStandby:
		x.Hint = "ask the one that works: run the command there, or set HOLDGATE_URL to its approvers' port"
	case api.ProblemStopped:
		x.Hint = "nothing was changed; holdgate resume lets it go on"
	case "unauthorized":
		x.Text = "your token is not known"
		x.Hint = "is it the sidecar of your state folder? holdgate config says whether the file that names the person waits to be accepted"
	}
	if p.Status == http.StatusUnprocessableEntity && x.Hint == "" {
		x.Hint = "nothing was decided"
	}
	return x
}

// endedCode is the exit code for a request that ended in this status before
// the command could act on it.
func endedCode(s holdgate.Status) int {
	switch s {
	case holdgate.StatusDenied, holdgate.StatusExpired:
		return ExitDenied
	case holdgate.StatusSteered:
		return ExitSteered
	case holdgate.StatusApproved, holdgate.StatusCancelled:
		return ExitNothing
	}
	return ExitFailed
}
