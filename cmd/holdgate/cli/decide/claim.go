package decide

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// claimCommand says that a person is looking at a request.
func claimCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "claim",
		UsageText: "holdgate claim f33xjt-my5d7g-tshyjw",
		Usage:     "claim a request: others see it, and it does not time out meanwhile",
		ArgsUsage: "[ID]",
		Description: "A claim lasts until you answer, at most half an hour. After that the request's\n" +
			"window begins anew.",
		Flags: []cli.Flag{command.JSONFlag(), &cli.BoolFlag{Name: "release", Usage: "end your claim"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return command.Usage("claim takes one ID, got %q too", c.Args().Get(1))
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

// change does something to a pending request that is no answer, and prints it.
func (e *env) change(c *cli.Context, id string, print func(io.Writer, approvals.Request) error, do func(context.Context, *client.Client, string) (approvals.Request, error)) error {
	sc, err := e.Sidecar(c)
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
		return command.PrintJSON(e.Stdout, r)
	}
	return print(e.Stdout, r)
}

// printClaim says who has claimed a request.
func printClaim(w io.Writer, r approvals.Request) (err error) {
	if r.Claim == nil {
		_, err = fmt.Fprintf(w, "%s: unclaimed; %s is left, then %s\n", r.ID, command.Short(time.Until(r.ExpiresAt)), silence(r))
		return err
	}
	_, err = fmt.Fprintf(w, "%s: claimed by %s until %s\n", r.ID, holdgate.Visible(r.Claim.By), r.Claim.Until.Local().Format(time.DateTime))
	return err
}
