package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// versionCommand prints the version.
func versionCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "version",
		UsageText: "holdgate version",
		Usage:     "print the version",
		Flags:     []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, map[string]string{"version": command.Version()})
			}
			_, err := fmt.Fprintf(e.Stdout, "holdgate %s\n", command.Version())
			return err
		},
	}
}
