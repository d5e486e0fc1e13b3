package audit

import "github.com/urfave/cli/v2"

// auditCommand reads the audit log, with a running sidecar and without one.
func auditCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "read and verify the log of all decisions",
		Subcommands: []*cli.Command{
			queryCommand(e),
			headCommand(e),
			keyCommand(e),
			proveCommand(e),
			verifyCommand(e),
			exportCommand(e),
		},
	}
}
