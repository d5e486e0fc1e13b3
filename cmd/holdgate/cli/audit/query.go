package audit

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

func queryCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "query",
		UsageText: "holdgate audit query --agent claude --since 1d --type outcome",
		Usage:     "list entries, oldest first",
		Flags: append(selecting(), command.JSONFlag(),
			&cli.Uint64Flag{Name: "from", Usage: "begin at this entry's `NUMBER`"},
			&cli.IntFlag{Name: "limit", Usage: "list at most `N`, up to 1000", Value: 100},
		),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("audit query takes no arguments, got %q", c.Args().First())
			}
			if n := c.Int("limit"); n < 1 || n > 1000 {
				return command.Usage("--limit %d: want 1 to 1000", n)
			}
			q, err := selected(c)
			if err != nil {
				return err
			}
			q.From, q.Limit = c.Uint64("from"), c.Int("limit")
			l, err := e.OpenLog(c)
			if err != nil {
				return err
			}
			var entries []audit.Entry
			if q.RequestID, err = command.LoggedRequest(c, l, q.RequestID); err == nil {
				entries, err = l.Query(c.Context, q)
			}
			if err := errors.Join(err, l.Close()); err != nil {
				return err
			}
			if c.Bool("json") {
				if entries == nil {
					entries = []audit.Entry{}
				}
				return command.PrintJSON(e.Stdout, entries)
			}
			return e.printEntries(entries)
		},
	}
}

// printEntries prints one entry a line.
func (e *env) printEntries(entries []audit.Entry) error {
	if len(entries) == 0 {
		return &command.Exit{Code: command.ExitNothing, Text: "no entry of the audit log is selected"}
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tTIME\tTYPE\tREQUEST\tAGENT\tWHAT")
	for _, n := range entries {
		agent := ""
		if n.Call != nil {
			agent = n.Call.Agent
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", n.Seq, n.Time.Local().Format(time.DateTime), holdgate.Visible(string(n.Type)),
			command.Dash(n.RequestID), command.Dash(agent), holdgate.Visible(what(n)))
	}
	return w.Flush()
}

// what says in a few words what an entry records.
func what(n audit.Entry) string {
	s := ""
	add := func(word string) {
		if word != "" {
			s += " " + word
		}
	}
	if d := n.Decision; d != nil {
		add(d.Action.String())
		if d.Would != nil {
			add("(would " + d.Would.String() + ")")
		}
		add(d.Rule)
	}
	if o := n.Outcome; o != nil {
		add(string(o.Decision))
		add("by " + o.By)
		add(o.Reason)
	}
	if c := n.Call; c != nil {
		if c.Tool != nil {
			add(c.Tool.Name)
		}
		add(c.Model)
		add(c.MCP)
		add(c.HTTP)
		add(c.Gate)
	}
	add(n.Note)
	if s == "" {
		return "-"
	}
	return s[1:]
}
