package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
)

// claimCommand says that a person is looking at a request.
func claimCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "claim",
		Usage:     "say that you are looking at a request: silence does not end it meanwhile",
		ArgsUsage: "[ID]",
		Description: "A claim lasts until you answer, at most half an hour. After that the request's\n" +
			"window begins anew.",
		Flags: []cli.Flag{jsonFlag(), &cli.BoolFlag{Name: "release", Usage: "end your claim"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("claim takes one ID, got %q too", c.Args().Get(1))
			}
			return e.change(c, c.Args().First(), printClaim, func(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
				if c.Bool("release") {
					return sc.Unclaim(ctx, id)
				}
				return sc.Claim(ctx, id)
			})
		},
	}
}

// delegateCommand lets another person vote.
func delegateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "delegate",
		Usage:     "let somebody else vote on a request in your place",
		ArgsUsage: "[ID]",
		Flags: []cli.Flag{
			jsonFlag(),
			&cli.StringFlag{Name: "to", Usage: "the `NAME` of who may vote; see: holdgate people list"},
			&cli.StringFlag{Name: "note", Usage: "a `TEXT` for them"},
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.NArg() > 1:
				return usage("delegate takes one ID, got %q too", c.Args().Get(1))
			case c.String("to") == "":
				return usage("delegate needs --to NAME")
			}
			return e.change(c, c.Args().First(), printDelegation, func(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
				return sc.Delegate(ctx, id, api.Delegation{To: c.String("to"), Note: c.String("note")})
			})
		},
	}
}

// change does something to a pending request that is no answer, and prints it.
func (e *env) change(c *cli.Context, id string, print func(io.Writer, approvals.Request) error, do func(context.Context, *client.Client, string) (approvals.Request, error)) error {
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
		id = r.ID
	} else if r, err := byPrefix(c.Context, sc, id); err == nil {
		id = r.ID // neither decides anything
	}
	r, err := do(c.Context, sc, id)
	if err != nil {
		return didYouMean(c.Context, sc, id, err)
	}
	if c.Bool("json") {
		return printJSON(e.stdout, r)
	}
	return print(e.stdout, r)
}

// printClaim says who has claimed a request.
func printClaim(w io.Writer, r approvals.Request) (err error) {
	if r.Claim == nil {
		_, err = fmt.Fprintf(w, "%s: unclaimed; %s is left, then %s\n", r.ID, short(time.Until(r.ExpiresAt)), silence(r))
		return err
	}
	_, err = fmt.Fprintf(w, "%s: claimed by %s until %s\n", r.ID, holdgate.Visible(r.Claim.By), r.Claim.Until.Local().Format(time.DateTime))
	return err
}

// printDelegation says who votes in whose place.
func printDelegation(w io.Writer, r approvals.Request) (err error) {
	for _, d := range r.Delegations {
		if _, err = fmt.Fprintf(w, "%s: %s votes in place of %s\n", r.ID, holdgate.Visible(d.To), holdgate.Visible(d.By)); err != nil {
			return err
		}
	}
	return nil
}
