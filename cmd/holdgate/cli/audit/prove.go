package audit

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func proveCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "prove",
		UsageText: "holdgate audit prove 17",
		Usage:     "prove that an entry is in the log, or that the log only grew",
		ArgsUsage: "[SEQ]",
		Description: "With SEQ, the proof that this entry is in the log of the checkpoint that comes with it. With --from, that the\n" +
			"log begins with what an earlier checkpoint states. Either is JSON, for audit verify --proof.",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "from", Usage: "the earlier log has `N` entries"},
			&cli.Uint64Flag{Name: "to", Usage: "prove against the log of `N` entries (default: all)"},
			&cli.BoolFlag{Name: "json", Usage: "the same: a proof is always JSON"},
		},
		Action: func(c *cli.Context) error {
			seq, err := strconv.ParseUint(c.Args().First(), 10, 63)
			switch {
			case c.NArg() > 1, c.NArg() == 1 && c.IsSet("from"), c.NArg() == 0 && c.Uint64("from") == 0:
				return command.Usage("audit prove takes the number of an entry, or --from with how many entries the earlier log has")
			case c.NArg() == 1 && (err != nil || seq == 0):
				return command.Usage("%q is no number of an entry", c.Args().First())
			}
			return e.WithLog(c, func(l command.Log) error {
				if c.NArg() == 0 {
					p, err := l.Consistency(c.Context, c.Uint64("from"), c.Uint64("to"))
					if err != nil {
						return err
					}
					return command.PrintJSON(e.Stdout, p)
				}
				p, err := l.Inclusion(c.Context, seq, c.Uint64("to"))
				if err != nil {
					return err
				}
				return command.PrintJSON(e.Stdout, p)
			})
		},
	}
}
