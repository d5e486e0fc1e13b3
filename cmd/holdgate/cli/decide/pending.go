package decide

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// pendingCommand lists what waits.
func pendingCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "pending",
		UsageText: "holdgate pending --agent claude",
		Usage:     "list the calls that wait for a person",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringFlag{Name: "agent", Usage: "only those of this agent"},
			&cli.StringFlag{Name: "session", Usage: "only those of this session"},
			&cli.BoolFlag{Name: "all", Usage: "those too that you have put off (holdgate defer)"},
			&cli.BoolFlag{Name: "group", Usage: "put those together that ask about calls of one shape"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("pending takes no arguments, got %q", c.Args().First())
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			of := approvals.Filter{Agent: c.String("agent"), Session: c.String("session")}
			list, err := Pending(c.Context, sc, of)
			if err != nil {
				return err
			}
			var off []approvals.Request
			if !c.Bool("all") && slices.ContainsFunc(list, func(r approvals.Request) bool { return len(r.Deferrals) > 0 }) {
				if list, off, err = shownNow(c.Context, sc, list); err != nil {
					return err
				}
			}
			config, err := command.WaitingConfig(c, sc)
			if err != nil {
				return err
			}
			switch {
			case c.Bool("group"):
				err = e.printGroups(groupsOf(list), c.Bool("json"))
			case c.Bool("json"):
				err = command.PrintJSON(e.Stdout, list)
			case len(list) > 0:
				width, _ := e.Screen(e.Stdout)
				err = printPending(e.Stdout, list, time.Now(), width)
			}
			if err == nil && len(off) > 0 && !c.Bool("json") {
				_, err = fmt.Fprintf(e.Stdout, "%d more put off by you: holdgate pending --all\n", len(off))
			}
			if config != nil && err == nil {
				out := e.Stdout
				if c.Bool("json") {
					out = e.Stderr // a list of requests is what is read there
				}
				err = command.PrintWaiting(out, *config, command.Again(c))
			}
			if err != nil || len(list) > 0 || (config != nil || len(off) > 0) && !c.Bool("json") {
				return err
			}
			return nothingPending(of)
		},
	}
}

// shownNow tells apart what waits and what of it the person has put off.
func shownNow(ctx context.Context, sc *client.Client, list []approvals.Request) (shown, off []approvals.Request, err error) {
	st, err := sc.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	shown, now := []approvals.Request{}, time.Now()
	for _, r := range list {
		if r.PutOff(st.You, now) {
			off = append(off, r)
		} else {
			shown = append(shown, r)
		}
	}
	return shown, off, nil
}

// Pending returns what waits, oldest first, and never nil.
func Pending(ctx context.Context, sc *client.Client, f approvals.Filter) ([]approvals.Request, error) {
	f.Status = holdgate.StatusPending
	list, err := sc.List(ctx, f)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b approvals.Request) int { return a.CreatedAt.Compare(b.CreatedAt) })
	if list == nil {
		list = []approvals.Request{}
	}
	return list, nil
}

// nothingPending is the answer where nothing waits that f selects.
func nothingPending(f approvals.Filter) error {
	text := "nothing is pending"
	if f.Agent != "" {
		text += " of agent " + holdgate.Visible(f.Agent)
	}
	if f.Session != "" {
		text += " in session " + holdgate.Visible(f.Session)
	}
	return &command.Exit{Code: command.ExitNothing, Text: text, Hint: "calls that policy holds appear here; holdgate audit query shows what was decided"}
}

// printPending prints what agents wait for, and apart from it what nobody waits for. A
// width of 0 is any.
func printPending(out io.Writer, list []approvals.Request, now time.Time, width int) error {
	var waiting, left []approvals.Request
	for _, r := range list {
		if r.RunEnded != nil {
			left = append(left, r)
		} else {
			waiting = append(waiting, r)
		}
	}
	if len(waiting) > 0 {
		if err := printTable(out, waiting, now, width); err != nil || len(left) == 0 {
			return err
		}
		fmt.Fprintln(out)
	}
	const nobody = "Nobody waits for these any more, for the runs that asked have ended. An approval still counts if the agent asks again:"
	fmt.Fprint(out, page.Text([]page.Line{{Text: nobody}}, width, false))
	return printTable(out, left, now, width)
}

// printTable prints one row a line: see [approvals.Request.Row]. On a terminal what the
// request is about goes below, where there is room for it.
func printTable(out io.Writer, list []approvals.Request, now time.Time, width int) error {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	header := "ID\tAGE\tLEFT\tRISK\tAGENT\tSESSION"
	if width == 0 {
		header += "\tSUMMARY"
	}
	fmt.Fprintln(w, header)
	var below []string
	listed := map[string]bool{}
	for _, r := range list {
		row, more := r.Row(), ""
		if listed[row] {
			continue // it is in the row of an earlier one
		}
		if n := len(r.SameRow(list)) - 1; n > 0 {
			listed[row], more = true, fmt.Sprintf(" (and %d more of this row)", n)
		}
		agent, session, about := holdgate.Visible(r.Agent.ID), begins(r.Session.ID, 14), r.Briefing.Summary+asked(r)+more
		if width > 0 {
			agent, below = begins(r.Agent.ID, max(width-68, 12)), append(below, about)
		} else {
			session += "\t" + about
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, command.Short(now.Sub(r.CreatedAt)), command.Short(r.ExpiresAt.Sub(now)),
			command.Known(string(r.Risk)), agent, session)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if width > 0 {
		return printBelow(out, table.String(), below, width)
	}
	_, err := out.Write(table.Bytes())
	return err
}

// printBelow prints a table, and below each row but the first a text.
func printBelow(w io.Writer, table string, below []string, width int) error {
	var b strings.Builder
	for i, row := range strings.Split(strings.TrimSuffix(table, "\n"), "\n") {
		b.WriteString(strings.TrimRight(row, " ") + "\n")
		if i > 0 {
			b.WriteString(page.Text([]page.Line{{Label: "    ", Text: below[i-1]}}, width, false))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// asked is the beginning of what an agent asks at a gate, marked as its word.
func asked(r approvals.Request) string {
	if g := r.Call.Gate; g != nil && g.Message != "" {
		return "; the agent asks: “" + begins(g.Message, 60) + "”"
	}
	return ""
}

// begins is the beginning of a text, on one line, safe to show and of so many cells at most.
func begins(s string, most int) string {
	s = holdgate.Visible(strings.Join(strings.Fields(s), " "))
	if page.Cells(s) <= most {
		return s
	}
	n := 2 // of the mark, which some terminals show so wide
	for i, r := range s {
		if n += page.Cells(string(r)); n > most {
			return s[:i] + "…"
		}
	}
	return s
}
