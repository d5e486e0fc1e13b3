// Package policy is the commands about rules.
package policy

import (
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An env is what these commands may touch of the process.
type env struct{ *command.Env }

// Commands are these commands.
func Commands(shared *command.Env) []*cli.Command {
	return []*cli.Command{policyCommand(&env{shared})}
}
