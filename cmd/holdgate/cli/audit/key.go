package audit

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func keyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "key",
		UsageText: "holdgate audit key",
		Usage:     "print the public key of the checkpoints",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("audit key takes no arguments, got %q", c.Args().First())
			}
			return e.WithLog(c, func(l command.Log) error {
				h, err := l.Checkpoint(c.Context, 0)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(e.Stdout, h.Key)
				return err
			})
		},
	}
}
