package tracks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// Bounds of what is remembered of sessions, whose names are the agents' word.
const (
	maxTracks    = 4096
	maxRepeats   = 64              // calls of one session
	repeatWindow = 5 * time.Minute // in which the same call counts as repeated
)

type sessionKey struct{ agent, id string }

// A Track is what is kept in memory of a session: its record, so that looking
// at it costs nothing, and counts of calls that nothing was stored for. Those
// are stored with the record's next change, so that a process that dies takes
// them with it. It is safe for concurrent use.
type Track struct {
	begin    sessions.Setting
	bindings *bindings

	mu      sync.Mutex
	record  *sessions.Record
	unsaved unsaved
	repeats map[holdgate.Digest]*repeat
	oldest  *repeat // of repeats
	newest  *repeat
	minute  minute
	used    time.Time
	tools   bool // a model request of it has offered tools
}

// unsaved is what has happened since the record was written.
type unsaved struct {
	counts  sessions.Counts
	results sessions.Results
}

// A repeat is a call that was made again and again.
type repeat struct {
	digest holdgate.Digest
	n      int
	since  time.Time
	next   *repeat // the next younger one
}

// A minute counts calls of the last minute, by second.
type minute struct {
	seconds [60]int32
	at      int64 // the second that was counted last
}

func (m *minute) forward(now time.Time) {
	s := now.Unix()
	for i := max(m.at+1, s-59); i <= s; i++ {
		m.seconds[i%60] = 0
	}
	m.at = max(m.at, s)
}

// Record is the session as stored. Nobody may change it.
func (s *Track) Record() *sessions.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// Setting is the mode that counts, as that of the agent's other sessions.
func (s *Track) Setting() sessions.Setting {
	r := s.Record()
	return r.SettingAmong(s.bindings.of(r.Agent), s.begin)
}

// Taint is what the session has been in touch with, sorted: see
// [sessions.Record.TaintAmong].
func (s *Track) Taint() []string {
	r := s.Record()
	if len(r.Taint) > 0 {
		s.bindings.inUse(r, time.Now())
	}
	return r.TaintAmong(s.bindings.of(r.Agent), time.Now())
}

// Counts are what became of the session's calls.
func (s *Track) Counts() sessions.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Counts.Plus(s.unsaved.counts)
}

// Results are how the session's latest tools ended.
func (s *Track) Results() sessions.Results {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Results.Plus(s.unsaved.results)
}

// Ended takes note of how tools of the session have ended.
func (s *Track) Ended(how sessions.Results) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := how.Count()
	s.unsaved.counts.Succeeded += n.Succeeded
	s.unsaved.counts.Failed += n.Failed
	s.unsaved.results = s.unsaved.results.Plus(how)
}

// Called takes note of a call, and returns how often the very same was made in
// the last [repeatWindow], this time included, and how many calls there were in
// the last minute.
func (s *Track) Called(d holdgate.Digest, now time.Time) (same, lately int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minute.forward(now)
	s.minute.seconds[s.minute.at%60]++
	for _, n := range s.minute.seconds {
		lately += int(n)
	}
	if d == "" {
		return 1, lately
	}
	for s.oldest != nil && now.Sub(s.oldest.since) > repeatWindow {
		s.dropOldest()
	}
	r := s.repeats[d]
	if r == nil {
		r = s.begins(d, now)
	}
	r.n++
	return r.n, lately
}

// begins remembers a call that is none of those made lately.
func (s *Track) begins(d holdgate.Digest, now time.Time) *repeat {
	if len(s.repeats) >= maxRepeats {
		s.dropOldest()
	}
	if s.repeats == nil {
		s.repeats = make(map[holdgate.Digest]*repeat)
	}
	r := &repeat{digest: d, since: now}
	s.repeats[d] = r
	if s.newest != nil {
		s.newest.next = r
	} else {
		s.oldest = r
	}
	s.newest = r
	return r
}

func (s *Track) dropOldest() {
	delete(s.repeats, s.oldest.digest)
	if s.oldest = s.oldest.next; s.oldest == nil {
		s.newest = nil
	}
}

// Decided counts what policy decided by itself.
func (s *Track) Decided(a holdgate.Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch a {
	case holdgate.Allow:
		s.unsaved.counts.Allowed++
	case holdgate.Deny:
		s.unsaved.counts.Refused++
	}
}

// Converses reports whether a model request is of the conversation that people
// follow: clients make others on the side, which offer no tools. Once a session
// has offered tools, only those count that do.
func (s *Track) Converses(offersTools bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = s.tools || offersTools
	return offersTools || !s.tools
}

// take hands over what is not stored yet, and giveBack takes what could not be
// stored.
func (s *Track) take() unsaved {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.unsaved
	s.unsaved = unsaved{}
	return u
}

func (s *Track) giveBack(u unsaved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsaved = unsaved{s.unsaved.counts.Plus(u.counts), u.results.Plus(s.unsaved.results)}
}

// tracks are the sessions in memory.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Revision > s.record.Revision {
		s.record = r
	}
	return s
}

// drop forgets the sessions that were used least lately.
func (ts *allTracks) drop() {
	all := slices.SortedFunc(maps.Keys(ts.open), func(a, b sessionKey) int { return ts.open[a].used.Compare(ts.open[b].used) })
	for _, k := range all[:len(all)/8] {
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
// record was not heard of since the sidecar started.
func (p *Keeper) Track(ctx context.Context, agent, id string) (*Track, error) {
	if s := p.tracks.find(sessionKey{agent, id}); s != nil {
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
	taken  unsaved // from the track
	saved  bool
}

// save writes what has changed of sessions.
func (p *Keeper) save(c *record.Change, all *changedSessions) error {
	for k, s := range all.of {
		if s.track = p.tracks.find(k); s.track != nil {
			s.taken = s.track.take()
		}
		s.record.Counts = s.record.Counts.Plus(s.taken.counts)
		s.record.Results = s.record.Results.Plus(s.taken.results)
		s.record.Last = c.Now
		err := sessions.Save(c.Tx, s.record)
		if errors.Is(err, sessions.ErrTooMany) {
			err = p.saveInRoom(c, all, s.record)
		}
		if errors.Is(err, sessions.ErrTooMany) && !s.must {
			continue
		}
		if err != nil {
			return err
		}
		s.saved = true
	}
	return nil
}

// saveInRoom writes a new session once those that are over have made room.
func (p *Keeper) saveInRoom(c *record.Change, all *changedSessions, r *sessions.Record) error {
	gone, err := sessions.MakeRoom(c.Tx, r.Agent, c.Now)
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

// byAgent orders sessions as lists show them.
func byAgent(a, b Session) int {
	return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
}
