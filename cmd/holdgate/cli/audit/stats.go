package audit

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/stats"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

// statsCommand counts questions to people and how they ended.
func statsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "stats",
		UsageText: "holdgate stats --since 7d",
		Usage:     "count questions to people: how they ended, and what asks most",
		Description: "By rule, tool, agent and approver. Works with and without a running sidecar.\n" +
			"holdgate policy suggest names what people could be spared.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringFlag{Name: "since", Usage: "since this `TIME`: 7d, 2h, or 2026-11-22", Value: "30d"},
			&cli.StringFlag{Name: "until", Usage: "before this `TIME`"},
			&cli.IntFlag{Name: "top", Usage: "print at most `N` lines of each list", Value: 10},
		},
		Action: func(c *cli.Context) error {
			q, err := command.Replayed(c, "stats")
			if err != nil {
				return err
			}
			counter := stats.NewCounter(q.Since)
			err = e.WithLog(c, func(l command.Log) error {
				return command.Each(c, l, q, func(n audit.Entry) error {
					counter.Count(n)
					return nil
				})
			})
			if err != nil {
				return err
			}
			s := counter.Stats()
			s.Until = q.Until
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, s)
			}
			return writeStats(e.Stdout, s, max(c.Int("top"), 0))
		},
	}
}

func writeStats(w io.Writer, s stats.Stats, top int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "calls: %d passed by policy alone, %d refused, %d answered by standing approvals\n", s.Allowed, s.Refused, s.Granted)
	fmt.Fprintf(&b, "questions to people: %d, of which %d approved, %d denied, %d steered, %d expired, %d approved by silence, %d cancelled, %d pending\n",
		s.Asked, s.Approved, s.Denied, s.Steered, s.Expired, s.Silent, s.Cancelled, s.Pending)
	fmt.Fprintf(&b, "people took %s (p50) and %s (p95); answers that put something else in the place of the call: %d\n\n", took(s.Answer.P50), took(s.Answer.P95), s.Overrides)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, list := range []struct {
		name   string
		groups []stats.Group
	}{{"RULE", s.ByRule}, {"TOOL", s.ByTool}, {"AGENT", s.ByAgent}} {
		fmt.Fprintf(t, "%s\tASKED\tAPPROVED\tDENIED\tSTEERED\tEXPIRED\tOVERRIDES\tPASSED\tREFUSED\tP50\tP95\n", list.name)
		for _, g := range list.groups[:min(top, len(list.groups))] {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", command.Dash(g.Name), g.Asked, g.Approved, g.Denied, g.Steered, g.Expired, g.Overrides, g.Allowed, g.Refused,
				took(g.Answer.P50), took(g.Answer.P95))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "APPROVER\tAPPROVE\tDENY\tSTEER\tCHOOSE\tEDIT\tP50\tP95")
	for _, v := range s.ByApprover[:min(top, len(s.ByApprover))] {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", command.Dash(v.Name), v.Approve, v.Deny, v.Steer, v.Choose, v.Edit, took(v.Answer.P50), took(v.Answer.P95))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, g := range s.AlwaysApproved[:min(top, len(s.AlwaysApproved))] {
		fmt.Fprintf(&b, "\nalways approved: %s, %d of %d times", holdgate.Visible(g.Name), g.Approved, g.Asked)
	}
	if len(s.AlwaysApproved) > 0 {
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// took is a time in seconds as people read it; nobody takes none.
func took(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	if d := time.Duration(seconds * float64(time.Second)); d >= time.Second {
		return command.Short(d)
	}
	return fmt.Sprintf("%.1fs", seconds)
}
