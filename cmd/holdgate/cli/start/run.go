package start

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

// host is this process as the home of a sidecar.
func (e *env) host() run.Host { return run.Host{Version: command.Version(), Getenv: e.Getenv} }

func runCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "run",
		UsageText: "holdgate run -- claude",
		Usage:     "run an agent behind Holdgate, and be asked in the same terminal",
		ArgsUsage: "-- CMD ARGS",
		Description: "Uses the sidecar of the state folder, or starts one for as long as CMD runs.\n" +
			"Variables of its environment lead CMD to Holdgate, and a sandbox of the kernel\n" +
			"keeps it from going around. Whatever CMD connects to goes through Holdgate. It\n" +
			"writes in the working folder alone, and sees no files of Holdgate's own.\n" +
			"holdgate doctor says whether this machine can do that. The exit code is CMD's.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "confine", Usage: "how CMD is confined: `strong`, or weak, which leaves more open", Value: confine.Strong},
			&cli.BoolFlag{Name: "unconfined", Usage: "run CMD without any confinement"},
			&cli.StringSliceFlag{Name: "write", Usage: "let CMD write at `PATH`, besides the working folder; may be repeated"},
			&cli.BoolFlag{Name: "undo", Usage: "keep what CMD changes in the working folder, so that holdgate undo can take it back"},
			&cli.BoolFlag{Name: "private", Usage: "caches and settings that CMD changes are gone when it ends, and credentials are hidden from it; --undo does that too, unless --private=false"},
			&cli.StringSliceFlag{Name: "keep", Usage: "of what is private, keep what CMD makes and changes at `PATH`; may be repeated"},
			&cli.StringSliceFlag{Name: "show", Usage: "let CMD read the credentials at `PATH`; may be repeated"},
			&cli.BoolFlag{Name: "base-url", Usage: "set the variables for the providers' addresses too (ANTHROPIC_BASE_URL, OPENAI_BASE_URL)"},
			&cli.StringFlag{Name: "policy", Usage: "rules of your own: a `FILE, FOLDER or BUNDLE`"},
			&cli.BoolFlag{Name: "trust-writable-policy", Usage: "take rules, configuration and plugins that lie in CMD's working folder"},
			&cli.StringSliceFlag{Name: "upstream", Usage: "a model provider, as `NAME=URL`; may be repeated"},
			&cli.StringSliceFlag{Name: "mcp", Usage: "an MCP server, as `NAME=URL`; may be repeated"},
			&cli.StringFlag{Name: "mode", Usage: "sessions begin in `MODE`: auto, manual or confidence_threshold"},
			&cli.Float64Flag{Name: "confidence-threshold", Usage: "ask about each call below it: from 0 to 1, or from 0 to 100"},
			&cli.StringFlag{Name: "ask", Usage: "`WHERE` you are asked: here, or split, which opens holdgate watch in a split of tmux, kitty, wezterm or zellij", Value: "here"},
			&cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: "ask before the first change, before changes are tested, and before each commit"},
		},
		Action: func(c *cli.Context) error { return e.runAgent(c) },
	}
}

// aboutASidecar are the flags that are of a sidecar which run starts.
var aboutASidecar = []string{"policy", "upstream", "mcp", "mode", "confidence-threshold", "interactive"}

