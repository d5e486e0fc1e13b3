package approvals

import (
	"maps"
	"slices"
	"sync"

	"github.com/holdgate/holdgate/approvals/sessions"
)

// bindings are the records of sessions that hold for the other sessions of their
// agent too: see [sessions.Record.Binds]. They are few. It is safe for concurrent
// use.
type bindings struct {
	mu     sync.RWMutex
	agents map[string]map[string]*sessions.Record
}

func newBindings() *bindings { return &bindings{agents: make(map[string]map[string]*sessions.Record)} }

// learn takes in a record that is durable. The newest counts, and one that was
// here stays, so that an older one that comes late does not bind anew.
func (b *bindings) learn(r *sessions.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	had := b.agents[r.Agent][r.ID]
	if had == nil && !r.Binds() || had != nil && had.Revision > r.Revision {
		return
	}
	if b.agents[r.Agent] == nil {
		b.agents[r.Agent] = make(map[string]*sessions.Record)
	}
	b.agents[r.Agent][r.ID] = r
}

func (b *bindings) forget(k sessionKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.agents[k.agent], k.id)
}

// of lists those of an agent.
func (b *bindings) of(agent string) []*sessions.Record {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.agents[agent]) == 0 {
		return nil
	}
	return slices.Collect(maps.Values(b.agents[agent]))
}
