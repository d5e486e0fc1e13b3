package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// version is the module's version as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// versionCommand prints the version.
func versionCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "version",
		UsageText: "holdgate version",
		Usage:     "print the version",
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.Bool("json") {
				return printJSON(e.stdout, map[string]string{"version": version()})
			}
			_, err := fmt.Fprintf(e.stdout, "holdgate %s\n", version())
			return err
		},
	}
}
