package decide

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

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
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringFlag{Name: "for", Value: "10m", Usage: "the `TIME`: 10m, 2h; 24h at most"},
			&cli.BoolFlag{Name: "next", Usage: "or until its session asks again, if that comes first"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return command.Usage("defer takes one ID, got %q too", c.Args().Get(1))
			}
			lasts, err := config.ParseDuration(c.String("for"))
			if err != nil {
				return command.Usage("--for: %v", err)
			}
			return e.change(c, c.Args().First(), printDeferral, func(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
				return sc.Defer(ctx, id, time.Duration(lasts), c.Bool("next"))
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
		if d.Next {
			off += " or until its session asks again,"
		}
	}
	_, err = fmt.Fprintf(w, "%s: %s; %s is left, then %s\n", r.ID, strings.TrimSuffix(off, ","), command.Short(time.Until(r.ExpiresAt)), silence(r))
	return err
}
