package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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
			auditVerifyCommand(e),
			auditExportCommand(e),
		},
	}
}

func auditQueryCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "query",
		Usage: "list entries, oldest first",
		Flags: []cli.Flag{
			jsonFlag(),
			&cli.StringFlag{Name: "request", Usage: "only those of the request with this `ID`"},
			&cli.StringFlag{Name: "type", Usage: "only those of this `TYPE`: decision, vote, outcome, used, result, ..."},
			&cli.StringFlag{Name: "agent", Usage: "only those of this agent"},
			&cli.StringFlag{Name: "session", Usage: "only those of this session"},
			&cli.Uint64Flag{Name: "from", Usage: "begin at this entry's `NUMBER`"},
			&cli.IntFlag{Name: "limit", Usage: "list at most `N`, up to 1000", Value: 100},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage("audit query takes no arguments, got %q", c.Args().First())
			}
			if n := c.Int("limit"); n < 1 || n > 1000 {
				return usage("--limit %d: want 1 to 1000", n)
			}
			if err := checkType(audit.Type(c.String("type"))); err != nil {
				return err
			}
			l, err := e.openLog(c)
			if err != nil {
				return err
			}
			entries, err := l.Query(c.Context, audit.Query{
				RequestID: c.String("request"), Type: audit.Type(c.String("type")), Agent: c.String("agent"),
				Session: c.String("session"), From: c.Uint64("from"), Limit: c.Int("limit"),
			})
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

// checkType refuses a --type that no entry has; empty is any.
func checkType(t audit.Type) error {
	if t == "" || slices.Contains(audit.Types(), t) {
		return nil
	}
	var names []string
	for _, known := range audit.Types() {
		names = append(names, string(known))
	}
	return usage("--type %q: want one of %s", t, strings.Join(names, ", "))
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

func auditVerifyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "find the first entry that was changed, taken out, swapped or cut off",
		ArgsUsage: "[EXPORT.jsonl]",
		Description: "Without a file the log itself is verified. Give a head that was noted elsewhere:\n" +
			"without one, a log that was rewritten as a whole still looks right.",
		Flags: []cli.Flag{jsonFlag(), &cli.StringFlag{Name: "head", Usage: "the log must contain `SEQ:HASH`"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("audit verify takes one file, got %q too", c.Args().Get(1))
			}
			var o audit.VerifyOptions
			if h := c.String("head"); h != "" {
				head, err := audit.ParseHead(h)
				if err != nil {
					return usage("--head: %v", err)
				}
				o.Head = head
			}
			report, err := e.verify(c, o)
			if err != nil {
				if _, ok := errors.AsType[*audit.Fault](err); ok {
					return &exitError{code: exitFailed, text: err.Error(), hint: fmt.Sprintf("%d entries before it are in order; keep the file as it is", report.Entries)}
				}
				return err
			}
			if c.Bool("json") {
				return printJSON(e.stdout, map[string]any{"entries": report.Entries, "head": report.Last.String()})
			}
			_, err = fmt.Fprintf(e.stdout, "%d entries in order; head %s\n", report.Entries, report.Last)
			return err
		},
	}
}

// verify verifies a file or the log.
func (e *env) verify(c *cli.Context, o audit.VerifyOptions) (audit.Report, error) {
	if path := c.Args().First(); path != "" {
		f, err := os.Open(path)
		if err != nil {
			return audit.Report{}, fmt.Errorf("reading the export: %w", err)
		}
		defer f.Close()
		return audit.Verify(f, o)
	}
	l, err := e.openLog(c)
	if err != nil {
		return audit.Report{}, err
	}
	report, err := l.Verify(c.Context, o)
	if closeErr := l.Close(); err == nil {
		err = closeErr
	}
	return report, err
}

func auditExportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "print the whole log, one JSON object a line",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "the same: an export is always JSON"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage("audit export takes no arguments, got %q", c.Args().First())
			}
			l, err := e.openLog(c)
			if err != nil {
				return err
			}
			return errors.Join(l.Export(c.Context, e.stdout), l.Close())
		},
	}
}
