package agents

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// Prefix begins the keys of agents' records.
const Prefix = "agent/"

// A State says whether what an agent does goes on.
type State string

// The states of an agent. What is no known word counts as stopped.
const (
	Running State = "running"
	Paused  State = "paused"  // nothing more is released until it is resumed
	Stopped State = "stopped" // everything is refused until it is resumed
)

// rank orders states by how little they let through.
func (s State) rank() int {
	switch s {
	case Running:
		return 0
	case Paused:
		return 1
	}
	return 2
}

// Everybody is the name under which people pause and stop all agents, those to
// come included. No agent has it.
const Everybody = ""

// A Status says whether an agent may go on, and who said so. The zero value
// is not running.
type Status struct {
	State  State     `json:"state"`
	By     string    `json:"by,omitempty"` // the person who paused or stopped it
	At     time.Time `json:"at,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Everybody says that all agents were paused or stopped, not this one by
	// name.
	Everybody bool `json:"everybody,omitempty"`
	// Session is set where not people have said so of the agent, but this session
	// of it must wait, and the others with it.
	Session string `json:"session,omitempty"`
}

// Running reports whether calls go on.
func (s Status) Running() bool { return s.State == Running }

// Stopped reports whether everything is refused.
func (s Status) Stopped() bool { return s.State.rank() > Paused.rank() }

// String says it in words, such as "stopped by ana: it went too far".
func (s Status) String() string {
	if s.Running() {
		return string(Running)
	}
	text := string(Paused)
	if s.Stopped() {
		text = string(Stopped)
	}
	if s.By != "" {
		text += " by " + s.By
	}
	return strings.TrimSuffix(text+": "+s.Reason, ": ")
}

// A HaltError says that nothing may be asked or used, for people have paused or
// stopped the agent.
type HaltError struct{ Status Status }

func (e *HaltError) Error() string { return "the agent is " + e.Status.String() }

// storedAgent is what people have made of an agent. Where there is no record it
// runs.
type storedAgent struct {
	record.Header

	ID     string    `json:"id"` // Everybody's is empty
	State  State     `json:"state"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Seq    uint64    `json:"seq"` // of the audit entry that records it
}

func (a storedAgent) status() Status {
	if a.State == Running {
		return Status{State: Running}
	}
	return Status{State: a.State, By: a.By, At: a.At, Reason: a.Reason, Everybody: a.ID == Everybody}
}

// read reads an agent's record.
func (k *Keeper) read(c *record.Change, id string) (storedAgent, error) {
	var a storedAgent
	err := record.Read(c.Tx, Prefix+id, &a)
	if errors.Is(err, store.ErrNotFound) {
		return storedAgent{Header: record.Current(), ID: id, State: Running}, nil
	}
	return a, err
}

// status is whether the agent may go on, as stored.
func (k *Keeper) status(c *record.Change, id string) (Status, error) {
	own, err := k.read(c, id)
	if err != nil {
		return Status{}, err
	}
	all, err := k.read(c, Everybody)
	if err != nil {
		return Status{}, err
	}
	return stricter(own, all), nil
}

// StatusIn is whether a session of the agent may go on, as stored.
func (k *Keeper) StatusIn(c *record.Change, agent, session string) (Status, error) {
	s, err := k.status(c, agent)
	if err != nil || s.Stopped() {
		return s, err
	}
	s = k.statuses.now.Load().withOthers(s, agent, session)
	r, err := sessions.Load(c.Tx, agent, session)
	if errors.Is(err, store.ErrNotFound) {
		return s, nil
	}
	if err != nil {
		return Status{}, err
	}
	return halted(s, r.ID, r.Halt), nil
}

// halted is the stricter of what is known of an agent already and the halt of a
// session.
func halted(s Status, session string, h *sessions.Halt) Status {
	switch {
	case h == nil, s.Stopped(), !s.Running() && !h.Stopped:
		return s
	}
	state := Paused
	if h.Stopped {
		state = Stopped
	}
	return Status{State: state, At: h.At, Reason: h.Reason, Session: session}
}

// Runs returns a [*HaltError] unless the agent may go on.
func (k *Keeper) Runs(c *record.Change, id, session string) error {
	s, err := k.StatusIn(c, id, session)
	if err == nil && !s.Running() {
		err = &HaltError{s}
	}
	return err
}

func stricter(own, all storedAgent) Status {
	if all.State.rank() > own.State.rank() {
		return all.status()
	}
	return own.status()
}

