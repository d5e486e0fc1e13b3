package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

// An env is what a command may touch of the process.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// host is this process as the home of a sidecar.
func (e *env) host() run.Host { return run.Host{Version: version(), Getenv: e.getenv} }

// commands is the table of all commands.
func commands(e *env) []*cli.Command {
	return finished(slices.Concat(
		in(groupStart, runCommand(e), serveCommand(e), demoCommand(e), doctorCommand(e)),
		in(groupAnswer, watchCommand(e), pendingCommand(e), showCommand(e), openCommand(e), approveCommand(e), denyCommand(e),
			steerCommand(e), chooseCommand(e), editCommand(e), claimCommand(e), delegateCommand(e),
			deferCommand(e), grantsCommand(e)),
		in(groupAgents, agentsCommand(e), sessionsCommand(e), messagesCommand(e), redirectCommand(e), diffCommand(e), undoCommand(e)),
		in(groupAgents, interventionCommands(e)...),
		in(groupRules, policyCommand(e), auditCommand(e), statsCommand(e), statusCommand(e)),
		in(groupSetup, initCommand(e), configCommand(e), peopleCommand(e), pluginCommand(e), netfilterCommand(e), completionCommand(e)),
		in(groupScripts, mcpCommand(e), gateCommand(e)),
		in(groupOthers, benchCommand(e), versionCommand(e), confinedCommand(e), completeCommand(e)),
	))
}

// globalFlags are understood before a command and after it.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "state-dir", Usage: "the sidecar's state `FOLDER` (environment: " + config.EnvStateDir + ")"},
		&cli.StringFlag{Name: "config", Usage: "the configuration `FILE`, \"\" for none (environment: " + config.EnvConfig + "; else ~/.config/holdgate/holdgate.yaml)"},
		&cli.StringFlag{Name: "token-file", Usage: "act as the person whose token `FILE` holds (environment: " + envTokenFile + ")"},
	}
}

// envTokenFile names the file of a person's token.
const envTokenFile = "HOLDGATE_TOKEN_FILE"

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
		c.Action = hinted(c.Action)
	}
	return list
}

// group is what a command does that has only subcommands.
func group(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		x := usage("unknown command %q", strings.TrimSpace(c.Command.HelpName+" "+name))
		var known []string
		for _, sub := range c.Command.Subcommands {
			known = append(known, sub.Name)
		}
		if near := holdgate.Closest(name, known); near != "" {
			x.text += fmt.Sprintf(": did you mean %q?", near)
		}
		return x
	}
	if err := cli.ShowSubcommandHelp(c); err != nil {
		return err
	}
	return usage("a command is missing")
}

// usageFault makes a usage error of what the flag parser found.
func usageFault(c *cli.Context, err error, _ bool) error {
	name := "holdgate"
	if c.Command != nil && c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	text := strings.NewReplacer("flag provided but not defined: -", "unknown flag --",
		"flag needs an argument: -", "flag needs an argument: --", " for flag -", " for flag --").Replace(err.Error())
	x := usage("%s: %s", name, text)
	if flag, unknown := strings.CutPrefix(text, "unknown flag --"); unknown {
		if near := holdgate.Closest(flag, flagNames(c)); near != "" {
			x.text += fmt.Sprintf(": did you mean --%s?", near)
		}
	}
	x.hint = name + " --help says what it takes"
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

// flagValue is a global flag's value, wherever on the command line it stands:
// the one nearest to the command's arguments wins.
func flagValue(c *cli.Context, name string) string {
	for _, l := range c.Lineage() {
		if l.IsSet(name) {
			return l.String(name)
		}
	}
	return ""
}

// again is what a command that is suggested needs to find the same sidecar as
// the same person: the global flags that this one was given, each after a blank.
// A path is absolute, for the command may be run in another folder.
func again(c *cli.Context) string {
	var b strings.Builder
	for _, name := range []string{"state-dir", "config", "token-file"} {
		if slices.ContainsFunc(c.Lineage(), func(l *cli.Context) bool { return l.IsSet(name) }) {
			b.WriteString(" --" + name + " " + shellWord(absolute(flagValue(c, name))))
		}
	}
	return b.String()
}

// absolute is the path from any folder. An empty one names nothing, and stays.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// shellWord is s as one word of a POSIX shell.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("@%+=:,./-_", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// commandLine is a command of holdgate as a person can type it.
func commandLine(words []string) string {
	line := "holdgate"
	for _, w := range words {
		line += " " + shellWord(w)
	}
	return line
}

// globals are the global flags that say where settings come from. An empty
// --config is one that names no file.
func globals(c *cli.Context) config.Flags {
	named := slices.ContainsFunc(c.Lineage(), func(l *cli.Context) bool { return l.IsSet("config") })
	file := flagValue(c, "config")
	return config.Flags{Config: file, NoFile: named && file == "", StateDir: flagValue(c, "state-dir")}
}

// settings loads the configuration as far as every command needs it.
func (e *env) settings(c *cli.Context) (config.Config, error) {
	s, err := config.Load(globals(c), e.getenv)
	if err != nil {
		return config.Config{}, configFault(err)
	}
	return s, nil
}

var fileAndLine = regexp.MustCompile(`^\S+:[0-9]+: `)

// configFault leads with the file and the line of what is wrong, where it has one.
func configFault(err error) error {
	if fileAndLine.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("configuration: %w", err)
}

// sidecar returns a client for the sidecar of the state folder. Close it.
func (e *env) sidecar(c *cli.Context) (*client.Client, error) {
	s, err := e.settings(c)
	if err != nil {
		return nil, err
	}
	return client.New(e.door(c, s.StateDir))
}

// door says where the sidecar of a state folder is, and as whom to come.
func (e *env) door(c *cli.Context, stateDir string) client.Options {
	o := client.Options{StateDir: stateDir, TokenFile: flagValue(c, "token-file"), Channel: "cli"}
	if o.TokenFile == "" {
		o.TokenFile = e.getenv(envTokenFile)
	}
	return o
}
