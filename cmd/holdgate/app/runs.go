package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/proxy/intercept"
)

// runs are the agents that other processes started and that use this sidecar,
// each by listeners of its own, which is what proves who it is.
type runs struct {
	a    *App
	ctx  context.Context // ends when the sidecar does; set before it listens
	mu   sync.Mutex
	live map[string][]string // the folders that each can write in, by the agent's name
	over map[string]bool     // agents whose changes cannot be undone any longer
	none chan struct{}       // closed while there are none
}

var _ api.Runs = (*runs)(nil)

func newRuns(a *App) *runs {
	r := &runs{a: a, live: map[string][]string{}, over: map[string]bool{}, none: make(chan struct{})}
	close(r.none)
	return r
}

// Check implements [api.Runs].
func (r *runs) Check(in api.Run) error {
	if AgentID(in.Program) == "" || in.Dir == "" {
		return errors.New("an agent has a program, and a folder that it works in")
	}
	if !slices.Contains([]string{"strong", "weak", "unconfined"}, in.Confinement) {
		return fmt.Errorf("nobody knows what the confinement %q is", in.Confinement)
	}
	return checkWritable(r.a.current.Load().c, r.a.o, in.Writable)
}

// Serve implements [api.Runs].
func (r *runs) Serve(conn *net.UnixConn, in api.Run) {
	r.a.work.Go(func() {
		defer conn.Close()
		id, leave := r.enter(in)
		defer leave()
		stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
		defer stop()
		agent := holdgate.Agent{ID: id, Confinement: in.Confinement, Proven: in.Confinement == "strong", Starter: in.By} // nobody else reaches its door then
		if err := r.serve(conn, agent, in.Dir); err != nil && r.ctx.Err() == nil {
			r.a.log.Warn("an agent that another process started cannot be served", "agent", id, "err", err)
		}
	})
}

// serve takes the run's listeners and serves them until the connection ends.
func (r *runs) serve(conn *net.UnixConn, agent holdgate.Agent, dir string) error {
	c := r.a.current.Load().c
	terms := handover.Terms{Agent: agent.ID, ReadOnly: Trusted(c, r.a.o), Mask: Masked(c)}
	if err := handover.Send(conn, terms); err != nil {
		return err
	}
	var d handover.Doors
	files, err := handover.Receive(conn, &d)
	if err != nil {
		return fmt.Errorf("taking its listeners: %w", err)
	}
	agent = r.a.proven(agent, d.Proofs)
	defer r.a.proxy.RunEnded(agent.ID)
	doors, err := handover.Open(d, files)
	if err != nil {
		_ = handover.Send(conn, handover.Served{Error: err.Error()})
		return fmt.Errorf("taking its listeners: %w", err)
	}
	r.a.queue.Agents.Expect(agent)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer doors.Close()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	names := &intercept.Names{}
	serve := func(what string, fn func() error) {
		serving.Go(func() {
			if err := fn(); err != nil && ctx.Err() == nil {
				r.a.log.Warn("a door of an agent failed", "agent", agent.ID, "door", what, "err", err)
				_ = conn.Close() // fails closed: the run learns that it is not served
			}
		})
	}
	for _, ln := range doors.Agents {
		serve("agents", func() error { return r.a.proxy.ServeRun(ln, agent, dir) })
	}
	for _, ln := range doors.Redirected {
		serve("transparent", func() error { return r.a.proxy.ServeRunTransparent(ln, names, agent, dir) })
	}
	for _, pc := range doors.Names {
		serve("names", func() error { return names.Serve(ctx, pc) })
	}
	if err := handover.Send(conn, handover.Served{}); err != nil {
		return err
	}
	var b [1]byte
	for {
		if _, err := conn.Read(b[:]); err != nil {
			break // the run has ended
		}
		r.lapse(agent.ID)
	}
	cancel()
	return nil
}

// lapse takes note that what an agent changes cannot be undone any longer.
func (r *runs) lapse(agent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[agent] = true
}

// stillProven is what still holds of what was proven of an agent.
func (r *runs) stillProven(agent holdgate.Agent) holdgate.Proofs {
	p := agent.Proofs
	if !p.Undo {
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.a.o.UndoLapsed
	p.Undo = !r.over[agent.ID] && (agent.ID != r.a.o.Agent.ID || own == nil || !own())
	return p
}

// proven is an agent of which a run has proven this. To that comes what the sidecar itself
// does: its connections are all read, for none is passed on as it comes, and accounts
// are told apart.
func (a *App) proven(agent holdgate.Agent, p holdgate.Proofs) holdgate.Agent {
	p.Network, p.Keys = len(a.c.PassThrough) == 0, true
	agent.Proofs = p.Of(agent.Confinement)
	return agent
}

// enter gives a run a name that nobody else has: what people approve for one
// agent is not another's.
func (r *runs) enter(in api.Run) (id string, leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id = freeID(r.a.current.Load().c, in.Program, func(id string) bool { return r.live[id] != nil || id == r.a.o.Agent.ID })
	if len(r.live) == 0 {
		r.none = make(chan struct{})
	}
	r.live[id] = append([]string{}, in.Writable...)
	return id, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.over, id)
		if delete(r.live, id); len(r.live) == 0 {
			close(r.none)
		}
	}
}

// check says why a configuration cannot be put in force while these agents run: one of
// them can write what would decide over it, or has a name that the configuration
// gives to another.
func (r *runs) check(c config.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []error
	for id, folders := range r.live {
		if _, named := c.Agents[id]; named {
			faults = append(faults, fmt.Errorf("agents.%s: an agent that holdgate run has started has this name now: take another, or save the file again when it has ended", id))
		}
		faults = append(faults, checkWritable(c, r.a.o, folders))
	}
	return errors.Join(faults...)
}

// AwaitRuns waits until no agent that another process started uses this sidecar,
// or until ctx ends. tell is told once of whom it waits for, if of anybody.
func (a *App) AwaitRuns(ctx context.Context, tell func(agents []string)) {
	a.runs.mu.Lock()
	none := a.runs.none
	var names []string
	for id := range a.runs.live {
		names = append(names, id)
	}
	a.runs.mu.Unlock()
	if len(names) == 0 || ctx.Err() != nil {
		return
	}
	slices.Sort(names)
	tell(names)
	select {
	case <-none:
	case <-ctx.Done():
	case err := <-a.failed:
		a.failed <- err
	}
}

// RunID names the agent of a run whose sidecar is its own.
func RunID(c config.Config, program string) string {
	return freeID(c, program, func(string) bool { return false })
}

// freeID names an agent by its program, with a number behind it where the name is
// another's: of one that uses the same sidecar, which taken says; of one that the
// configuration knows by what it shows, for whom rules, grants and credentials
// are meant that are not for any program of that name; or of those who show nothing.
func freeID(c config.Config, program string, taken func(id string) bool) string {
	name := AgentID(program)
	id := name
	for n := 2; ; n++ {
		if _, configured := c.Agents[id]; !configured && id != holdgate.AgentDefault && !taken(id) {
			return id
		}
		id = fmt.Sprintf("%s-%d", name, n)
	}
}

// AgentID names an agent by its program. Policy and people see it, so that it
// is of plain characters only.
func AgentID(program string) string {
	const most = 60
	id := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, filepath.Base(program))
	if id == "." || id == string(os.PathSeparator) {
		return ""
	}
	return id[:min(len(id), most)]
}
