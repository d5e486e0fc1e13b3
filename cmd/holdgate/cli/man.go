package cli

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
)

// manCommand prints the manual page, for packages.
func manCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "__man", Hidden: true,
		Action: func(c *cli.Context) error {
			saidOnce(c.App.Commands)
			page, err := c.App.ToManWithSection(1)
			if err != nil {
				return fmt.Errorf("making the manual page: %w", err)
			}
			_, err = fmt.Fprint(e.Stdout, page)
			return err
		},
	}
}

// saidOnce takes the flags of every command out of the commands' own.
func saidOnce(list []*cli.Command) {
	for _, c := range list {
		c.Flags = slices.DeleteFunc(c.Flags, func(f cli.Flag) bool {
			return slices.ContainsFunc(globalFlags(), func(g cli.Flag) bool { return g.Names()[0] == f.Names()[0] })
		})
		saidOnce(c.Subcommands)
	}
}
