package agents

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// membersCommand lists the sidecars that share a store.
func membersCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "members",
		UsageText:   "holdgate members",
		Usage:       "list the sidecars that share one PostgreSQL store",
		Description: "One of them works, the others stand by. Ask the one that works.",
		Flags:       []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("members takes no arguments, got %q", c.Args().First())
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			list, err := sc.Members(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, list)
			}
			if len(list) == 0 {
				_, err := fmt.Fprintln(e.Stdout, "this sidecar keeps its state in its own folder, which no other can share")
				return err
			}
			return printMembers(e.Stdout, list, time.Now())
		},
	}
}

func printMembers(w io.Writer, list []api.Member, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MEMBER\tSTATE\tVERSION\tPOLICY\tPENDING\tSTARTED\tSEEN")
	for _, m := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", holdgate.Visible(m.Name), holdgate.Visible(m.State), holdgate.Visible(cmp.Or(m.Version, "-")),
			holdgate.Visible(cmp.Or(m.Policy, "-")), m.Held, command.Ago(now, m.Started), command.Ago(now, m.Seen))
	}
	return t.Flush()
}
