package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// auditCommand reads the audit log, with a running sidecar and without one.
func auditCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "read and verify the log of all decisions",
		Subcommands: []*cli.Command{
			auditQueryCommand(e),
			auditHeadCommand(e),
			auditKeyCommand(e),
			auditProveCommand(e),
			auditVerifyCommand(e),
			auditExportCommand(e),
		},
	}
}

func auditQueryCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "query",
		UsageText: "holdgate audit query --agent claude --since 1d --type outcome",
		Usage:     "list entries, oldest first",
		Flags: append(selecting(), jsonFlag(),
			&cli.Uint64Flag{Name: "from", Usage: "begin at this entry's `NUMBER`"},
			&cli.IntFlag{Name: "limit", Usage: "list at most `N`, up to 1000", Value: 100},
		),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage("audit query takes no arguments, got %q", c.Args().First())
			}
			if n := c.Int("limit"); n < 1 || n > 1000 {
				return usage("--limit %d: want 1 to 1000", n)
			}
			q, err := selected(c)
			if err != nil {
				return err
			}
			q.From, q.Limit = c.Uint64("from"), c.Int("limit")
			l, err := e.openLog(c)
			if err != nil {
				return err
			}
			var entries []audit.Entry
			if q.RequestID, err = loggedRequest(c, l, q.RequestID); err == nil {
				entries, err = l.Query(c.Context, q)
			}
			if err := errors.Join(err, l.Close()); err != nil {
				return err
			}
			if c.Bool("json") {
				if entries == nil {
					entries = []audit.Entry{}
				}
				return printJSON(e.stdout, entries)
			}
			return e.printEntries(entries)
		},
	}
}

// printEntries prints one entry a line.
func (e *env) printEntries(entries []audit.Entry) error {
	if len(entries) == 0 {
		return &exitError{code: exitNothing, text: "no entry of the audit log is selected"}
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tTIME\tTYPE\tREQUEST\tAGENT\tWHAT")
	for _, n := range entries {
		agent := ""
		if n.Call != nil {
			agent = n.Call.Agent
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", n.Seq, n.Time.Local().Format(time.DateTime), holdgate.Visible(string(n.Type)),
			dash(n.RequestID), dash(agent), holdgate.Visible(what(n)))
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

// dash is s made visible, or a dash.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return holdgate.Visible(s)
}
