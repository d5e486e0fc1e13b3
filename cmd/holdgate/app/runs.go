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
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/cmd/holdgate/takeover"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/openfiles"
	"github.com/holdgate/holdgate/store"
)

// runs are the agents that other processes started and that use this sidecar,
// each by listeners of its own, which is what proves who it is.
type runs struct {
	a    *App
	ctx  context.Context // ends when the sidecar does; set before it listens
	mu   sync.Mutex
	live map[string][]string // the folders that each can write in, by the agent's name
	over map[string]bool     // agents whose changes cannot be undone any longer
	asks map[string]*handover.Asked
	none chan struct{} // closed while there are none

	doors   map[string]handover.Opened // of those that are served, by the agent's name
	leaving map[string]*takeover.Run   // of those that the next sidecar serves; nil while there is none
	passed  []takeover.Run             // of leaving, whose serving has ended here
}

var _ api.Runs = (*runs)(nil)

func newRuns(a *App) *runs {
	r := &runs{a: a, live: map[string][]string{}, over: map[string]bool{}, asks: map[string]*handover.Asked{}, doors: map[string]handover.Opened{}, none: make(chan struct{})}
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving != nil {
		return errReplaced
	}
	return checkWritable(r.a.current.Load().c, r.a.o, in.Writable)
}

// Serve implements [api.Runs].
func (r *runs) Serve(conn *net.UnixConn, in api.Run) {
	r.a.work.Go(func() {
		k := takeover.Run{Agent: r.enter(in), Program: in.Program, Confinement: in.Confinement, Dir: in.Dir, Writable: in.Writable, By: in.By, Conn: conn}
		r.during(&k, r.welcome)
	})
}

// during runs serve while a run lasts here. The run's connection is closed afterwards,
// unless another process goes on with it.
func (r *runs) during(k *takeover.Run, serve func(*takeover.Run) (passed bool, err error)) {
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
		r.a.log.Warn("an agent that another process started cannot be served", "agent", k.Agent, "err", err)
	}
}

// welcome takes a new run's listeners and serves it.
func (r *runs) welcome(k *takeover.Run) (passed bool, err error) {
	conn := k.Conn
	c := r.a.current.Load().c
	terms := handover.Terms{Agent: k.Agent, ReadOnly: Trusted(c, r.a.o), Mask: Masked(c)}
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
func (r *runs) serve(k *takeover.Run, doors handover.Opened, ready func() error) (passed bool, err error) {
	names, stays := intercept.NamesGiven(k.Names, k.NextName), false
	agent := r.a.proven(holdgate.Agent{ID: k.Agent, Confinement: k.Confinement, Proven: k.Confinement == "strong", Starter: k.By}, k.Proofs) // nobody else reaches its door then
	defer func() {
		k.Names, k.NextName = names.Given(mostNames)
		if passed = r.pass(k, stays); !passed {
			r.a.RunEnded(agent.ID)
		}
	}()
	r.a.queue.Agents.Expect(agent)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer doors.Close()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	serve := func(what string, fn func() error) {
		serving.Go(func() {
			if err := fn(); err != nil && ctx.Err() == nil {
				r.a.log.Warn("a door of an agent failed", "agent", agent.ID, "door", what, "err", err)
				_ = k.Conn.Close() // fails closed: the run learns that it is not served
			}
		})
	}
	for _, ln := range doors.Agents {
		serve("agents", func() error { return r.a.proxy.ServeRun(openfiles.Spare(ln), agent, k.Dir) })
	}
	for _, ln := range doors.Redirected {
		serve("transparent", func() error { return r.a.proxy.ServeRunTransparent(openfiles.Spare(ln), names, agent, k.Dir) })
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
func (r *runs) listen(k *takeover.Run) (stays bool) {
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
func (r *runs) lapse(agent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[agent] = true
}

// warden keeps what runs later by itself from the agents of runs that keep what they
// change.
func (r *runs) warden() gate.Warden {
	return gate.Warden{
		Let: func(agent, call string, may holdgate.Later) {
			if own := r.a.o.Warden; agent == r.a.o.Agent.ID && own.Let != nil {
				own.Let(call, may)
				return
			}
			r.ask(agent, handover.Line{Call: call, Let: &may})
		},
		Settle: func(agent string, calls []string) []string {
			if own := r.a.o.Warden; agent == r.a.o.Agent.ID && own.Settle != nil {
				return own.Settle(calls)
			}
			return r.ask(agent, handover.Line{Ended: calls}).Refused
		},
	}
}

// ask has the run of an agent do something. Where it cannot, the agent may change less.
func (r *runs) ask(agent string, line handover.Line) handover.Line {
	r.mu.Lock()
	asked := r.asks[agent]
	r.mu.Unlock()
	if asked == nil {
		return handover.Line{}
	}
	done, err := asked.Ask(line)
	if err != nil && r.ctx.Err() == nil {
		r.a.log.Warn("a run does not say what its agent changes of what runs later", "agent", agent, "err", err)
	}
	return done
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
func (r *runs) enter(in api.Run) (id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id = freeID(r.a.current.Load().c, in.Program, func(id string) bool { return r.live[id] != nil || id == r.a.o.Agent.ID })
	r.begin(id, in.Writable)
	return id
}

// begin takes a run up. mu is held.
func (r *runs) begin(id string, writable []string) {
	if len(r.live) == 0 {
		r.none = make(chan struct{})
	}
	r.live[id] = append([]string{}, writable...)
}

// exit is the end of what [runs.begin] begins.
func (r *runs) exit(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.over, id)
	delete(r.asks, id)
	delete(r.doors, id)
	if delete(r.live, id); len(r.live) == 0 {
		close(r.none)
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

// RunEnded is for when the run of an agent has ended, and nothing of it asks any more.
func (a *App) RunEnded(agent string) {
	a.proxy.RunEnded(agent)
	if err := a.queue.RunEnded(context.WithoutCancel(a.runs.ctx), agent); err != nil && !errors.Is(err, store.ErrClosed) {
		a.log.Warn("what the run of an agent has asked does not say that nobody waits", "agent", agent, "err", err)
	}
}
