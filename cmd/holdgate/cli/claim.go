package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
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

// deferCommand puts a request off.
func deferCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "defer",
		UsageText: "holdgate defer f33xjt --for 2h",
		Usage:     "put a request off: you are not shown it until then",
		ArgsUsage: "[ID]",
		Description: "Nothing is decided: others see it as before, and silence and escalations come when\n" +
			"they would have come. Claim it to stop them. Silence that would have approved the\n" +
			"call denies it from then on. --for 0s shows it to you again.",
		Flags: []cli.Flag{jsonFlag(), &cli.StringFlag{Name: "for", Value: "10m", Usage: "the `TIME`: 10m, 2h; 24h at most"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("defer takes one ID, got %q too", c.Args().Get(1))
			}
			lasts, err := config.ParseDuration(c.String("for"))
			if err != nil {
				return usage("--for: %v", err)
			}
			return e.change(c, c.Args().First(), printDeferral, func(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
				return sc.Defer(ctx, id, time.Duration(lasts))
			})
		},
	}
}

// printDeferral says who has put a request off, and what silence does.
func printDeferral(w io.Writer, r approvals.Request) (err error) {
	off := "not put off"
	for i, d := range r.Deferrals {
		if i == 0 {
			off = "put off"
		}
		off += fmt.Sprintf(" by %s until %s,", holdgate.Visible(d.By), d.Until.Local().Format(time.DateTime))
	}
	_, err = fmt.Fprintf(w, "%s: %s; %s is left, then %s\n", r.ID, strings.TrimSuffix(off, ","), short(time.Until(r.ExpiresAt)), silence(r))
	return err
}

// delegateCommand lets another person vote.
func delegateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "delegate",
		UsageText: "holdgate delegate f33xjt-my5d7g-tshyjw --to bob",
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
