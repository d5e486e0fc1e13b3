package cli

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/agents"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/audit"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/decide"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/policy"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/setup"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/start"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// An env is what a command may touch of the process.
type env struct{ *command.Env }

// commands is the table of all commands.
func commands(e *env) []*cli.Command {
	return finished(elsewhere(runtime.GOOS, slices.Concat(
		in(groupStart, start.Commands(e.Env)),
		in(groupAnswer, decide.Commands(e.Env)),
		in(groupAgents, agents.Commands(e.Env)),
		in(groupRules, slices.Concat(policy.Commands(e.Env), audit.Commands(e.Env), []*cli.Command{setup.Status(e.Env)})),
		in(groupSetup, append(setup.Commands(e.Env), completionCommand(e))),
		in(groupScripts, start.Scripts(e.Env)),
		in(groupOthers, []*cli.Command{benchCommand(e), versionCommand(e), start.Confined(e.Env), completeCommand(e), manCommand(e)}),
	)))
}

// globalFlags are understood before a command and after it.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "state-dir", Usage: "the sidecar's state `FOLDER` (environment: " + config.EnvStateDir + ")"},
		&cli.StringFlag{Name: "config", Usage: "the configuration `FILE`, \"\" for none (environment: " + config.EnvConfig + "; else ~/.config/holdgate/holdgate.yaml)"},
		&cli.StringFlag{Name: "token-file", Usage: "act as the person whose token `FILE` holds (environment: " + command.EnvTokenFile + ")"},
	}
}

// finished gives every command what all of them have.
func finished(list []*cli.Command) []*cli.Command {
	for _, c := range list {
		c.OnUsageError = usageFault
		c.HideHelpCommand = true
		c.Flags = append(c.Flags, globalFlags()...)
		if len(c.Subcommands) > 0 {
			if c.Action == nil {
				c.Action = group
			}
			if find(c.Subcommands, []string{listName}) != nil && c.Description == "" {
				c.Description = "Without a COMMAND it lists."
			}
			finished(c.Subcommands)
		}
		c.Action = command.Hinted(c.Action)
	}
	return list
}

// group is what a command does that has only subcommands.
func group(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		x := command.Usage("unknown command %q", strings.TrimSpace(c.Command.HelpName+" "+name))
		var known []string
		for _, sub := range c.Command.Subcommands {
			known = append(known, sub.Name)
		}
		if near := holdgate.Closest(name, known); near != "" {
			x.Text += fmt.Sprintf(": did you mean %q?", near)
		}
		return x
	}
	if err := cli.ShowSubcommandHelp(c); err != nil {
		return err
	}
	return command.Usage("a command is missing")
}

// usageFault makes a usage error of what the flag parser found.
func usageFault(c *cli.Context, err error, _ bool) error {
	name := "holdgate"
	if c.Command != nil && c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	text := strings.NewReplacer("flag provided but not defined: -", "unknown flag --",
		"flag needs an argument: -", "flag needs an argument: --", " for flag -", " for flag --").Replace(err.Error())
	x := command.Usage("%s: %s", name, text)
	if flag, unknown := strings.CutPrefix(text, "unknown flag --"); unknown {
		if near := holdgate.Closest(flag, flagNames(c)); near != "" {
			x.Text += fmt.Sprintf(": did you mean --%s?", near)
		}
	}
	x.Hint = name + " --help says what it takes"
	return x
}

// flagNames are the names of the flags that are shown of a command.
func flagNames(c *cli.Context) (names []string) {
	flags := globalFlags()
	if c.Command != nil {
		flags = append(flags, c.Command.Flags...)
	}
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
			names = append(names, f.Names()[0])
		}
	}
	return names
}
