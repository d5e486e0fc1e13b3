package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

func runCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run an agent behind Holdgate, and be asked in the same terminal",
		ArgsUsage: "-- CMD ARGS",
		Description: "Uses the sidecar of the state folder, or starts one for as long as CMD runs.\n" +
			"CMD is led to it by variables of its environment. It is not confined: this\n" +
			"build cannot do that, so that --unconfined is needed. The exit code is CMD's.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "unconfined", Usage: "run CMD without any confinement"},
			&cli.BoolFlag{Name: "base-url", Usage: "set the variables for the providers' addresses too (ANTHROPIC_BASE_URL, OPENAI_BASE_URL)"},
			&cli.StringFlag{Name: "policy", Usage: "rules of your own: a `FILE, FOLDER or BUNDLE`"},
			&cli.BoolFlag{Name: "trust-writable-policy", Usage: "take rules, configuration and plugins that lie in CMD's working folder"},
			&cli.StringSliceFlag{Name: "upstream", Usage: "a model provider, as `NAME=URL`; may be repeated"},
			&cli.StringSliceFlag{Name: "mcp", Usage: "an MCP server, as `NAME=URL`; may be repeated"},
		},
		Action: func(c *cli.Context) error { return e.runAgent(c) },
	}
}

// runAgent checks the command line, finds or starts a sidecar, and runs the
// agent behind it.
func (e *env) runAgent(c *cli.Context) (err error) {
	if !c.Args().Present() {
		return usage("run needs a command: holdgate run --unconfined -- CMD ARGS")
	}
	if !c.Bool("unconfined") {
		return &exitError{code: exitUsage,
			text: "this build cannot confine an agent: there is no confinement yet, so run needs --unconfined\n" +
				"--unconfined runs the agent without any: it can reach the network and the approvers' door around Holdgate",
			hint: "holdgate run --unconfined -- " + strings.Join(c.Args().Slice(), " ")}
	}
	program, err := exec.LookPath(c.Args().First())
	if err != nil {
		return usage("%s cannot be run: %v", c.Args().First(), errors.Unwrap(err))
	}
	files, err := e.files()
	if err != nil {
		return err
	}
	s, err := e.serveSettings(c)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stderr, "warning: the agent runs UNCONFINED: it can reach the network and the approvers' door around Holdgate")
	if note := launch.Note(program); note != "" {
		fmt.Fprintln(e.stderr, "note: "+note)
	}
	ctx := context.WithoutCancel(c.Context) // signals are the agent's; its end is ours
	stop, err := e.ensureSidecar(ctx, c, s, files, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	code, err := e.behind(ctx, c, s, files, program)
	if err == nil && code != 0 {
		err = &exitError{code: code}
	}
	return err
}

// streams are the standard streams as files: an agent gets them as they are.
type streams struct{ in, out, err *os.File }

func (e *env) files() (streams, error) {
	in, inOK := e.stdin.(*os.File)
	out, outOK := e.stdout.(*os.File)
	errs, errOK := e.stderr.(*os.File)
	if !inOK || !outOK || !errOK {
		return streams{}, errors.New("run needs standard streams that are files")
	}
	return streams{in, out, errs}, nil
}

// behind runs the agent behind the sidecar that serves the state folder.
func (e *env) behind(ctx context.Context, c *cli.Context, s config.Config, f streams, program string) (code int, err error) {
	door, err := client.New(e.door(c, s.StateDir))
	if err != nil {
		return 0, err
	}
	defer door.Close()
	st, err := door.Status(ctx)
	if err != nil {
		return 0, err
	}
	agents, err := agentsDoor(st)
	if err != nil {
		return 0, err
	}
	trust, err := launch.NewTrust(filepath.Join(s.StateDir, "ca.pem"), e.getenv)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, trust.Remove()) }()
	token, err := os.ReadFile(filepath.Join(s.StateDir, client.TokenName))
	if err != nil {
		return 0, fmt.Errorf("reading the token: %w", err)
	}
	err = launch.AwaitResumed(c.Context, door, st.Agent, func(by string) {
		fmt.Fprintf(e.stderr, "note: %s was %s; it starts once you let it go on: holdgate resume %s --state-dir %s\n", st.Agent, by, st.Agent, s.StateDir)
	})
	if err != nil {
		return 0, err
	}
	kind := e.getenv("TERM")
	way := launch.Way{Agents: agents, CA: trust.CA, Bundle: trust.Bundle, BaseURL: c.Bool("base-url")}
	return launch.Run(ctx, launch.Options{
		Program: program, Args: c.Args().Tail(),
		Env:   launch.Environment(os.Environ(), program, way, s.StateDir, strings.TrimSpace(string(token))),
		Stdin: f.in, Stdout: f.out, Stderr: f.err, Plain: kind == "" || kind == "dumb",
		Door: door, Agent: st.Agent, Colour: kind != "" && kind != "dumb" && e.getenv("NO_COLOR") == "",
		Elsewhere: func(id string) string { return "holdgate approve " + id + " --state-dir " + s.StateDir },
	})
}

