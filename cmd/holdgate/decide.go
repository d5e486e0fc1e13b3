package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
)

// reasonFlag is the note of a decision.
func reasonFlag(aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: "reason", Aliases: aliases, Usage: "why; kept with the outcome"}
}

// digestFlag names what a script has seen.
func digestFlag() cli.Flag {
	return &cli.StringFlag{Name: "digest", Usage: "decide only if this is the call's digest, or the first 12 characters or more of it"}
}

// approveCommand lets a held call go on.
func approveCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "let a held call go on",
		ArgsUsage: "[ID]",
		Description: "The request is shown, and the approval is bound to what was shown. ID must be\n" +
			"whole. It may be left out on a terminal where exactly one request is pending:\n" +
			"then you are asked.",
		Flags: []cli.Flag{reasonFlag("feedback"), digestFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("approve takes one ID, got %q too", c.Args().Get(1))
			}
			return e.release(c, c.Args().First(), api.Decision{Decision: holdgate.AnswerApprove, Reason: c.String("reason")})
		},
	}
}

// chooseCommand answers a request that offers options.
func chooseCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "choose",
		Usage:       "answer a request that offers options",
		ArgsUsage:   "[ID] OPTION",
		Description: "OPTION is an option's id. ID may be left out as with approve.",
		Flags:       []cli.Flag{reasonFlag("feedback"), digestFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			d := api.Decision{Decision: holdgate.AnswerChoose, Reason: c.String("reason")}
			switch c.NArg() {
			case 1:
				d.Choice = c.Args().Get(0)
				return e.release(c, "", d)
			case 2:
				d.Choice = c.Args().Get(1)
				return e.release(c, c.Args().Get(0), d)
			}
			return usage("choose takes an ID and an option")
		},
	}
}

// denyCommand refuses a held call.
func denyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "deny",
		Aliases:   []string{"reject"},
		Usage:     "refuse a held call",
		ArgsUsage: "[ID]",
		Flags:     []cli.Flag{reasonFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("deny takes one ID, got %q too", c.Args().Get(1))
			}
			return e.refuse(c, c.Args().First(), api.Decision{Decision: holdgate.AnswerDeny, Reason: c.String("reason")})
		},
	}
}

// steerCommand gives the agent other directions in the call's place.
func steerCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "steer",
		Usage:     "refuse a held call and tell the agent what to do instead",
		ArgsUsage: "[ID] INSTRUCTIONS",
		Description: "One argument is taken as the instructions for the only pending request. With\n" +
			"more, the first is the ID.",
		Flags: []cli.Flag{
			reasonFlag(), jsonFlag(),
			&cli.StringSliceFlag{Name: "artifact", Usage: "a file or other thing that the instructions are about; repeatable"},
		},
		Action: func(c *cli.Context) error {
			d := api.Decision{Decision: holdgate.AnswerSteer, Reason: c.String("reason"), Artifacts: c.StringSlice("artifact")}
			words := c.Args().Slice()
			id := ""
			if len(words) > 1 {
				id, words = words[0], words[1:]
			}
			d.Instructions = strings.Join(words, " ")
			if strings.TrimSpace(d.Instructions) == "" {
				return usage("steer needs instructions: holdgate steer ID \"do this instead\"")
			}
			return e.refuse(c, id, d)
		},
	}
}

// release sends a decision that lets a call go on. The request is shown first,
// and the decision carries the digest of what was shown.
func (e *env) release(c *cli.Context, id string, d api.Decision) error {
	sc, err := e.sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	var r approvals.Request
	if id == "" {
		r, err = onlyPending(c.Context, sc)
	} else {
		r, err = sc.Request(c.Context, id)
	}
	if err != nil {
		return err
	}
	if r.Status.Final() {
		return explainProblem(&api.Problem{Type: api.ProblemPrefix + api.ProblemDecided, Detail: "request " + r.ID + " has ended: " + status(r), Request: &r})
	}
	if d.Digest, err = shownDigest(r, c.String("digest")); err != nil {
		return err
	}
	shown := e.stdout
	if c.Bool("json") {
		shown = e.stderr
	}
	if err := printPage(shown, r, time.Now()); err != nil {
		return fmt.Errorf("showing the request: %w", err)
	}
	if id == "" {
		if err := e.confirm(c.Context, shown, r, d); err != nil {
			return err
		}
	}
	return e.send(c, sc, r.ID, d)
}

// shownDigest is the digest that a decision carries: the request's own, which
// must be the one that a script says to have seen.
func shownDigest(r approvals.Request, seen string) (holdgate.Digest, error) {
	if seen == "" {
		return r.Call.Digest, nil
	}
	if len(seen) < len(r.Call.Digest.Short()) {
		return "", usage("--digest %q is too short: give 12 characters or more", seen)
	}
	if !strings.HasPrefix(string(r.Call.Digest), seen) {
		return "", &exitError{code: exitFailed, text: fmt.Sprintf("the call's digest is %s, not %s: it is not the call that you saw", r.Call.Digest.Short(), seen), hint: "nothing was decided; look again with: holdgate show " + r.ID}
	}
	return r.Call.Digest, nil
}

// refuse sends a decision that lets nothing go on.
func (e *env) refuse(c *cli.Context, id string, d api.Decision) error {
	sc, err := e.sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	if id == "" {
		r, err := onlyPending(c.Context, sc)
		if err != nil {
			return err
		}
		if r.ID == d.Instructions {
			return usage("steer needs instructions: holdgate steer %s \"do this instead\"", r.ID)
		}
		id = r.ID
	}
	return e.send(c, sc, id, d)
}

// send decides and says what became of the request.
func (e *env) send(c *cli.Context, sc *client.Client, id string, d api.Decision) error {
	r, err := sc.Decide(c.Context, id, d)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(e.stdout, r)
	}
	return printResult(e.stdout, r)
}

// printResult says in one line where a request stands after a decision.
func printResult(w io.Writer, r approvals.Request) (err error) {
	if r.Status == holdgate.StatusPending {
		_, err = fmt.Fprintf(w, "%s: your answer counts; %d of %d have approved\n", r.ID, approving(r), r.Approvers.Quorum)
	} else {
		_, err = fmt.Fprintf(w, "%s: %s\n", r.ID, r.Status)
	}
	return err
}
