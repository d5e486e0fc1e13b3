package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// versionCommand prints the version, and what the program was built from.
func versionCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "version",
		UsageText: "holdgate version",
		Usage:     "print the version, the commit and its date",
		Flags:     []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			b := command.ThisBuild()
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, b)
			}
			_, err := fmt.Fprint(e.Stdout, versionText(b))
			return err
		},
	}
}

// versionText leaves out what the build did not record.
func versionText(b command.Build) string {
	text := "holdgate " + b.Version + "\n"
	if b.Commit != "" {
		text += "commit: " + b.Commit
		if b.Modified {
			text += ", with changes that are not committed"
		}
		text += "\n"
	}
	if b.Date != "" {
		text += "date: " + b.Date + "\n"
	}
	return text + "built with " + b.Go + " for " + b.Platform + "\n"
}
