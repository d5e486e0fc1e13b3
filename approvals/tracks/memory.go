package tracks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// allTracks are the sessions in memory.
type allTracks struct {
	begin    sessions.Setting
	bindings *bindings // of all sessions that are stored

	mu   sync.Mutex
	open map[sessionKey]*Track
}

func newTracks(begin sessions.Setting) *allTracks {
	return &allTracks{begin: begin, bindings: newBindings(), open: make(map[sessionKey]*Track)}
}

func (ts *allTracks) find(k sessionKey) *Track {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	s := ts.open[k]
	if s != nil {
		s.used = time.Now()
	}
	return s
}

// learn takes in a record that is durable, unless a newer one is here.
func (ts *allTracks) learn(r *sessions.Record) *Track {
	k := sessionKey{r.Agent, r.ID}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	s := ts.open[k]
	if s == nil {
		if len(ts.open) >= maxTracks {
			ts.drop()
		}
		s = &Track{begin: ts.begin, bindings: ts.bindings, record: r}
		ts.open[k] = s
	}
	s.used = time.Now()
	s.learn(r)
	return s
}

// drop forgets the sessions that were used least lately. What was used and is not stored
// is forgotten only where there are twice as many as there should be: an agent can name
// sessions that the store has no room for.
func (ts *allTracks) drop() {
	stored := maps.Clone(ts.open)
	maps.DeleteFunc(stored, func(_ sessionKey, s *Track) bool { return s.onlyHere() })
	if len(ts.open) >= 2*maxTracks {
		stored = ts.open
	}
	old := slices.SortedFunc(maps.Keys(stored), func(a, b sessionKey) int { return ts.open[a].used.Compare(ts.open[b].used) })
	for _, k := range old[:min(len(old), len(ts.open)/8)] {
		delete(ts.open, k)
	}
}

func (ts *allTracks) forget(k sessionKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.open, k)
	ts.bindings.forget(k)
}

// all are the records in memory.
func (ts *allTracks) all() []*Track {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.Collect(maps.Values(ts.open))
}

// Track returns what is known of a session. It reads the store where the
// record was not heard of since the sidecar started, or others may have changed it.
func (p *Keeper) Track(ctx context.Context, agent, id string) (*Track, error) {
	if s := p.tracks.find(sessionKey{agent, id}); s != nil && !p.c.Shared {
		return s, nil
	}
	var r *sessions.Record
	err := p.b.Store.View(ctx, func(tx store.Tx) (err error) {
		r, err = sessions.Load(tx, agent, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		r, err = sessions.New(agent, id, record.Now()), nil
	}
	if err != nil {
		return nil, err
	}
	return p.tracks.learn(r), nil
}

// See takes in records that have changed.
func (p *Keeper) See(tx store.Tx, keys []string) error {
	for _, key := range keys {
		agent, id, r, err := sessions.LoadKey(tx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			p.tracks.forget(sessionKey{agent, id})
		case err != nil:
			return err
		default:
			p.c.Halted(r)
			p.tracks.bindings.learn(r)
			p.tracks.update(r)
		}
	}
	return nil
}

// update is learn for a session that is in memory.
func (ts *allTracks) update(r *sessions.Record) {
	ts.mu.Lock()
	s := ts.open[sessionKey{r.Agent, r.ID}]
	ts.mu.Unlock()
	if s != nil {
		s.learn(r)
	}
}

// CatchUp takes in what is stored of a session. Whoever reads the store may see a
// transition before the one that made it has taken it into memory.
func (p *Keeper) CatchUp(ctx context.Context, agent, id string) error {
	var r *sessions.Record
	err := p.b.Store.View(ctx, func(tx store.Tx) (err error) {
		r, err = sessions.Load(tx, agent, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.tracks.learn(r)
	return nil
}
