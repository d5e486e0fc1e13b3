// Package runs serves the agents that other processes started and that use this sidecar:
// each run of `holdgate run` which found one. A run has listeners of its own, which is what
// proves who its agent is. It lasts as long as its connection, and where another sidecar
// takes this one's place it goes on there.
package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/cmd/holdgate/takeover"
	"github.com/holdgate/holdgate/cmd/holdgate/trust"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/openfiles"
	"github.com/holdgate/holdgate/store"
)

// Config is what runs are served by.
type Config struct {
	InForce func() config.Config // the configuration of this moment
	// Program is the sidecar's own, which no agent may be able to change. TrustWritable
	// lets agents write where what decides over them lies.
	Program       string
	TrustWritable bool
	// Own is the agent of this process, whose ID no run gets. It is empty where there is
	// none; its Lapsed, which may be nil, reports whether what it changes cannot be undone
	// any longer.
	Own    holdgate.Agent
	Lapsed func() bool
	Warden Warden // of Own
	Logger *slog.Logger
}

// Runs are the agents that other processes started. Its methods may be called by several
// goroutines, but for Open.
type Runs struct {
	c     Config
	ctx   context.Context // ends when the sidecar does
	proxy *proxy.Server
	queue *approvals.Queue
	work  *sync.WaitGroup

	mu   sync.Mutex
	live map[string][]string // the folders that each can write in, by the agent's name
	over map[string]bool     // agents whose changes cannot be undone any longer
	asks map[string]*handover.Asked
	none chan struct{} // closed while there are none

	doors   map[string]handover.Opened // of those that are served, by the agent's name
	leaving map[string]*takeover.Run   // of those that the next sidecar serves; nil while there is none
	passed  []takeover.Run             // of leaving, whose serving has ended here
}

var _ api.Runs = (*Runs)(nil)

// New returns Runs that are not served yet.
func New(c Config) *Runs {
	r := &Runs{c: c, live: map[string][]string{}, over: map[string]bool{}, asks: map[string]*handover.Asked{}, doors: map[string]handover.Opened{}, none: make(chan struct{})}
	close(r.none)
	return r
}

// Open has runs served from now on, until ctx ends; work is done once they all are
// over. It must be called before Serve and ServeKept.
func (r *Runs) Open(ctx context.Context, p *proxy.Server, q *approvals.Queue, work *sync.WaitGroup) {
	r.ctx, r.proxy, r.queue, r.work = ctx, p, q, work
}

// Check implements [api.Runs].
func (r *Runs) Check(in api.Run) error {
	if AgentID(in.Program) == "" || in.Dir == "" {
		return errors.New("an agent has a program, and a folder that it works in")
	}
	if !slices.Contains([]string{"strong", "weak", "unconfined"}, in.Confinement) {
		return fmt.Errorf("nobody knows what the confinement %q is", in.Confinement)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving != nil {
		return errReplaced
	}
	return r.fit(r.c.InForce(), in.Writable)
}

// Serve implements [api.Runs].
func (r *Runs) Serve(conn *net.UnixConn, in api.Run) {
	r.work.Go(func() {
		k := takeover.Run{Agent: r.enter(in), Program: in.Program, Confinement: in.Confinement, Dir: in.Dir, Writable: in.Writable, By: in.By, Conn: conn}
		r.during(&k, r.welcome)
	})
}

// during runs serve while a run lasts here. The run's connection is closed afterwards,
// unless another process goes on with it.
func (r *Runs) during(k *takeover.Run, serve func(*takeover.Run) (passed bool, err error)) {
	defer r.exit(k.Agent)
	stop := context.AfterFunc(r.ctx, func() {
		if r.leaves(k.Agent) {
			_ = k.Conn.SetReadDeadline(time.Unix(1, 0)) // ends the reading
		} else {
			_ = k.Conn.Close()
		}
	})
	passed, err := serve(k)
	stop()
	if !passed {
		_ = k.Conn.Close()
	}
	if err != nil && r.ctx.Err() == nil {
		r.c.Logger.Warn("an agent that another process started cannot be served", "agent", k.Agent, "err", err)
	}
}

// welcome takes a new run's listeners and serves it.
func (r *Runs) welcome(k *takeover.Run) (passed bool, err error) {
	conn := k.Conn
	c := r.c.InForce()
	terms := handover.Terms{Agent: k.Agent, ReadOnly: trust.Files(c, r.c.Program), Mask: trust.Masked(c)}
	if err := handover.Send(conn, terms); err != nil {
		return false, err
	}
	var d handover.Doors
	files, err := handover.Receive(conn, &d)
	if err != nil {
		return false, fmt.Errorf("taking its listeners: %w", err)
	}
	doors, err := handover.Open(d, files)
	if err == nil {
		err = r.keep(k.Agent, doors)
	}
	if err != nil {
		doors.Close()
		_ = handover.Send(conn, handover.Served{Error: err.Error()})
		return false, fmt.Errorf("taking its listeners: %w", err)
	}
	k.Proofs = d.Proofs
	return r.serve(k, doors, func() error { return handover.Send(conn, handover.Served{}) })
}

// serve serves a run's doors until its connection ends, or another process serves them.
// ready is called once they are served.
func (r *Runs) serve(k *takeover.Run, doors handover.Opened, ready func() error) (passed bool, err error) {
	names, stays := intercept.NamesGiven(k.Names, k.NextName), false
	agent := Proven(r.c.InForce(), holdgate.Agent{ID: k.Agent, Confinement: k.Confinement, Proven: k.Confinement == "strong", Starter: k.By}, k.Proofs) // nobody else reaches its door then
	defer func() {
		k.Names, k.NextName = names.Given(mostNames)
		if passed = r.pass(k, stays); !passed {
			r.Ended(agent.ID)
		}
	}()
	r.queue.Agents.Expect(agent)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer doors.Close()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	serve := func(what string, fn func() error) {
		serving.Go(func() {
			if err := fn(); err != nil && ctx.Err() == nil {
				r.c.Logger.Warn("a door of an agent failed", "agent", agent.ID, "door", what, "err", err)
				_ = k.Conn.Close() // fails closed: the run learns that it is not served
			}
		})
	}
	for _, ln := range doors.Agents {
		serve("agents", func() error { return r.proxy.ServeRun(openfiles.Spare(ln), agent, k.Dir) })
	}
	for _, ln := range doors.Redirected {
		serve("transparent", func() error { return r.proxy.ServeRunTransparent(openfiles.Spare(ln), names, agent, k.Dir) })
	}
	for _, pc := range doors.Names {
		serve("names", func() error { return names.Serve(ctx, pc) })
	}
	if err := ready(); err != nil {
		return false, err
	}
	stays = r.listen(k)
	return false, nil
}

// mostNames bounds what of a run's names another process is told, in bytes.
const mostNames = 64 << 10

// listen hears what a run says until it has ended, or stays for another process to hear.
func (r *Runs) listen(k *takeover.Run) (stays bool) {
	lines, agent := handover.NewLines(k.Conn, k.Unread...), k.Agent
	asked := handover.NewAsked(lines, k.Asked)
	r.mu.Lock()
	r.asks[agent] = asked
	r.mu.Unlock()
	for {
		line, err := lines.Read()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			k.Asked = asked.Last()
			k.Unread, _ = lines.Unread() // of a buffer, which does not fail
			return true
		case err != nil:
			return false
		case line.Lapsed:
			r.lapse(agent)
		case line.Done:
			asked.Done(line)
		}
	}
}

