package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

func policyReplayCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "replay",
		UsageText: "holdgate policy replay --policy rules/ --since 7d",
		Usage:     "judge past calls by the policy on disk, and say what would change",
		Description: "Calls that can't be judged exactly, for the log does not have all of them, are\n" +
			"unknown. Works with and without a running sidecar.",
		Flags: []cli.Flag{
			policyFlag(), jsonFlag(),
			&cli.StringFlag{Name: "since", Usage: "calls since this `TIME`: 7d, 2h, or 2026-11-22T05:00:00Z", Value: "7d"},
			&cli.StringFlag{Name: "until", Usage: "calls before this `TIME`"},
		},
		Action: func(c *cli.Context) error {
			q, err := replayed(c, "policy replay")
			if err != nil {
				return err
			}
			var r learn.Replay
			err = e.withLearning(c, q, func(engine *rego.Engine, log learn.Log, own rego.Own) (err error) {
				r, err = learn.Run(c.Context, engine, log, own)
				return err
			})
			switch {
			case err != nil:
				return err
			case c.Bool("json"):
				return printJSON(e.stdout, r)
			case r.Calls == 0:
				return &exitError{code: exitNothing, text: "the log has no call of that time", hint: "--since 30d looks further back"}
			}
			return writeReplay(e.stdout, r)
		},
	}
}

// replayed reads the time of past calls.
func replayed(c *cli.Context, name string) (q audit.Query, err error) {
	if c.Args().Present() {
		return q, usage("%s takes no arguments, got %q", name, c.Args().First())
	}
	if q.Since, err = moment("since", c.String("since")); err != nil {
		return q, err
	}
	q.Until, err = moment("until", c.String("until"))
	return q, err
}

// withLearning calls fn with the policy on disk and the entries that q selects.
func (e *env) withLearning(c *cli.Context, q audit.Query, fn func(*rego.Engine, learn.Log, rego.Own) error) error {
	engine, own, err := e.learningEngine(c)
	if err != nil {
		return err
	}
	defer engine.Close(c.Context)
	return e.withLog(c, func(l auditLog) error {
		p := e.progress("entries read")
		defer p.end()
		return fn(engine, func(_ context.Context, take func(audit.Entry) error) error {
			return each(c, l, q, func(n audit.Entry) error {
				p.add(1)
				return take(n)
			})
		}, own)
	})
}

func writeReplay(w io.Writer, r learn.Replay) error {
	fmt.Fprintf(w, "%d calls by policy %s: %d the same, %d would change, %d unknown\n", r.Calls, holdgate.Visible(r.Revision), r.Same, r.Changed, r.Unknown)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Table)+len(r.Unknowns) > 0 {
		fmt.Fprintln(t, "CALLS\tWAS\tNOW\tBY RULE\tNOW BY RULE")
	}
	for _, row := range r.Table {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", row.Calls, row.Was, row.Now, dash(row.WasRule), dash(row.NowRule))
	}
	for _, u := range r.Unknowns {
		fmt.Fprintf(t, "%d\t-\tunknown\t%s\n", u.Calls, holdgate.Visible(u.Why))
	}
	return t.Flush()
}

func policySuggestCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "suggest",
		UsageText: "holdgate policy suggest --since 30d",
		Usage:     "name the exceptions that would have spared people the most questions",
		Description: "Prints settings to look at and to add to a file of your own beside your rules. None\n" +
			"of them would have let pass any call of the whole log that was denied, steered, edited\n" +
			"or left to time out, and none is for programs, the network, secrets, gates, what is\n" +
			"critical, or what is known only when it runs. --tests prints a Rego test of each.",
		Flags: []cli.Flag{
			policyFlag(), jsonFlag(),
			&cli.StringFlag{Name: "since", Usage: "questions since this `TIME`: 30d, or 2026-11-22T05:00:00Z", Value: "30d"},
			&cli.IntFlag{Name: "at-least", Usage: "leave out what would have spared fewer than `N` questions", Value: learn.DefaultAtLeast},
			&cli.BoolFlag{Name: "tests", Usage: "print Rego tests of the suggestions in place of them"},
		},
		Action: e.policySuggest,
	}
}

func (e *env) policySuggest(c *cli.Context) error {
	q, err := replayed(c, "policy suggest")
	if err != nil {
		return err
	}
	if c.Int("at-least") < 1 {
		return usage("--at-least %d: want 1 or more", c.Int("at-least"))
	}
	var s learn.Suggestions
	err = e.withLearning(c, audit.Query{}, func(engine *rego.Engine, log learn.Log, own rego.Own) (err error) {
		s, err = learn.Suggest(c.Context, engine, log, learn.SuggestOptions{Own: own, Since: q.Since, AtLeast: c.Int("at-least")})
		return err
	})
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(e.stdout, s)
	case len(s.List) == 0:
		return &exitError{code: exitNothing, text: fmt.Sprintf("of %d questions, none could have been spared", s.Questions),
			hint: "--since and --at-least look further; what was denied once, and what people must see, is never suggested"}
	case c.Bool("tests"):
		tests, err := s.Tests()
		if err == nil {
			_, err = io.WriteString(e.stdout, tests)
		}
		return err
	}
	return writeSuggestions(e.stdout, s)
}

// writeSuggestions prints a data file of a policy.
func writeSuggestions(w io.Writer, s learn.Suggestions) error {
	fmt.Fprintf(w, "# %d of %d questions would have been spared, all of which people approved.\n", s.Spares, s.Questions)
	fmt.Fprintf(w, "# None of the %d calls of the log that were denied would pass (%d can't be judged again: nothing is suggested for their tools).\n", s.Denied, s.Unknown)
	fmt.Fprintln(w, "settings:\n  exceptions:")
	for _, x := range s.List {
		whole := ""
		if x.WholeTool {
			whole = "; IT COVERS EVERY CALL OF THE TOOL that no other rule asks about"
		}
		fmt.Fprintf(w, "    # %d questions, %s to %s%s\n", x.Spares, x.First.Format(time.DateOnly), x.Last.Format(time.DateOnly), whole)
		text, err := yaml.Marshal([]rego.Exception{x.Exception})
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			fmt.Fprint(w, "    "+holdgate.Visible(strings.TrimRight(line, "\n"))+"\n")
		}
	}
	return nil
}
