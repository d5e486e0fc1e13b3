// Package run runs an agent behind Holdgate: it finds the sidecar of a state
// folder or starts one in this process, confines the agent, and has
// [launch.Run] start it in the person's terminal.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/draft"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/app/runs"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

// Options say which agent runs, and how.
type Options struct {
	Host        Host
	Program     string   // the agent's, as the path that it was found at
	Args        []string // without the program
	Confinement string   // confine.Strong, confine.Weak or confine.Unconfined
	Config      config.Config
	Read        func() (config.Config, error) // reads the configuration again
	Watched     string                        // the configuration's file, or where one would be looked for
	Write       []string                      // paths that the agent may write, besides the working folder
	BaseURL     bool                          // set the variables of the providers' addresses too
	Trust       bool                          // take rules and configuration that the agent could write
	Contained   Contained                     // what becomes of what the agent changes, and what it may read
	Door        client.Options                // the approvers' door, and as whom to come
	Split       bool                          // questions are asked in a split of the terminal, by holdgate watch
	Alone       []string                      // flags that were given and that a sidecar which runs already does not heed

	Stdin, Stdout, Stderr *os.File // an agent gets them as they are

	// Command is a command line of holdgate that finds the same sidecar.
	Command func(words ...string) string
}

// A RefusedError says why an agent was not started, and what can be done.
type RefusedError struct{ Text, Hint string }

func (e *RefusedError) Error() string { return e.Text }

// An agent is one that runs, and what there is around it.
type agent struct {
	Options
	trust   *launch.Trust
	o       app.Options
	box     *confine.Sandbox // nil where it is unconfined
	undo    *undoing         // nil without Contained.Undo
	private *private         // nil without Contained.Private
	own     *app.App         // the sidecar, where this process is it
	beside  *beside          // the way to it, where it is another's
}

// Agent runs an agent behind a sidecar until it ends, and returns its exit code.
// Once until is done, the sidecar of this process waits for no agent of another.
func Agent(ctx, until context.Context, o Options) (code int, err error) {
	r := &agent{Options: o}
	if o.Confinement == confine.Unconfined {
		r.say("warning: ", "the agent runs UNCONFINED: it can reach the network and the approvers' door around Holdgate", "")
	}
	if note := launch.Note(o.Program); note != "" {
		r.note("%s", note)
	}
	return r.run(ctx, until)
}

