package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
)

// withLog opens the log for as long as fn runs.
func (e *env) withLog(c *cli.Context, fn func(auditLog) error) error {
	l, err := e.openLog(c)
	if err != nil {
		return err
	}
	return errors.Join(fn(l), l.Close())
}

func auditHeadCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "head",
		UsageText: "holdgate audit head > checkpoint.txt",
		Usage:     "print the log's signed checkpoint, to be kept elsewhere",
		Flags:     []cli.Flag{jsonFlag(), &cli.Uint64Flag{Name: "size", Usage: "of the first `N` entries (default: all)"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage("audit head takes no arguments, got %q", c.Args().First())
			}
			return e.withLog(c, func(l auditLog) error {
				h, err := l.Checkpoint(c.Context, c.Uint64("size"))
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return printJSON(e.stdout, h)
				}
				if _, err := fmt.Fprint(e.stdout, h.Checkpoint); err != nil {
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
	_, err := fmt.Fprintln(e.stderr, text)
	return err
}

func auditKeyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "key",
		UsageText: "holdgate audit key",
		Usage:     "print the public key of the checkpoints",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage("audit key takes no arguments, got %q", c.Args().First())
			}
			return e.withLog(c, func(l auditLog) error {
				h, err := l.Checkpoint(c.Context, 0)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(e.stdout, h.Key)
				return err
			})
		},
	}
}

func auditProveCommand(e *env) *cli.Command {
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
				return usage("audit prove takes the number of an entry, or --from with how many entries the earlier log has")
			case c.NArg() == 1 && (err != nil || seq == 0):
				return usage("%q is no number of an entry", c.Args().First())
			}
			return e.withLog(c, func(l auditLog) error {
				if c.NArg() == 0 {
					p, err := l.Consistency(c.Context, c.Uint64("from"), c.Uint64("to"))
					if err != nil {
						return err
					}
					return printJSON(e.stdout, p)
				}
				p, err := l.Inclusion(c.Context, seq, c.Uint64("to"))
				if err != nil {
					return err
				}
				return printJSON(e.stdout, p)
			})
		},
	}
}
