package main

import (
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
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

func runCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run an agent behind Holdgate, and be asked in the same terminal",
		ArgsUsage: "-- CMD ARGS",
		Description: "Uses the sidecar of the state folder, or starts one for as long as CMD runs.\n" +
			"CMD is led to it by variables of its environment, and the kernel keeps it\n" +
			"from going around: whatever it connects to goes through Holdgate, it writes\n" +
			"where it works and nowhere else, and sees nothing of Holdgate's own. holdgate\n" +
			"doctor says whether this machine can do that. The exit code is CMD's.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "confine", Usage: "how CMD is confined: `strong`, or weak, which leaves more open", Value: confine.Strong},
			&cli.BoolFlag{Name: "unconfined", Usage: "run CMD without any confinement"},
			&cli.StringSliceFlag{Name: "write", Usage: "let CMD write at `PATH`, besides the working folder; may be repeated"},
			&cli.BoolFlag{Name: "undo", Usage: "keep what CMD changes in the working folder, so that holdgate undo can take it back"},
			&cli.BoolFlag{Name: "base-url", Usage: "set the variables for the providers' addresses too (ANTHROPIC_BASE_URL, OPENAI_BASE_URL)"},
			&cli.StringFlag{Name: "policy", Usage: "rules of your own: a `FILE, FOLDER or BUNDLE`"},
			&cli.BoolFlag{Name: "trust-writable-policy", Usage: "take rules, configuration and plugins that lie in CMD's working folder"},
			&cli.StringSliceFlag{Name: "upstream", Usage: "a model provider, as `NAME=URL`; may be repeated"},
			&cli.StringSliceFlag{Name: "mcp", Usage: "an MCP server, as `NAME=URL`; may be repeated"},
			&cli.StringFlag{Name: "mode", Usage: "sessions begin in `MODE`: auto, manual or confidence_threshold"},
			&cli.Float64Flag{Name: "confidence-threshold", Usage: "ask about each call below it: from 0 to 1, or from 0 to 100"},
			&cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: "ask before the first change, before changes are tested, and before each commit"},
		},
		Action: func(c *cli.Context) error { return e.runAgent(c) },
	}
}

// An agentRun is one agent, how it is confined, and the sidecar for it.
type agentRun struct {
	*env
	c       *cli.Context
	s       config.Config
	f       streams
	program string
	kind    string // of confinement
	trust   *launch.Trust
	o       app.Options
	box     *confine.Sandbox // nil where it is unconfined
	undo    *undoing         // nil without --undo
	own     *app.App         // the sidecar, where this process is it
	beside  *beside          // the way to it, where it is another's
}

// runAgent checks the command line, finds or starts a sidecar, and runs the
// agent behind it.
func (e *env) runAgent(c *cli.Context) (err error) {
	if !c.Args().Present() {
		return usage("run needs a command: holdgate run -- CMD ARGS")
	}
	r := &agentRun{env: e, c: c}
	if r.kind, err = confinementOf(c); err != nil {
		return err
	}
	if c.Bool("undo") && r.kind != confine.Strong {
		return usage("--undo needs the strong confinement: without it the agent could change files unseen")
	}
	if r.program, err = exec.LookPath(c.Args().First()); err != nil {
		return usage("%s cannot be run: %v", c.Args().First(), errors.Unwrap(err))
	}
	if r.f, err = e.files(); err != nil {
		return err
	}
	if r.s, err = e.serveSettings(c); err != nil {
		return err
	}
	if err := beginAs(c, &r.s); err != nil {
		return err
	}
	if r.kind == confine.Unconfined {
		fmt.Fprintln(e.stderr, "warning: the agent runs UNCONFINED: it can reach the network and the approvers' door around Holdgate")
	}
	if note := launch.Note(r.program); note != "" {
		fmt.Fprintln(e.stderr, "note: "+note)
	}
	code, err := r.run(context.WithoutCancel(c.Context)) // signals are the agent's; its end is ours
	if err == nil && code != 0 {
		err = &exitError{code: code}
	}
	return err
}

