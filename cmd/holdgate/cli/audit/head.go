package audit

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func headCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "head",
		UsageText: "holdgate audit head > checkpoint.txt",
		Usage:     "print the log's signed checkpoint, to be kept elsewhere",
		Flags:     []cli.Flag{command.JSONFlag(), &cli.Uint64Flag{Name: "size", Usage: "of the first `N` entries (default: all)"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("audit head takes no arguments, got %q", c.Args().First())
			}
			return e.WithLog(c, func(l command.Log) error {
				h, err := l.Checkpoint(c.Context, c.Uint64("size"))
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return command.PrintJSON(e.Stdout, h)
				}
				if _, err := fmt.Fprint(e.Stdout, h.Checkpoint); err != nil {
					return err
				}
				return e.tellIntegrity(h)
			})
		},
	}
}

// tellIntegrity says on stderr what a signature is worth.
func (e *env) tellIntegrity(h api.SignedHead) error {
	text := "the agent is kept from the signing key"
	if h.Integrity != api.IntegrityApart {
		text = "local integrity only: an agent under your user account could read the signing key; keep this where it can't write"
	}
	_, err := fmt.Fprintln(e.Stderr, text)
	return err
}
