// Package setup is the commands that set a sidecar up and say how it is.
package setup

import (
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An env is what these commands may touch of the process.
type env struct{ *command.Env }

// Commands are the commands that set a sidecar up, in the order of the help.
func Commands(shared *command.Env) []*cli.Command {
	e := &env{shared}
	return []*cli.Command{initCommand(e), configCommand(e), peopleCommand(e), pluginCommand(e), netfilterCommand(e), hookCommand(e), injectCommand(e), storeCommand(e)}
}

// Status says how a sidecar is.
func Status(shared *command.Env) *cli.Command { return statusCommand(&env{shared}) }
