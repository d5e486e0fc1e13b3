package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

func replayCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "replay",
		UsageText: "holdgate policy replay --policy rules/ --since 7d",
		Usage:     "judge past calls by the policy on disk, and say what would change",
		Description: "Calls that can't be judged exactly, for the log does not have all of them, are\n" +
			"unknown. Works with and without a running sidecar.",
		Flags: []cli.Flag{
			policyFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "since", Usage: "calls since this `TIME`: 7d, 2h, or 2026-11-22", Value: "7d"},
			&cli.StringFlag{Name: "until", Usage: "calls before this `TIME`"},
		},
		Action: func(c *cli.Context) error {
			q, err := command.Replayed(c, "policy replay")
			if err != nil {
				return err
			}
			var r learn.Replay
			err = e.withLearning(c, q, func(engine *rego.Engine, log learn.Log, own rego.Own) (err error) {
				r, err = learn.Run(c.Context, engine, log, own)
				return err
			})
			return e.replayed(r, err, c.Bool("json"))
		},
	}
}

// replayed prints what a replay came to: one that was interrupted, what it came to so far.
func (e *env) replayed(r learn.Replay, err error, asJSON bool) error {
	if err != nil {
		if !errors.Is(err, context.Canceled) || r.Calls == 0 {
			return err
		}
		err = &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("interrupted: this is of the first %d calls, and what follows was not judged", r.Calls)}
	}
	switch {
	case asJSON:
		return errors.Join(err, command.PrintJSON(e.Stdout, r))
	case r.Calls == 0:
		return &command.Exit{Code: command.ExitNothing, Text: "the log has no call of that time", Hint: "--since 30d looks further back"}
	}
	return errors.Join(err, writeReplay(e.Stdout, r))
}

// withLearning calls fn with the policy on disk and the entries that q selects.
func (e *env) withLearning(c *cli.Context, q audit.Query, fn func(*rego.Engine, learn.Log, rego.Own) error) error {
	engine, own, err := e.learningEngine(c)
	if err != nil {
		return err
	}
	defer engine.Close(c.Context)
	return e.WithLog(c, func(l command.Log) error {
		p := e.Progress("entries read")
		defer p.Done()
		return fn(engine, func(_ context.Context, take func(audit.Entry) error) error {
			return command.Each(c, l, q, func(n audit.Entry) error {
				p.Add(1)
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
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", row.Calls, row.Was, row.Now, command.Dash(row.WasRule), command.Dash(row.NowRule))
	}
	for _, u := range r.Unknowns {
		fmt.Fprintf(t, "%d\t-\tunknown\t%s\n", u.Calls, holdgate.Visible(u.Why))
	}
	return t.Flush()
}
