package agents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// A Keeper keeps who is paused or stopped, and what was seen of agents. What it has in
// memory of the first is a view of the store; the second it has alone. It is safe for
// concurrent use.
type Keeper struct {
	b        *record.Book
	follow   Followers
	statuses *statuses
	activity *activity
}

// Followers are what others do of an intervention, in its transaction.
type Followers struct {
	Resumed    func(c *record.Change, agent, by string) error       // one agent, or [Everybody]
	Redirected func(c *record.Change, agent, by, what string) error // an instruction is left for its next model request
}

// New keeps the agents of a book, once [Keeper.TakeUp] has read them.
func New(b *record.Book, f Followers) *Keeper {
	return &Keeper{b, f, newStatuses(), &activity{agents: make(map[string]*Agent)}}
}

// Know remembers that there is such an agent.
func (k *Keeper) Know(id string) { k.activity.know(id) }

// Knows reports whether there is such an agent.
func (k *Keeper) Knows(id string) bool { return k.activity.knows(id) }

// An Agent is one that was seen since the sidecar started, or that something
// stored is about.
type Agent struct {
	ID          string `json:"id"`
	Proven      bool   `json:"proven"` // whenever it was seen
	Confinement string `json:"confinement,omitempty"`
	Status
	LastSeen time.Time `json:"last_seen,omitzero"` // absent: not since the sidecar started
	Doors    []string  `json:"doors"`
	Sessions []string  `json:"sessions"` // the latest last, at most 16
	Pending  int       `json:"pending"`  // requests
	// Usage is what its sessions have used, as far as they are known. It is for others to
	// add.
	Usage holdgate.Usage `json:"usage,omitzero"`
}

// Bounds of what is remembered of agents, for some of it is their own word.
const (
	maxAgents   = 1000
	maxSessions = 16
	maxDoors    = 16
)

// activity are what was seen of agents, in memory. It is safe for concurrent
// use.
type activity struct {
	mu     sync.Mutex
	agents map[string]*Agent
}

// know remembers that there is such an agent.
func (s *activity) know(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(id)
}

func (s *activity) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents[id] != nil
}

// of returns what is remembered of an agent. The caller holds the lock.
func (s *activity) of(id string) *Agent {
	if a := s.agents[id]; a != nil {
		return a
	}
	if len(s.agents) >= maxAgents {
		oldest := slices.MinFunc(slices.Collect(maps.Values(s.agents)), func(a, b *Agent) int { return a.LastSeen.Compare(b.LastSeen) })
		delete(s.agents, oldest.ID)
	}
	a := &Agent{ID: id}
	s.agents[id] = a
	return a
}

// see takes note of a request.
func (s *activity) see(c record.Caller, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(c.Agent.ID)
	a.Proven = c.Agent.Proven && (a.Proven || a.LastSeen.IsZero())
	a.Confinement, a.LastSeen = c.Agent.Confinement, at
	a.Doors = appendLatest(a.Doors, c.Door, maxDoors)
	a.Sessions = appendLatest(a.Sessions, c.Session.ID, maxSessions)
}

// appendLatest puts s at the end of a list in which it stands once.
func appendLatest(list []string, s string, most int) []string {
	if n := len(list); n > 0 && list[n-1] == s {
		return list
	}
	list = append(slices.DeleteFunc(list, func(o string) bool { return o == s }), s)
	return list[max(0, len(list)-most):]
}

// all returns a copy of what is remembered, by id.
func (s *activity) all() []Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Agent, 0, len(s.agents))
	for _, a := range s.agents {
		c := *a
		c.Doors, c.Sessions = append([]string{}, a.Doors...), append([]string{}, a.Sessions...)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Agent) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Expect makes an agent known before it makes its first request.
func (k *Keeper) Expect(a holdgate.Agent) {
	s := k.activity
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.of(a.ID)
	if known.LastSeen.IsZero() {
		known.Proven, known.Confinement = a.Proven, a.Confinement
	}
}

// Seen takes note that an agent makes a request, for [Keeper.List].
func (k *Keeper) Seen(c record.Caller) { k.activity.see(c, record.Now()) }

// List returns the agents that are known, by id.
func (k *Keeper) List(ctx context.Context) ([]Agent, error) {
	pending := map[string]int{}
	err := k.b.Store.View(ctx, func(tx store.Tx) error {
		return record.EachAsked(tx, func(a record.StoredAsked) { pending[a.Agent]++ })
	})
	if err != nil {
		return nil, fmt.Errorf("listing agents: %w", err)
	}
	for id := range pending {
		k.activity.know(id)
	}
	list := k.activity.all()
	for i := range list {
		list[i].Status, _ = k.Status(list[i].ID)
		list[i].Pending = pending[list[i].ID]
	}
	return list, nil
}