// lapse takes note that what an agent changes cannot be undone any longer.
func (r *Runs) lapse(agent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[agent] = true
}

// StillProven is what still holds of what was proven of an agent.
func (r *Runs) StillProven(agent holdgate.Agent) holdgate.Proofs {
	p := agent.Proofs
	if !p.Undo {
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Undo = !r.over[agent.ID] && (agent.ID != r.c.Own.ID || r.c.Lapsed == nil || !r.c.Lapsed())
	return p
}

// Proven is an agent of which a run has proven this. To that comes what the sidecar itself
// does: its connections are all read, for none is passed on as it comes, and accounts
// are told apart.
func Proven(c config.Config, agent holdgate.Agent, p holdgate.Proofs) holdgate.Agent {
	p.Network, p.Keys = len(c.PassThrough) == 0, true
	agent.Proofs = p.Of(agent.Confinement)
	return agent
}

// enter gives a run a name that nobody else has: what people approve for one
// agent is not another's.
func (r *Runs) enter(in api.Run) (id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id = freeID(r.c.InForce(), in.Program, func(id string) bool { return r.live[id] != nil || id == r.c.Own.ID })
	r.begin(id, in.Writable)
	return id
}

// begin takes a run up. mu is held.
func (r *Runs) begin(id string, writable []string) {
	if len(r.live) == 0 {
		r.none = make(chan struct{})
	}
	r.live[id] = append([]string{}, writable...)
}

// exit is the end of what [Runs.begin] begins.
func (r *Runs) exit(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.over, id)
	delete(r.asks, id)
	delete(r.doors, id)
	if delete(r.live, id); len(r.live) == 0 {
		close(r.none)
	}
}

// Fits says why a configuration cannot be put in force while these agents run: one of
// them can write what would decide over it, or has a name that the configuration
// gives to another.
func (r *Runs) Fits(c config.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []error
	for id, folders := range r.live {
		if _, named := c.Agents[id]; named {
			faults = append(faults, fmt.Errorf("agents.%s: an agent that holdgate run has started has this name now: take another, or save the file again when it has ended", id))
		}
		faults = append(faults, r.fit(c, folders))
	}
	return errors.Join(faults...)
}

// fit refuses folders for an agent to write in where what decides over it lies there.
func (r *Runs) fit(c config.Config, folders []string) error {
	if r.c.TrustWritable {
		return nil
	}
	return trust.Check(c, r.c.Program, folders)
}

// Live returns the agents of the runs, in order, and a channel that is closed once none
// of them, and none that came meanwhile, is left.
func (r *Runs) Live() (agents []string, none <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.live)), r.none
}

// Ended is for when the run of an agent has ended, and nothing of it asks any more.
func (r *Runs) Ended(agent string) {
	r.proxy.RunEnded(agent)
	if err := r.queue.RunEnded(context.WithoutCancel(r.ctx), agent); err != nil && !errors.Is(err, store.ErrClosed) {
		r.c.Logger.Warn("what the run of an agent has asked does not say that nobody waits", "agent", agent, "err", err)
	}
}