// beginAs takes over what the command line says of how sessions begin, and at
// which gates they stop.
func beginAs(c *cli.Context, s *config.Config) error {
	m, err := sessionMode(c)
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

// run makes what the agent needs around it, the confinement of a network of its
// own first: a sidecar's process cannot start one.
func (r *agentRun) run(ctx context.Context) (code int, err error) {
	if r.trust, err = launch.NewTrust(); err != nil {
		return 0, err
	}
	defer func() { r.removed(r.trust.Remove()) }()
	if r.o, err = r.sidecarOptions(); err != nil {
		return 0, err
	}
	if r.o.Proxies, err = r.proxies(r.s); err != nil {
		return 0, err
	}
	running, err := serving(ctx, r.s.StateDir)
	if err != nil {
		return 0, err
	}
	if err := r.mayUse(running); err != nil {
		return 0, err
	}
	defer func() {
		r.closeBox()
		err = errors.Join(err, r.endUndo())
	}()
	if running {
		return r.runBeside(ctx)
	}
	if r.kind == confine.Strong {
		if err := r.confine(0); err != nil {
			return 0, err
		}
		r.o.Inside = &app.Inside{Agents: r.box.Agents, Redirected: r.box.Redirected, Names: r.box.Names}
	}
	stop, err := r.startSidecar(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if name := app.AgentID(r.program); name != r.o.Agent.ID {
		fmt.Fprintf(r.stderr, "note: the name %s is another agent's, which proves itself by what it shows (agents in the configuration); this one counts as %s\n", name, r.o.Agent.ID)
	}
	code, err = r.behind(ctx)
	r.linger()
	return code, err
}

// linger keeps the sidecar for the agents of other processes that use it, until
// the last of them has ended or this process gets a signal.
func (r *agentRun) linger() {
	r.own.AwaitRuns(r.c.Context, func(agents []string) {
		fmt.Fprintf(r.stderr, "note: %s still uses the sidecar of this process, which goes on until then; Ctrl-C ends it, and nothing that %[1]s asks goes on any longer\n", holdgate.Visible(strings.Join(agents, ", ")))
	})
}

// removed says that temporary files could not be removed; the agent may have
// made it so.
func (r *agentRun) removed(err error) {
	if err != nil {
		fmt.Fprintf(r.stderr, "warning: removing the agent's temporary files: %s\n", holdgate.Visible(err.Error()))
	}
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
func (r *agentRun) behind(ctx context.Context) (code int, err error) {
	s := r.s
	door, err := client.New(r.door(r.c, s.StateDir))
	if err != nil {
		return 0, err
	}
	defer door.Close()
	st, err := door.Status(ctx)
	if err != nil {
		return 0, err
	}
	agents, err := agentsDoor(st)
	if r.beside != nil {
		agents, st.Agent, err = r.beside.door, r.beside.terms.Agent, nil
	}
	if err != nil {
		return 0, err
	}
	if err := r.trust.Write(filepath.Join(s.StateDir, "ca.pem"), r.getenv); err != nil {
		return 0, err
	}
	if r.beside == nil {
		if err := r.confineWeak(agents); err != nil {
			return 0, err
		}
	}
	token, err := os.ReadFile(filepath.Join(s.StateDir, client.TokenName))
	if err != nil {
		return 0, fmt.Errorf("reading the token: %w", err)
	}
	err = launch.AwaitResumed(r.c.Context, door, st.Agent, func(by approvals.Standing) {
		fmt.Fprintf(r.stderr, "note: %s\n", startsOnceResumed(st.Agent, by, s.StateDir))
	})
	if err != nil {
		return 0, err
	}
	kind := r.getenv("TERM")
	return launch.Run(ctx, launch.Options{
		Program: r.program, Args: launch.Arguments(r.program, r.c.Args().Tail()), Within: r.box,
		Env:   launch.Environment(os.Environ(), r.program, r.way(agents), append(r.held(), s.StateDir, strings.TrimSpace(string(token)))...),
		Stdin: r.f.in, Stdout: r.f.out, Stderr: r.f.err, Plain: kind == "" || kind == "dumb",
		Door: door, Agent: st.Agent, Colour: kind != "" && kind != "dumb" && r.getenv("NO_COLOR") == "",
		Elsewhere: func(id string) string {
			return "holdgate approve " + id + " --state-dir " + shellWord(absolute(s.StateDir))
		},
	})
}

// startsOnceResumed says why an agent does not start, and what lets it.
func startsOnceResumed(agent string, by approvals.Standing, stateDir string) string {
	who, whom := agent+" was", shellWord(agent)
	if by.Everybody {
		who, whom = "all agents were", "--all"
	}
	return holdgate.Visible(fmt.Sprintf("%s %s; it starts once you let it go on, in another terminal: holdgate resume %s --state-dir %s", who, by, whom, shellWord(absolute(stateDir))))
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

// mayUse refuses what a sidecar that runs already cannot do.
func (r *agentRun) mayUse(running bool) error {
	if !running {
		return nil
	}
	for _, flag := range []string{"policy", "upstream", "mcp", "mode", "confidence-threshold", "interactive"} {
		if r.c.IsSet(flag) {
			x := usage("a sidecar runs on %s already, so that --%s has no effect", r.s.StateDir, flag)
			x.hint = "leave the flag out, stop that sidecar, or name another folder with --state-dir"
			return x
		}
	}
	return nil
}

// sidecarOptions are those of a sidecar for this agent.
func (r *agentRun) sidecarOptions() (app.Options, error) {
	agent := holdgate.Agent{ID: app.RunID(r.s, r.program), Confinement: r.kind, Proven: r.kind == confine.Strong} // nobody else reaches its door then
	o, err := r.optionsHere(r.c, agent, r.c.StringSlice("write")...)
	o.Watched = r.watched(r.s, globals(r.c), func() (config.Config, error) {
		s, err := r.serveSettings(r.c)
		if err == nil {
			err = beginAs(r.c, &s)
		}
		return s, err
	})
	return o, err
}

// optionsHere are those of a sidecar in this process, for what works in the
// folder that this process does and can write there, and in the others named.
func (e *env) optionsHere(c *cli.Context, agent holdgate.Agent, writable ...string) (o app.Options, err error) {
	o = app.Options{Version: version(), Home: e.getenv("HOME"), Agent: agent}
	if o.Program, err = os.Executable(); err != nil {
		return o, fmt.Errorf("finding this program: %w", err)
	}
	o.TrustWritable = c.Bool("trust-writable-policy")
	if o.Dir, err = os.Getwd(); err != nil {
		return o, fmt.Errorf("finding the working folder: %w", err)
	}
	o.Writable = append([]string{o.Dir}, writable...)
	o.PluginArgs, err = pluginArgs()
	return o, err
}

// startSidecar starts a sidecar for this agent.
func (r *agentRun) startSidecar(ctx context.Context) (stop func() error, err error) {
	log, closeLog, err := runLog(r.s.StateDir, r.f)
	if err != nil {
		return nil, err
	}
	r.o.Logger = log
	own, end, err := r.startHere(ctx, r.s, r.o)
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	r.own = own
	return func() error { return errors.Join(end(), closeLog()) }, nil
}

// startHere starts a sidecar in this process, on any free ports. It asks nobody
// on the terminal, which is another's.
func (e *env) startHere(ctx context.Context, s config.Config, o app.Options) (a *app.App, stop func() error, err error) {
	tuneGC(e.getenv)
	hardenProcess()
	s.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	s.Plugins = maps.Clone(s.Plugins)
	delete(s.Plugins, "terminal")
	if a, err = app.New(ctx, s, o); err != nil {
		return nil, nil, err
	}
	stop = func() error { return a.Stop(ctx) }
	if err := a.Start(ctx); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return a, stop, nil
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
