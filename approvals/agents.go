package approvals

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

// An Agent is one that was seen since the sidecar started, or that something
// stored is about.
type Agent struct {
	ID          string `json:"id"`
	Proven      bool   `json:"proven"` // whenever it was seen
	Confinement string `json:"confinement,omitempty"`
	Standing
	LastSeen time.Time `json:"last_seen,omitzero"` // absent: not since the sidecar started
	Doors    []string  `json:"doors"`
	Sessions []string  `json:"sessions"` // the latest last, at most 16
	Pending  int       `json:"pending"`  // requests
}

// Bounds of what is remembered of agents, for some of it is their own word.
const (
	maxAgents   = 1000
	maxSessions = 16
	maxDoors    = 16
)

// sightings are what was seen of agents, in memory. It is safe for concurrent
// use.
type sightings struct {
	mu     sync.Mutex
	agents map[string]*Agent
}

func newSightings() *sightings { return &sightings{agents: make(map[string]*Agent)} }

// know remembers that there is such an agent.
func (s *sightings) know(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(id)
}

func (s *sightings) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents[id] != nil
}

// of returns what is remembered of an agent. The caller holds the lock.
func (s *sightings) of(id string) *Agent {
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
func (s *sightings) see(c Caller, at time.Time) {
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
func (s *sightings) all() []Agent {
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
func (q *Queue) Expect(a holdgate.Agent) {
	s := q.sightings
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.of(a.ID)
	if known.LastSeen.IsZero() {
		known.Proven, known.Confinement = a.Proven, a.Confinement
	}
}

// Seen takes note that an agent makes a request, for [Queue.Agents].
func (q *Queue) Seen(c Caller) { q.sightings.see(c, record.Now()) }

// Agents returns the agents that are known, by id.
func (q *Queue) Agents(ctx context.Context) ([]Agent, error) {
	pending := map[string]int{}
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		return record.EachAsked(tx, func(a record.StoredAsked) { pending[a.Agent]++ })
	})
	if err != nil {
		return nil, fmt.Errorf("listing agents: %w", err)
	}
	for id := range pending {
		q.sightings.know(id)
	}
	list := q.sightings.all()
	for i := range list {
		list[i].Standing, _ = q.Standing(list[i].ID)
		list[i].Pending = pending[list[i].ID]
	}
	return list, nil
}