// run makes what the agent needs around it, the confinement of a network of its
// own first: a sidecar's process cannot start one.
func (r *agent) run(ctx, until context.Context) (code int, err error) {
	if r.trust, err = launch.NewTrust(); err != nil {
		return 0, err
	}
	defer func() { r.removed(r.trust.Remove()) }()
	if r.o, err = r.sidecarOptions(); err != nil {
		return 0, err
	}
	if r.o.Proxies, err = r.Host.Proxies(r.Config); err != nil {
		return 0, err
	}
	running, err := Serving(ctx, r.Config.StateDir)
	if err != nil {
		return 0, err
	}
	if err := r.mayUse(running); err != nil {
		return 0, err
	}
	defer func() {
		r.closeBox()
		err = errors.Join(err, r.endPrivate(), r.endUndo())
	}()
	if running {
		return r.runBeside(ctx, until)
	}
	if r.Confinement == confine.Strong {
		if err := r.confine(0); err != nil {
			return 0, err
		}
		r.o.Agent.Proofs = r.proofs()
		r.o.Warden = r.warden()
		r.o.UndoLapsed = func() bool { return r.undo != nil && r.undo.lapsed.Load() }
		r.o.Inside = &app.Inside{Agents: r.box.Agents, Redirected: r.box.Redirected, Names: r.box.Names}
	}
	stop, err := r.startSidecar(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if name := runs.AgentID(r.Program); name != r.o.Agent.ID {
		r.note("the name %s is another agent's, which proves itself by what it shows (agents in the configuration); this one counts as %s", name, r.o.Agent.ID)
	}
	code, err = r.behind(ctx, until)
	r.own.RunEnded(r.o.Agent.ID)
	r.linger(until)
	return code, err
}

// linger keeps the sidecar for the agents of other processes that use it, until
// the last of them has ended or this process gets a signal.
func (r *agent) linger(until context.Context) {
	r.own.AwaitRuns(until, func(agents []string) {
		r.note("%s still uses the sidecar of this process, which goes on until then; Ctrl-C ends it, and nothing that %[1]s asks goes on any longer", holdgate.Visible(strings.Join(agents, ", ")))
	})
}

// removed says that temporary files could not be removed; the agent may have
// made it so.
func (r *agent) removed(err error) {
	if err != nil {
		r.say("warning: ", fmt.Sprintf("removing the agent's temporary files: %s", holdgate.Visible(err.Error())), "")
	}
}

// behind runs the agent behind the sidecar that serves the state folder.
func (r *agent) behind(ctx, until context.Context) (code int, err error) {
	s := r.Config
	door, err := client.New(r.Door)
	if err != nil {
		return 0, err
	}
	defer door.Close()
	st, err := door.Status(ctx)
	if err != nil {
		return 0, err
	}
	agents, err := AgentsDoor(st)
	if r.beside != nil {
		agents, st.Agent, err = r.beside.door, r.beside.terms.Agent, nil
	}
	if err != nil {
		return 0, err
	}
	if err := r.trust.Write(filepath.Join(s.StateDir, "ca.pem"), r.Host.Getenv); err != nil {
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
	err = launch.AwaitResumed(until, door, st.Agent, func(by approvals.AgentStatus) {
		r.note("%s", r.startsOnceResumed(st.Agent, by))
	})
	if err != nil {
		return 0, err
	}
	if r.Split {
		shut, err := r.split(ctx)
		if err != nil {
			return 0, err
		}
		defer shut()
	}
	r.tellLeft(ctx, door, st.Agent)
	way := r.way(agents)
	if len(way.Quiet) > 0 {
		r.note("telemetry is off, by %s; run.telemetry: true in the configuration leaves it on", strings.Join(way.Quiet, " "))
	}
	kind, began := r.Host.Getenv("TERM"), time.Now()
	defer func() { r.tellUnreached(ctx, door, st.Agent, began) }()
	return launch.Run(ctx, launch.Options{
		Program: r.Program, Args: launch.Arguments(r.Program, r.Args), Within: r.box,
		Env:   launch.Environment(r.environ(), r.Program, way, append(r.held(), s.StateDir, strings.TrimSpace(string(token)))...),
		Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr, Plain: kind == "" || kind == "dumb",
		Door: door, Agent: st.Agent, Colour: kind != "" && kind != "dumb" && r.Host.Getenv("NO_COLOR") == "",
		Silent: r.Split,
		Editor: cmp.Or(r.Host.Getenv("VISUAL"), r.Host.Getenv("EDITOR"), "vi"),
		Judge: func(ctx context.Context, change *draft.Change, of approvals.Request) {
			change.Judge(ctx, door, of)
		},
		Elsewhere: func(id string) string {
			return r.Command("approve", id) + ", or on the page: " + r.Command("open", id)
		},
		Page: func(ctx context.Context, id string) string {
			return launch.ShowPage(ctx, door, s.StateDir, r.Host.Getenv, id)
		},
	})
}

// tellLeft says what earlier runs of the agent have asked, which nobody waits for.
func (r *agent) tellLeft(ctx context.Context, door *client.Client, agent string) {
	list, err := door.List(ctx, approvals.Filter{Status: holdgate.StatusPending, Agent: agent})
	if err != nil {
		return // it is a note
	}
	list = slices.DeleteFunc(list, func(q approvals.Request) bool { return q.RunEnded == nil })
	switch n := len(list); n {
	case 0:
	case 1:
		r.say("note: ", "a question of an earlier run is still open, though nobody waits for it:", r.Command("show", list[0].ID))
	default:
		r.say("note: ", fmt.Sprintf("%d questions of earlier runs are still open, though nobody waits for them:", n), r.Command("pending"))
	}
}

// tellUnreached says which hosts gave the agent no answer up to its end: it may have said
// no more of that than that something failed.
func (r *agent) tellUnreached(ctx context.Context, door *client.Client, agent string, began time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	st, err := door.Status(ctx)
	if err != nil {
		return // it is a note
	}
	list := slices.DeleteFunc(st.Unreached, func(u api.Unreached) bool { return u.Agent != agent || u.At.Before(began) })
	slices.SortFunc(list, func(a, b api.Unreached) int { return b.At.Compare(a.At) })
	for i, u := range list {
		if i == mostUnreached {
			r.say("note: ", fmt.Sprintf("%d more hosts gave no answer:", len(list)-i), r.Command("status"))
			return
		}
		times := ""
		if u.Times > 1 {
			times = fmt.Sprintf(", %d times", u.Times)
		}
		r.note("%s", strings.TrimSuffix(fmt.Sprintf("%s gave %s no answer%s: %s. %s", u.Host, agent, times, u.Why, u.Hint), " "))
	}
}

// noteWithin is how long the end of a run waits for a note.
const noteWithin = 10 * time.Second

// mostUnreached is how many hosts are named that gave no answer.
const mostUnreached = 3

// startsOnceResumed says why an agent does not start, and what lets it.
func (r *agent) startsOnceResumed(id string, by approvals.AgentStatus) string {
	who, whom := id+" was", id
	if by.Everybody {
		who, whom = "all agents were", "--all"
	}
	return holdgate.Visible(fmt.Sprintf("%s %s; it starts once you let it go on, in another terminal: %s", who, by, r.Command("resume", whom)))
}

// mayUse refuses what a sidecar that runs already cannot do.
func (r *agent) mayUse(running bool) error {
	if !running {
		return nil
	}
	if len(r.Alone) > 0 {
		return &RefusedError{
			Text: fmt.Sprintf("a sidecar runs on %s already, so that --%s has no effect", r.Config.StateDir, r.Alone[0]),
			Hint: "leave the flag out, stop that sidecar, or name another folder with --state-dir",
		}
	}
	return nil
}

// sidecarOptions are those of a sidecar for this agent.
func (r *agent) sidecarOptions() (app.Options, error) {
	who := holdgate.Agent{ID: runs.ID(r.Config, r.Program), Confinement: r.Confinement, Proven: r.Confinement == confine.Strong, Starter: r.Config.Approver} // nobody else reaches its door then
	o, err := r.Host.Options(who, r.Trust, r.Write...)
	o.Watched = app.Watched{Path: r.Watched, Read: r.Read, First: r.Config}
	return o, err
}

// startSidecar starts a sidecar for this agent.
func (r *agent) startSidecar(ctx context.Context) (stop func() error, err error) {
	log, closeLog, err := runLog(r.Config.StateDir, r.Stderr)
	if err != nil {
		return nil, err
	}
	r.o.Logger = log
	own, end, err := r.Host.Start(ctx, r.Config, r.o)
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	r.own = own
	return func() error { return errors.Join(end(), closeLog()) }, nil
}

// runLog is where a sidecar logs that shares the person's terminal with an
// agent: in a file of the state folder, begun anew each time. Without such a
// terminal it is stderr.
func runLog(stateDir string, stderr *os.File) (*slog.Logger, func() error, error) {
	var w io.Writer = stderr
	done := func() error { return nil }
	if term.IsTerminal(int(stderr.Fd())) {
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
