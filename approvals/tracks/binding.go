package tracks

import (
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/sessions"
)

// bindings are the records of sessions that hold for the other sessions of their
// agent too: see [sessions.Record.Binds]. They are few. It is safe for concurrent
// use.
type bindings struct {
	mu     sync.RWMutex
	agents map[string]map[string]*bound
}

// A bound is a record that binds, and when its session was in use last.
type bound struct {
	record *sessions.Record
	used   time.Time
}

func newBindings() *bindings { return &bindings{agents: make(map[string]map[string]*bound)} }

// learn takes in a record that is durable. The newest counts, and one that was
// here stays, so that an older one that comes late does not bind anew.
func (b *bindings) learn(r *sessions.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	had := b.agents[r.Agent][r.ID]
	switch {
	case had != nil && had.record.Revision > r.Revision:
	case had != nil:
		had.record = r
	case r.Binds():
		if b.agents[r.Agent] == nil {
			b.agents[r.Agent] = make(map[string]*bound)
		}
		b.agents[r.Agent][r.ID] = &bound{r, r.Last}
	}
}

// inUse takes note that a session that is tainted goes on: what it has read is in
// use as long.
func (b *bindings) inUse(r *sessions.Record, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if had := b.agents[r.Agent][r.ID]; had != nil {
		had.used = now
	}
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
	all := make([]*sessions.Record, 0, len(b.agents[agent]))
	for _, o := range b.agents[agent] {
		r := o.record
		if o.used.After(r.TaintedAt) {
			later := *r
			later.TaintedAt, r = o.used, &later
		}
		all = append(all, r)
	}
	return all
}
