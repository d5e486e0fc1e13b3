package decide

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// grantsCommand lists and ends standing approvals.
func grantsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "grants",
		Usage: "list and revoke standing approvals (approve --remember)",
		Subcommands: []*cli.Command{
			{
				Name:      "list",
				UsageText: "holdgate grants list --agent claude",
				Usage:     "list the grants that cover something now",
				Flags:     []cli.Flag{command.JSONFlag(), &cli.StringFlag{Name: "agent", Usage: "only those of this agent"}},
				Action:    e.listGrants,
			},
			{
				Name:        "revoke",
				UsageText:   "holdgate grants revoke 7kq2vd",
				Usage:       "end grants",
				ArgsUsage:   "ID...",
				Description: "ID may be the beginning of an id, where no other grant begins with it. A grant is\nused no more once this has returned. Calls that it let go on before\nmay still be on their way.",
				Flags:       []cli.Flag{command.JSONFlag(), &cli.BoolFlag{Name: "all", Usage: "end all of them"}},
				Action:      e.revokeGrants,
			},
		},
	}
}

func (e *env) listGrants(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("grants list takes no arguments, got %q", c.Args().First())
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	list, err := sc.Grants(c.Context, c.String("agent"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = command.PrintJSON(e.Stdout, list)
	} else if len(list) > 0 {
		err = printGrants(e.Stdout, list, time.Now())
	}
	if err != nil || len(list) > 0 {
		return err
	}
	return noGrants()
}

// noGrants is the answer where there are none.
func noGrants() error {
	return &command.Exit{Code: command.ExitNothing, Text: "there are no grants", Hint: "holdgate approve ID --remember makes one"}
}

// printGrants prints what each grant covers, and what it has done.
func printGrants(w io.Writer, list []approvals.Grant, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tLEFT\tUSES\tLAST USED\tBY\tCOVERS")
	for _, g := range list {
		last := "never"
		if !g.LastUsed.IsZero() {
			last = command.Short(now.Sub(g.LastUsed)) + " ago"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", g.ID, command.Short(g.ExpiresAt.Sub(now)), g.Uses, last, names(g.By), g.Covers)
	}
	return t.Flush()
}

// names lists people.
func names(list []string) string {
	s := ""
	for i, n := range list {
		if i > 0 {
			s += ", "
		}
		s += holdgate.Visible(n)
	}
	return s
}

func (e *env) revokeGrants(c *cli.Context) error {
	ids := c.Args().Slice()
	if c.Bool("all") == (len(ids) > 0) {
		return command.Usage("grants revoke takes IDs, or --all")
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	list, err := sc.Grants(c.Context, "")
	if err != nil {
		return err
	}
	var known []string
	for _, g := range list {
		known = append(known, g.ID)
	}
	switch {
	case c.Bool("all") && len(list) == 0:
		return noGrants()
	case c.Bool("all"):
		ids = known
	}
	for i, id := range ids {
		if ids[i], err = command.Beginning(id, known); err != nil {
			return err
		}
	}
	revoked := []approvals.Grant{}
	for _, id := range ids {
		g, err := revoke(c, sc, id)
		if err != nil {
			return err
		}
		if g != nil {
			revoked = append(revoked, *g)
		}
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, revoked)
	}
	for _, g := range revoked {
		if _, err := fmt.Fprintf(e.Stdout, "%s: revoked; uses: %d\n", g.ID, g.Uses); err != nil {
			return err
		}
	}
	return nil
}

// revoke ends one grant. With --all, one that has ended meanwhile is none.
func revoke(c *cli.Context, sc *client.Client, id string) (*approvals.Grant, error) {
	g, err := sc.Revoke(c.Context, id)
	if err == nil {
		return &g, nil
	}
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotFound {
		if c.Bool("all") {
			return nil, nil //nolint:nilnil // it has gone by itself
		}
		return nil, &command.Exit{Code: command.ExitNothing, Text: p.Detail + ": " + id, Hint: "holdgate grants list shows those that there are"}
	}
	return nil, err
}
