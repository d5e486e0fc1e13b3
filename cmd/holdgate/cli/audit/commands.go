// Package audit is the commands that read the audit log.
package audit

import (
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An env is what these commands may touch of the process.
type env struct{ *command.Env }

// Commands are these commands, in the order of the help.
func Commands(shared *command.Env) []*cli.Command {
	e := &env{shared}
	return []*cli.Command{auditCommand(e), statsCommand(e)}
}
