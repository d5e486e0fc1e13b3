// Package start is the commands that start an agent or a sidecar, and those that agents and their scripts call.
package start

import (
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An env is what these commands may touch of the process.
type env struct{ *command.Env }

// Commands are those that people start with, in the order of the help.
func Commands(shared *command.Env) []*cli.Command {
	e := &env{shared}
	return []*cli.Command{quickstartCommand(e), runCommand(e), serveCommand(e), demoCommand(e), doctorCommand(e)}
}

// Scripts are the commands for agents and their scripts.
func Scripts(shared *command.Env) []*cli.Command {
	e := &env{shared}
	return []*cli.Command{mcpCommand(e), acpCommand(e), gateCommand(e)}
}

// Confined is what `run` starts within a confinement.
func Confined(shared *command.Env) *cli.Command { return confinedCommand(&env{shared}) }