// agentsDoor is where agents find the sidecar.
func agentsDoor(st api.Status) (string, error) {
	for _, l := range st.Listeners {
		if l.Name == "agents" {
			return l.Addr, nil
		}
	}
	return "", errors.New("the sidecar does not say where its door for agents is")
}

// ensureSidecar starts a sidecar for this agent, unless one serves the state
// folder already. Call stop in either case.
func (e *env) ensureSidecar(ctx context.Context, c *cli.Context, s config.Config, f streams, program string) (stop func() error, err error) {
	running, err := serving(ctx, s.StateDir)
	if err != nil {
		return nil, err
	}
	if running {
		for _, flag := range []string{"policy", "upstream", "mcp"} {
			if c.IsSet(flag) {
				x := usage("a sidecar runs on %s already, so that --%s has no effect", s.StateDir, flag)
				x.hint = "leave the flag out, stop that sidecar, or name another folder with --state-dir"
				return nil, x
			}
		}
		fmt.Fprintln(e.stderr, "note: a sidecar runs already and is used; its approvals do not tell this agent from others, nor that it is unconfined")
		return func() error { return nil }, nil
	}
	log, closeLog, err := runLog(s.StateDir, f)
	if err != nil {
		return nil, err
	}
	tuneGC(e.getenv)
	hardenProcess()
	s.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	s.Plugins = maps.Clone(s.Plugins)
	delete(s.Plugins, "terminal") // run itself asks on this terminal
	o := app.Options{Version: version(), Logger: log, Home: e.getenv("HOME"), Agent: holdgate.Agent{ID: agentID(program), Confinement: "unconfined"}}
	if o.Program, err = os.Executable(); err != nil {
		return nil, errors.Join(fmt.Errorf("finding this program: %w", err), closeLog())
	}
	o.ConfigFile, o.TrustWritable = configFile(c, e.getenv), c.Bool("trust-writable-policy")
	if o.Dir, err = os.Getwd(); err != nil {
		return nil, errors.Join(fmt.Errorf("finding the working folder: %w", err), closeLog())
	}
	o.Writable = []string{o.Dir}
	if o.PluginArgs, err = pluginArgs(); err != nil {
		return nil, errors.Join(err, closeLog())
	}
	a, err := app.New(ctx, s, o)
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	stop = func() error { return errors.Join(a.Stop(ctx), closeLog()) }
	if err := a.Start(ctx); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// configFile is the configuration file, if one is named.
func configFile(c *cli.Context, getenv func(string) string) string {
	return cmp.Or(flagValue(c, "config"), getenv(config.EnvConfig))
}

// serving reports whether a sidecar serves the state folder. One that does not
// prove to be one is an error.
func serving(ctx context.Context, stateDir string) (bool, error) {
	sc, err := client.New(client.Options{StateDir: stateDir, Channel: "cli"})
	if err == nil {
		defer sc.Close()
		_, err = sc.Status(ctx)
	}
	if _, none := errors.AsType[*client.NoSidecarError](err); none {
		return false, nil
	}
	return err == nil, err
}

// runLog is where a sidecar logs that shares the person's terminal with an
// agent: in a file of the state folder, begun anew each time. Without such a
// terminal it is stderr.
func runLog(stateDir string, f streams) (*slog.Logger, func() error, error) {
	var w io.Writer = f.err
	done := func() error { return nil }
	if term.IsTerminal(int(f.err.Fd())) {
		if err := os.MkdirAll(stateDir, 0o700); err != nil {
			return nil, nil, fmt.Errorf("making the state folder: %w", err)
		}
		file, err := os.OpenFile(filepath.Join(stateDir, "run.log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the log: %w", err)
		}
		w, done = file, file.Close
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})), done, nil
}

// agentID names an agent by its program. Policy and people see it, so that it
// is of plain characters only.
func agentID(program string) string {
	const most = 64
	id := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, filepath.Base(program))
	return id[:min(len(id), most)]
}
