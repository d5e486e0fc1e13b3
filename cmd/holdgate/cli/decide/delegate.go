package decide

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// delegateCommand lets another person vote.
func delegateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "delegate",
		UsageText: "holdgate delegate f33xjt-my5d7g-tshyjw --to bob",
		Usage:     "let somebody else vote on a request in your place",
		ArgsUsage: "[ID]",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringFlag{Name: "to", Usage: "the `NAME` of who may vote; see: holdgate people list"},
			&cli.StringFlag{Name: "note", Usage: "a `TEXT` for them"},
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.NArg() > 1:
				return command.Usage("delegate takes one ID, got %q too", c.Args().Get(1))
			case c.String("to") == "":
				return command.Usage("delegate needs --to NAME")
			}
			return e.change(c, c.Args().First(), printDelegation, func(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
				return sc.Delegate(ctx, id, api.Delegation{To: c.String("to"), Note: c.String("note")})
			})
		},
	}
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
