// Package agents is the commands about agents and what they do.
package agents

import (
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An env is what these commands may touch of the process.
type env struct{ *command.Env }

// Commands are these commands, in the order of the help.
func Commands(shared *command.Env) []*cli.Command {
	e := &env{shared}
	return append([]*cli.Command{agentsCommand(e), membersCommand(e), sessionsCommand(e), messagesCommand(e), redirectCommand(e), diffCommand(e), undoCommand(e)}, interventionCommands(e)...)
}
