package policy

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func rollBackCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "rollback",
		UsageText: "holdgate policy rollback",
		Usage:     "put an earlier policy of those that were pushed in force again",
		ArgsUsage: "[ID]",
		Description: "Without an ID it is the one that was in use before; 0 is the shipped policy alone.\n" +
			"GET /v1/policy lists the others. It needs a running sidecar whose policy is pushed\n" +
			"rather than read from files, and the role admin.",
		Flags: []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return command.Usage("policy rollback takes one ID, got %q too", c.Args().Get(1))
			}
			var id *uint64
			if text := c.Args().First(); text != "" {
				n, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return command.Usage("%q is no ID of a policy: want a number, 0 for the shipped policy alone", text)
				}
				id = &n
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			p, err := sc.RollBackPolicy(c.Context, id)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, p)
			}
			name := "the shipped policy alone"
			if p.ID != 0 {
				name = p.Name
			}
			_, err = fmt.Fprintf(e.Stdout, "in force: %s, revision %s\n", holdgate.Visible(name), p.Revision)
			return err
		},
	}
}
