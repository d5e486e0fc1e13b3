package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/plugins"
)

func pluginCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "plugin",
		Usage: "channels to people",
		Subcommands: []*cli.Command{{
			Name:        "serve",
			Usage:       "serve a channel that is built in; the sidecar starts it",
			ArgsUsage:   "NAME",
			Description: "Built in: " + strings.Join(plugins.Names(), ", ") + ".",
			Action:      e.servePlugin,
		}},
	}
}

func (e *env) servePlugin(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("plugin serve takes the name of one channel: %s", strings.Join(plugins.Names(), " or "))
	}
	if err := plugins.Serve(c.Args().First()); err != nil {
		return usage("%v", err)
	}
	return nil
}
