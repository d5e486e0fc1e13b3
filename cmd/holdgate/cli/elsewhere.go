package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// unixOnly are the commands that run a sidecar or confine an agent. They rest on what Windows has not: modes that keep
// other users out of the state folder, sockets that pass files, groups of processes.
var unixOnly = []string{"serve", "run", "quickstart", "demo", "mcp", "acp", "bench", "netfilter", "diff", "undo"}

// elsewhere makes commands say that they are not there on Windows. The others are clients of a sidecar.
func elsewhere(goos string, list []*cli.Command) []*cli.Command {
	if goos != "windows" {
		return list
	}
	for _, c := range list {
		if !slices.Contains(unixOnly, c.Name) {
			continue
		}
		name := c.Name
		c.Usage += " (not on Windows)"
		c.Subcommands = nil
		c.SkipFlagParsing = true
		c.Action = func(*cli.Context) error {
			return &command.Exit{Code: command.ExitFailed, Text: "holdgate " + name + " is not there on Windows",
				Hint: "run it in WSL 2; here, HOLDGATE_URL=http://127.0.0.1:7301 and --token-file lead the other commands to that sidecar"}
		}
	}
	return list
}
