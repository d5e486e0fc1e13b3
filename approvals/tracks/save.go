package tracks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// of is a session's record, to be changed in this transition by a person: it
// stays that of a proven agent, or of one that is not.
func (p *Keeper) of(c *record.Change, agent, id string) (*sessions.Record, error) {
	r, err := sessions.Load(c.Tx, agent, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return p.record(c, agent, id, err == nil && r.Proven, true)
}

// record is a session's record, to be changed in this transition. proven says
// whether its agent is. Where the agent has named too many sessions and must is
// false, the change is dropped.
func (p *Keeper) record(c *record.Change, agent, id string, proven, must bool) (*sessions.Record, error) {
	k, all := sessionKey{agent, id}, p.changed(c)
	if s, ok := all.of[k]; ok {
		s.must = s.must || must
		return s.record, nil
	}
	r, err := sessions.Load(c.Tx, agent, id)
	if errors.Is(err, store.ErrNotFound) {
		r, err = sessions.New(agent, id, c.Now), nil
	}
	if err != nil {
		return nil, err
	}
	r = r.For(proven)
	r.Proven = proven
	all.of[k] = &changedSession{record: r, must: must}
	return r, nil
}

// changedSessions are those that one change changes.
type changedSessions struct {
	of        map[sessionKey]*changedSession
	forgotten []sessionKey // that made room for others
}

func (p *Keeper) changed(c *record.Change) *changedSessions {
	return record.Part(c, p, func() *changedSessions {
		all := &changedSessions{of: make(map[sessionKey]*changedSession)}
		c.Last(func() error { return p.save(c, all) })
		c.Durable(func() { p.learn(c, all) })
		c.Undone(all.undo)
		return all
	})
}

// A changedSession is one that a transition changes.
type changedSession struct {
	record *sessions.Record
	must   bool
	track  *Track
	taken  *unsaved // from the track
	saved  bool
}

// save writes what has changed of sessions.
func (p *Keeper) save(c *record.Change, all *changedSessions) error {
	for k, s := range all.of {
		if s.track = p.tracks.find(k); s.track != nil {
			s.taken = s.track.takeUnsaved(s.record.Revision + 1)
			s.record.Counts = s.record.Counts.Plus(s.taken.counts)
			s.record.Results = s.record.Results.Plus(s.taken.results)
			s.record.Usage = s.record.Usage.Plus(s.taken.usage)
		}
		s.record.Last = c.Now
		err := p.store(c, all, s.record)
		if errors.Is(err, sessions.ErrTooMany) && !s.must {
			if s.track != nil {
				s.track.giveBack(s.taken)
				s.track = nil
			}
			continue
		}
		if err != nil {
			return err
		}
		s.saved = true
	}
	return nil
}

// lookAgainAfter is how long an agent is known to have no room for a new session. To find that out reads all that it
// has, within the one transaction for which everybody else waits, and an agent can name new sessions as fast as it asks.
const lookAgainAfter = time.Minute

// store writes a session. A new one is refused, and nothing is read, where there was no room just now.
func (p *Keeper) store(c *record.Change, all *changedSessions, r *sessions.Record) error {
	begins := r.Revision == 0
	if begins && p.full.is(r.Agent, c.Now) {
		return sessions.ErrTooMany
	}
	err := sessions.Save(c.Tx, r)
	if errors.Is(err, sessions.ErrTooMany) {
		err = p.saveEvicting(c, all, r)
	}
	if begins && errors.Is(err, sessions.ErrTooMany) {
		p.full.found(r.Agent, c.Now)
	}
	return err
}

// saveEvicting writes a new session once those that are over have made room.
func (p *Keeper) saveEvicting(c *record.Change, all *changedSessions, r *sessions.Record) error {
	gone, err := sessions.EvictOver(c.Tx, r.Agent, c.Now)
	if err != nil {
		return err
	}
	for _, id := range gone {
		all.forgotten = append(all.forgotten, sessionKey{r.Agent, id})
	}
	return sessions.Save(c.Tx, r)
}

// learn takes what has become durable into memory.
func (p *Keeper) learn(c *record.Change, all *changedSessions) {
	for _, k := range all.forgotten {
		p.tracks.forget(k)
	}
	for _, s := range all.of {
		if s.saved {
			p.tracks.learn(s.record)
			p.tracks.bindings.learn(s.record)
			p.c.Halted(s.record)
		}
	}
}

// undo gives back what a transition took that did not become durable.
func (all *changedSessions) undo() {
	for _, s := range all.of {
		if s.track != nil {
			s.track.giveBack(s.taken)
		}
	}
}

// saveAtOnce is how many sessions are saved in one transaction.
const saveAtOnce = 32

// Save stores what answers to sessions have used since anything was stored of them. It is
// for now and then, and for the end, so that no answer waits for the disk.
func (p *Keeper) Save(ctx context.Context) error {
	proven := map[sessionKey]bool{}
	for _, t := range p.tracks.all() {
		if owes, is := t.owes(); owes {
			r := t.Record()
			proven[sessionKey{r.Agent, r.ID}] = is
		}
	}
	for batch := range slices.Chunk(slices.Collect(maps.Keys(proven)), saveAtOnce) {
		err := p.b.Change(ctx, func(c *record.Change) error {
			for _, k := range batch {
				r, err := p.record(c, k.agent, k.id, proven[k], false)
				if err != nil {
					return err
				}
				if r.Revision > 0 {
					r.Counted++
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("storing what sessions have used: %w", err)
		}
	}
	return nil
}

// TakeUp reads which sessions are halted, and which bind others.
func (p *Keeper) TakeUp(tx store.Tx) error {
	if err := p.takeUpMail(tx); err != nil {
		return err
	}
	return sessions.Each(tx, func(r *sessions.Record) error {
		p.c.Halted(r)
		p.tracks.bindings.learn(r)
		return nil
	})
}

// forgetAtOnce is how many sessions are forgotten in one transaction.
const forgetAtOnce = 32

// Forget deletes records of sessions that nothing was heard of for as
// long as requests are kept.
func (p *Keeper) Forget(ctx context.Context) error {
	limit := record.Now().Add(-p.c.Keep)
	var old []sessionKey
	err := p.b.Store.View(ctx, func(tx store.Tx) error {
		return sessions.Each(tx, func(r *sessions.Record) error {
			if r.Last.Before(limit) && r.Halt == nil {
				old = append(old, sessionKey{r.Agent, r.ID})
			}
			return nil
		})
	})
	for batch := range slices.Chunk(old, forgetAtOnce) {
		if err != nil {
			break
		}
		err = p.b.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			for _, k := range batch {
				if err := sessions.Forget(tx, k.agent, k.id); err != nil {
					return err
				}
			}
			return nil
		})
		for _, k := range batch {
			p.tracks.forget(k)
		}
	}
	if err != nil {
		return fmt.Errorf("forgetting sessions: %w", err)
	}
	return nil
}
