// Package decide is the commands with which a person answers what waits.
package decide

import (
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An env is what these commands may touch of the process.
type env struct{ *command.Env }

// Commands are these commands, in the order of the help.
func Commands(shared *command.Env) []*cli.Command {
	e := &env{shared}
	return []*cli.Command{
		watchCommand(e), pendingCommand(e), showCommand(e), openCommand(e), approveCommand(e), denyCommand(e), steerCommand(e),
		chooseCommand(e), editCommand(e), claimCommand(e), delegateCommand(e), deferCommand(e), grantsCommand(e),
	}
}
