package policy

import (
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/score"
)

func scoreCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "score",
		UsageText: "holdgate policy score calls.jsonl",
		Usage:     "measure a policy on labelled calls: what it misses, and what it asks about",
		ArgsUsage: "FILE.jsonl...",
		Description: "Each line of a FILE is a call and what is wanted of it:\n" +
			"  {\"id\": \"1\", \"kind\": \"call\", \"want\": \"pass\", \"tool\": \"Bash\", \"input\": {\"command\": \"ls\"}}\n" +
			"want is pass or hold. Rows are counted by kind. With --half a table is split by the ids:\n" +
			"mend rules with the working half, and only count the scored one. Exits 1 where more went\n" +
			"wrong than --friction or --missed allows.",
		Flags: []cli.Flag{
			policyFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "cwd", Usage: "the session's `FOLDER`, of rows that name none"},
			&cli.StringFlag{Name: "confinement", Usage: "score as if the agents were confined: none, weak or `strong`", Value: "none"},
			&cli.BoolFlag{Name: "undo", Usage: "score as if the agents ran under holdgate run --undo"},
			&cli.StringFlag{Name: "half", Usage: "only the `HALF` working or scored"},
			&cli.BoolFlag{Name: "wrong", Usage: "list the rows of the working half that went wrong"},
			&cli.Float64Flag{Name: "friction", Usage: "ask about at most `PERCENT` of the rows of a kind that are to pass", Value: 100},
			&cli.Float64Flag{Name: "missed", Usage: "let pass at most `PERCENT` of the rows of a kind that are to be held", Value: 100},
		},
		Action: e.policyScore,
	}
}

func (e *env) policyScore(c *cli.Context) error {
	o := score.Options{Half: score.Half(c.String("half")), Dir: c.String("cwd")}
	o.Confinement = score.Confinement{Level: c.String("confinement"), Proofs: proofs(c)}
	if o.Confinement.Undo && !c.IsSet("confinement") {
		o.Confinement.Level = "strong"
	}
	switch {
	case o.Half != score.Both && o.Half != score.Working && o.Half != score.Scored:
		return command.Usage("--half %q: want working or scored", c.String("half"))
	case !slices.Contains([]string{"none", "weak", "strong"}, o.Confinement.Level):
		return command.Usage("--confinement takes none, weak or strong, got %q", o.Confinement.Level)
	case o.Confinement.Undo && o.Confinement.Level != "strong":
		return command.Usage("--undo needs the strong confinement")
	case c.Bool("wrong") && o.Half != score.Working:
		return command.Usage("--wrong needs --half working: the other half is counted, and not looked at")
	case !c.Args().Present():
		return command.Usage("policy score needs a FILE of labelled calls")
	}
	rows, err := readTables(c.Args().Slice())
	if err != nil {
		return err
	}
	p, err := e.policyOptions(c)
	if err != nil {
		return err
	}
	engine, err := rego.Open(c.Context, p)
	if err != nil {
		return err
	}
	defer engine.Close(c.Context)
	r, err := score.Run(c.Context, engine, rows, o)
	if err != nil {
		return err
	}
	if !c.Bool("wrong") {
		r.Wrong = nil
	}
	if c.Bool("json") {
		err = command.PrintJSON(e.Stdout, r)
	} else {
		err = writeScore(e.Stdout, r)
	}
	switch asked, missed := r.Worst(score.Pass), r.Worst(score.Hold); {
	case err != nil:
		return err
	case missed > c.Float64("missed"):
		return &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("%.1f %% of a kind that is to be held pass, at most %g %% may", missed, c.Float64("missed"))}
	case asked > c.Float64("friction"):
		return &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("%.1f %% of a kind that is to pass are held, at most %g %% may", asked, c.Float64("friction"))}
	}
	return nil
}

// proofs are what holdgate run --undo proves, or nothing.
func proofs(c *cli.Context) holdgate.Proofs {
	undo := c.Bool("undo")
	return holdgate.Proofs{Undo: undo, Private: undo, Hidden: undo, Network: undo, Keys: undo}
}

// readTables reads the tables of several files as one.
func readTables(names []string) ([]score.Row, error) {
	var all []score.Row
	in := make(map[string]string)
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading a table: %w", err)
		}
		rows, err := score.Read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("reading a table: %s: %w", name, err)
		}
		for _, r := range rows {
			if other, ok := in[r.ID]; ok {
				return nil, fmt.Errorf("reading a table: %s: the id %q is in %s too", name, r.ID, other)
			}
			in[r.ID] = name
		}
		all = append(all, rows...)
	}
	return all, nil
}

func writeScore(w io.Writer, r score.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WANTED\tKIND\tROWS\tWENT WRONG\t")
	asked := 0
	for _, c := range r.Counts {
		what := "held"
		if c.Want == score.Hold {
			what = "let pass"
		} else {
			asked += c.Wrong
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d %s\t%.1f %%\n", c.Want, holdgate.Visible(c.Kind), c.Rows, c.Wrong, what, c.Percent())
	}
	if len(r.Rules) > 0 {
		fmt.Fprintln(t, "\nRULE\tASKED\t\t\t")
	}
	for _, rule := range r.Rules {
		fmt.Fprintf(t, "%s\t%d\t\t\t%.1f %% of these questions\n", holdgate.Visible(rule.Rule), rule.Rows, 100*float64(rule.Rows)/float64(asked))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, x := range r.Wrong {
		if i == 0 {
			fmt.Fprintln(w)
		}
		_, err := fmt.Fprintf(w, "%s: %s by %s: %s %s\n", holdgate.Visible(x.Row.ID), x.Action, command.Dash(x.Rule), holdgate.Visible(x.Row.Tool), holdgate.Visible(string(x.Row.Input)))
		if err != nil {
			return err
		}
	}
	return nil
}
