package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/bench"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func benchCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		UsageText: "holdgate bench --only \"4 KB, 16\"",
		Usage:     "measure on this machine what Holdgate costs",
		Description: "Runs the same requests straight to an upstream, through goproxy (its transport tuned) and\n" +
			"through Holdgate with its shipped settings and policy, all on loopback, in turns.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.IntFlag{Name: "rounds", Usage: "count `N` rounds", Value: 5},
			&cli.DurationFlag{Name: "time", Usage: "load each target for `DURATION` a round", Value: bench.DefaultDuration},
			&cli.StringFlag{Name: "only", Usage: "only scenarios whose name contains `TEXT`, such as \"4 KB, 16\"; a number in it is whole"},
			&cli.IntFlag{Name: "held", Usage: "measure `N` calls that are held at once instead, and the memory that they take (Linux)"},
			&cli.IntFlag{Name: "startup", Usage: "measure instead what run adds to a command's start, each way `N` times"},
			&cli.StringFlag{Name: "postgres", Usage: "keep the sidecar's state in the empty database at `URL`"},
			&cli.StringFlag{Name: "peer", Hidden: true},
		},
		Action: func(c *cli.Context) error { return e.bench(c) },
	}
}

func (e *env) bench(c *cli.Context) error {
	if role := c.String("peer"); role != "" {
		return bench.Peer(c.Context, role, e.Stdin, e.Stdout)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if n := c.Int("startup"); n > 0 {
		results, err := bench.RunStartup(c.Context, exe, n)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return command.PrintJSON(e.Stdout, results)
		}
		return bench.ReportStartup(e.Stdout, results)
	}
	if n := c.Int("held"); n > 0 {
		h, err := bench.RunHeld(c.Context, exe, n, c.String("postgres"), e.Stderr)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return command.PrintJSON(e.Stdout, h)
		}
		return bench.ReportHeld(e.Stdout, h)
	}
	p := e.Progress("")
	results, err := bench.Run(c.Context, bench.Options{
		Rounds: c.Int("rounds"), Duration: c.Duration("time"), Only: c.String("only"), Progress: p.Show, Notes: e.Stderr, Executable: exe, Postgres: c.String("postgres"),
	})
	p.Done()
	if err != nil && len(results) == 0 {
		return err
	}
	if c.Bool("json") {
		return errors.Join(err, command.PrintJSON(e.Stdout, results))
	}
	return errors.Join(err, bench.Report(e.Stdout, results))
}