// statuses are the records in memory, so that looking costs nothing while
// nobody is paused. It is safe for concurrent use.
type statuses struct {
	now atomic.Pointer[snapshot]

	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// A snapshot is never changed; another takes its place.
type snapshot struct {
	agents  map[string]storedAgent
	halts   map[sessionOf]haltOf
	allRun  bool          // all run
	changed chan struct{} // closed when another takes its place
}

type sessionOf struct{ agent, id string }

// A haltOf is a session that must wait, as of a revision of its record. One that
// need not has no halt.
type haltOf struct {
	revision uint64
	halt     *sessions.Halt
	alone    bool // it holds no other session
}

// A watcher waits for an agent to be stopped.
type watcher struct {
	agent string
	fn    func()
}

func newStatuses() *statuses {
	s := &statuses{watchers: make(map[*watcher]struct{})}
	s.now.Store(&snapshot{allRun: true, changed: make(chan struct{})})
	return s
}

func (s *snapshot) of(agent string) Status {
	if s.allRun {
		return Status{State: Running}
	}
	find := func(id string) storedAgent {
		if a, ok := s.agents[id]; ok {
			return a
		}
		return storedAgent{ID: id, State: Running}
	}
	return stricter(find(agent), find(Everybody))
}

// learn takes in records that are durable. Transitions may come here in another
// order than they were committed in, so that the newest record counts.
func (s *statuses) learn(records []storedAgent) {
	if len(records) == 0 {
		return
	}
	s.mu.Lock()
	old := s.now.Load()
	next := &snapshot{agents: maps.Clone(old.agents), halts: old.halts, changed: make(chan struct{})}
	if next.agents == nil {
		next.agents = make(map[string]storedAgent)
	}
	for _, r := range records {
		if r.Seq > next.agents[r.ID].Seq {
			next.agents[r.ID] = r
		}
	}
	next.settle()
	s.now.Store(next)
	var told []*watcher
	for w := range s.watchers {
		if next.of(w.agent).Stopped() {
			told = append(told, w)
			delete(s.watchers, w)
		}
	}
	s.mu.Unlock()
	close(old.changed)
	for _, w := range told {
		w.fn()
	}
}

// settle finds out whether all run.
func (s *snapshot) settle() {
	s.allRun = true
	for _, r := range s.agents {
		s.allRun = s.allRun && r.State == Running
	}
	for _, h := range s.halts {
		s.allRun = s.allRun && h.halt == nil
	}
}

// Halted takes in a session's record that is durable. The newest counts.
func (k *Keeper) Halted(r *sessions.Record) { k.statuses.halt(r) }

func (s *statuses) halt(r *sessions.Record) {
	k := sessionOf{r.Agent, r.ID}
	s.mu.Lock()
	old := s.now.Load()
	had := old.halts[k]
	if had.halt == nil && r.Halt == nil || had.revision > r.Revision {
		s.mu.Unlock()
		return
	}
	next := &snapshot{agents: old.agents, halts: maps.Clone(old.halts), changed: make(chan struct{})}
	if next.halts == nil {
		next.halts = make(map[sessionOf]haltOf)
	}
	next.halts[k] = haltOf{r.Revision, r.Halt, r.Alone}
	next.settle()
	s.now.Store(next)
	s.mu.Unlock()
	close(old.changed)
}

// StatusOf is [Keeper.Status] of one session of the agent.
func (k *Keeper) StatusOf(agent, session string) (Status, <-chan struct{}) {
	s := k.statuses.now.Load()
	if s.allRun {
		return Status{State: Running}, s.changed
	}
	own := halted(s.of(agent), session, s.halts[sessionOf{agent, session}].halt)
	return s.withOthers(own, agent, session), s.changed
}

// withOthers is the stricter of what is known of a session already and the halts
// of the agent's others: a session's name is its client's word, so that all of
// them wait for what one of them must, unless a person lets that stand alone.
func (s *snapshot) withOthers(st Status, agent, session string) Status {
	for of, h := range s.halts {
		if of.agent == agent && of.id != session && !h.alone {
			if st = halted(st, of.id, h.halt); st.Session == of.id {
				st.Reason = "with session " + of.id + " of the agent, of which " + h.halt.Reason
			}
		}
	}
	return st
}

// Status returns whether the agent may go on, and a channel that is closed
// once that may have changed. While nobody is paused it costs next to nothing.
func (k *Keeper) Status(agent string) (Status, <-chan struct{}) {
	s := k.statuses.now.Load()
	return s.of(agent), s.changed
}

// WhenStopped calls fn once, as soon as the agent is stopped, which may be at
// once. fn must be quick. The function returned gives it up; fn may run while
// that returns.
func (k *Keeper) WhenStopped(agent string, fn func()) (forget func()) {
	w := &watcher{agent: agent, fn: fn}
	s := k.statuses
	s.mu.Lock()
	stopped := s.now.Load().of(agent).Stopped()
	if !stopped {
		s.watchers[w] = struct{}{}
	}
	s.mu.Unlock()
	if stopped {
		fn()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}
}

// See takes in records that have changed.
func (k *Keeper) See(tx store.Tx, keys []string) error {
	var all []storedAgent
	for _, key := range keys {
		var a storedAgent
		switch err := record.Read(tx, key, &a); {
		case errors.Is(err, store.ErrNotFound): // it was let go on; what came later has a higher number
			head, err := k.b.Log.HeadIn(tx)
			if err != nil {
				return err
			}
			all = append(all, storedAgent{ID: strings.TrimPrefix(key, Prefix), State: Running, Seq: head.Seq})
		case err != nil:
			return err
		default:
			all = append(all, a)
		}
	}
	k.statuses.learn(all)
	return nil
}

// TakeUp reads who was paused or stopped, and returns who was stopped.
func (k *Keeper) TakeUp(tx store.Tx) (stopped []string, err error) {
	var all []storedAgent
	for p, err := range tx.Scan(Prefix, "") {
		if err != nil {
			return nil, err
		}
		var a storedAgent
		if err := record.Decode(p.Key, p.Value, &a); err != nil {
			return nil, err
		}
		if a.ID != strings.TrimPrefix(p.Key, Prefix) {
			return nil, fmt.Errorf("reading %s: it is the record of %q", p.Key, a.ID)
		}
		all = append(all, a)
		if a.status().Stopped() {
			stopped = append(stopped, a.ID)
		}
		if a.ID != Everybody {
			k.activity.know(a.ID)
		}
	}
	k.statuses.learn(all)
	return stopped, nil
}
