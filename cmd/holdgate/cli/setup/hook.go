package setup

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/hook"
	"github.com/holdgate/holdgate/cmd/holdgate/hook/install"
	agenthook "github.com/holdgate/holdgate/proxy/hook"
)

func hookCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "hook",
		UsageText: "holdgate hook claude install",
		Usage:     "have a coding agent ask Holdgate before each tool call",
		ArgsUsage: "AGENT install|uninstall|status",
		Description: "AGENT is one of " + strings.Join(agenthook.Names(), ", ") + ". install puts a hook into the agent's settings,\n" +
			"which asks at the agents' door and needs holdgate serve to run. A call is refused where the\n" +
			"sidecar cannot be reached. What an agent does when its hook fails is printed:\n" +
			"a hook is the agent's own word, and no sandbox.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "wait", Usage: "how long the agent waits for people before it is told to ask again", Value: 10 * time.Minute},
			&cli.StringFlag{Name: "fail", Usage: "`closed`, or open: calls go on where the sidecar cannot be reached, and are counted in its log later", Value: "closed"},
			&cli.StringFlag{Name: "agents", Usage: "the agents' door, as `HOST:PORT` (else " + hook.EnvAgents + ", or " + hook.DefaultDoor + ")"},
			&cli.BoolFlag{Name: "project", Usage: "change the settings of the project in the working folder, in the place of yours"},
			command.JSONFlag(),
		},
		Subcommands: []*cli.Command{{
			Name:      "run",
			UsageText: "holdgate hook run claude",
			Usage:     "what an agent starts before a tool call and at other events; it reads the event on standard input",
			ArgsUsage: "AGENT",
			Flags: []cli.Flag{
				&cli.DurationFlag{Name: "wait", Usage: "how long people are waited for", Value: 10 * time.Minute},
				&cli.StringFlag{Name: "fail", Usage: "`closed` or open", Value: "closed"},
				&cli.StringFlag{Name: "agents", Usage: "the agents' door, as `HOST:PORT`"},
				&cli.StringFlag{Name: "key", Usage: "the `FILE` of the key by which the sidecar proves itself: hook.key of its state folder"},
			},
			Action: func(c *cli.Context) error { // for what the program's start has not taken up by itself
				args := append(c.Args().Slice(), "--wait", c.Duration("wait").String(), "--fail", c.String("fail"))
				if c.IsSet("agents") {
					args = append(args, "--agents", c.String("agents"))
				}
				if c.IsSet("key") {
					args = append(args, "--key", c.String("key"))
				}
				if code := hook.Run(args, e.Stdin, e.Stdout, e.Stderr, e.Getenv); code != command.ExitDone {
					return &command.Exit{Code: code}
				}
				return nil
			},
		}},
		Action: e.hook,
	}
}

// hook changes an agent's settings, or says what they are.
func (e *env) hook(c *cli.Context) error {
	if c.NArg() != 2 {
		return command.Usage("hook takes an agent and what to do: holdgate hook claude install")
	}
	agent, known := agenthook.Find(c.Args().First())
	if !known {
		return command.Usage("no hooks of %q are known: want %s", c.Args().First(), strings.Join(agenthook.Names(), ", "))
	}
	o, err := e.hookOptions(c, agent)
	if err != nil {
		return err
	}
	var found install.Found
	switch what := c.Args().Get(1); what {
	case "install":
		found, err = o.Install()
	case "uninstall":
		found, err = o.Uninstall()
	case "status":
		found, err = o.Status()
	default:
		return command.Usage("hook %s %q: want install, uninstall or status", agent.Name, what)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = command.PrintJSON(e.Stdout, found)
	} else {
		_, err = fmt.Fprint(e.Stdout, hookText(found))
	}
	if err == nil && !found.Installed && c.Args().Get(1) == "status" {
		err = &command.Exit{Code: command.ExitNothing}
	}
	return err
}

func (e *env) hookOptions(c *cli.Context, agent agenthook.Agent) (o install.Options, err error) {
	o = install.Options{Agent: agent, Home: e.Getenv("HOME"), Getenv: e.Getenv, Door: c.String("agents"), Wait: c.Duration("wait"), FailOpen: c.String("fail") == "open"}
	if f := c.String("fail"); f != "open" && f != "closed" {
		return o, command.Usage("--fail is open or closed, not %q", f)
	}
	if o.Door != "" {
		host, port, err := net.SplitHostPort(o.Door)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
			return o, command.Usage("--agents %q: want the agents' door as HOST:PORT, such as %s", o.Door, hook.DefaultDoor)
		}
	}
	if o.Wait < time.Second {
		return o, command.Usage("--wait must be a second at least")
	}
	if !c.IsSet("wait") {
		o.Wait = min(o.Wait, agent.Wait)
	}
	if o.Program, err = os.Executable(); err == nil && c.Bool("project") {
		o.Project, err = filepath.Abs(".")
	}
	if err == nil && o.Home == "" {
		o.Home, err = os.UserHomeDir()
	}
	if err != nil || c.Args().Get(1) != "install" {
		return o, err
	}
	s, err := e.Settings(c)
	if err != nil {
		return o, err
	}
	o.Key, err = app.HookKeyFile(s.StateDir)
	return o, err
}

// hookText is what is found, for people.
func hookText(f install.Found) string {
	var b strings.Builder
	state := "is not installed"
	if f.Installed {
		state = "is installed"
	}
	fmt.Fprintf(&b, "the hook of %s %s: %s\n", f.Agent, state, holdgate.Visible(f.File))
	if !f.Installed {
		return b.String()
	}
	if f.Command != "" {
		fmt.Fprintf(&b, "it runs: %s\n", holdgate.Visible(f.Command))
	}
	for _, e := range f.Events {
		state := "installed"
		if !e.Installed {
			state = "not installed"
		}
		fmt.Fprintf(&b, "  %-20s %-13s  %s\n", e.Name, state, e.Purpose)
	}
	if !f.Complete() {
		fmt.Fprintf(&b, "it is incomplete: holdgate hook %s install puts in what is missing\n", f.Agent)
	}
	if !f.Proves {
		b.WriteString("it believes whatever answers there: install it again, and the sidecar has to prove itself\n")
	}
	fmt.Fprintf(&b, "%s runs a call all the same where:\n", f.Agent)
	for _, g := range f.GoesOn {
		fmt.Fprintf(&b, "  - %s\n", g)
	}
	return b.String()
}