// runAgent checks the command line and runs the agent.
func (e *env) runAgent(c *cli.Context) error {
	if !c.Args().Present() {
		return command.Usage("run needs a command: holdgate run -- CMD ARGS")
	}
	kind, err := confinementOf(c)
	if err != nil {
		return err
	}
	for _, flag := range []string{"undo", "private"} {
		if c.Bool(flag) && kind != confine.Strong {
			return command.Usage("--%s needs the strong confinement: without it the agent could change files unseen", flag)
		}
	}
	switch ask := c.String("ask"); ask {
	case "here":
	case "split":
		if err := run.CanSplit(e.Getenv); err != nil {
			return err
		}
	default:
		return command.Usage("--ask is here or split, not %q", ask)
	}
	program, err := exec.LookPath(c.Args().First())
	if err != nil {
		return command.Usage("%s cannot be run: %v", c.Args().First(), errors.Unwrap(err))
	}
	f, err := e.files()
	if err != nil {
		return err
	}
	read := func() (config.Config, error) {
		s, err := e.serveSettings(c)
		if err == nil {
			err = beginAs(c, &s)
		}
		return s, err
	}
	s, err := read()
	if err != nil {
		return err
	}
	contained := containment(c, s, kind)
	var alone []string
	for _, flag := range aboutASidecar {
		if c.IsSet(flag) {
			alone = append(alone, flag)
		}
	}
	code, err := run.Agent(context.WithoutCancel(c.Context), c.Context, run.Options{ // signals are the agent's; its end is ours
		Host: e.host(), Program: program, Args: c.Args().Tail(), Confinement: kind, Config: s, Read: read, Watched: e.watchedFile(s, command.Globals(c)),
		Write: c.StringSlice("write"), BaseURL: c.Bool("base-url"), Trust: c.Bool("trust-writable-policy"), Contained: contained, Door: e.Door(c, s.StateDir), Alone: alone, Split: c.String("ask") == "split",
		Stdin: f.in, Stdout: f.out, Stderr: f.err,
		Command: func(words ...string) string {
			return command.CommandLine(append(words, e.Elsewhere(s.StateDir)...))
		},
	})
	if err == nil && code != 0 {
		err = &command.Exit{Code: code}
	}
	return err
}

// containment is what the flags and the configuration say of what the agent
// changes and reads. The configuration asks nothing of another confinement than
// the strong one.
func containment(c *cli.Context, s config.Config, kind string) run.Contained {
	o := run.Contained{Keep: append(c.StringSlice("keep"), s.Run.Keep...), Show: append(c.StringSlice("show"), s.Run.Show...), Later: s.Run.Later}
	if kind != confine.Strong {
		return o
	}
	o.Undo = s.Run.Undo
	if c.IsSet("undo") {
		o.Undo = c.Bool("undo")
	}
	o.Private = o.Undo
	if s.Run.Private != nil {
		o.Private, o.Demanded = *s.Run.Private, *s.Run.Private
	}
	if c.IsSet("private") {
		o.Private, o.Demanded = c.Bool("private"), c.Bool("private")
	}
	return o
}

// beginAs takes over what the command line says of how sessions begin, and at
// which gates they stop.
func beginAs(c *cli.Context, s *config.Config) error {
	m, err := command.SessionMode(c)
	if err != nil {
		return err
	}
	if m.Mode != "" {
		s.Sessions = config.Sessions{Mode: string(m.Mode), Threshold: m.Threshold}
	}
	if !c.Bool("interactive") {
		return nil
	}
	s.Gates = maps.Clone(s.Gates)
	yes := true
	for _, name := range []string{"before_implement", "after_implement", "before_commit"} {
		g := s.Gates[name]
		g.Enabled = &yes
		s.Gates[name] = g
	}
	return nil
}

// streams are the standard streams as files: an agent gets them as they are.
type streams struct{ in, out, err *os.File }

func (e *env) files() (streams, error) {
	in, inOK := e.Stdin.(*os.File)
	out, outOK := e.Stdout.(*os.File)
	errs, errOK := e.Stderr.(*os.File)
	if !inOK || !outOK || !errOK {
		return streams{}, errors.New("run needs standard streams that are files")
	}
	return streams{in, out, errs}, nil
}

// confinedCommand is the process inside a confinement. People have no use for it.
func confinedCommand(*env) *cli.Command {
	return &cli.Command{
		Name: confine.Command, Hidden: true,
		Action: func(c *cli.Context) error {
			code, err := confine.Init(c.Args().Slice())
			if err != nil {
				return &command.Exit{Code: command.ExitFailed, Text: err.Error()}
			}
			return &command.Exit{Code: code}
		},
	}
}

// confinementOf is how the command line wants the agent confined.
func confinementOf(c *cli.Context) (string, error) {
	kind := c.String("confine")
	switch {
	case c.Bool("unconfined") && c.IsSet("confine"):
		return "", command.Usage("--confine and --unconfined contradict each other")
	case c.Bool("unconfined"):
		return confine.Unconfined, nil
	case kind != confine.Strong && kind != confine.Weak:
		return "", command.Usage("--confine takes strong or weak, got %q", kind)
	}
	return kind, nil
}
