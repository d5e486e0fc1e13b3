package approvals

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
type tracks struct {
	begin    sessions.Setting
	bindings *bindings // of all sessions that are stored

	mu   sync.Mutex
	open map[sessionKey]*Track
}

func newTracks(begin sessions.Setting) *tracks {
	return &tracks{begin: begin, bindings: newBindings(), open: make(map[sessionKey]*Track)}
}

func (ts *tracks) find(k sessionKey) *Track {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	s := ts.open[k]
	if s != nil {
		s.used = time.Now()
	}
	return s
}

// learn takes in a record that is durable, unless a newer one is here.
func (ts *tracks) learn(r *sessions.Record) *Track {
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
func (ts *tracks) drop() {
	all := slices.SortedFunc(maps.Keys(ts.open), func(a, b sessionKey) int { return ts.open[a].used.Compare(ts.open[b].used) })
	for _, k := range all[:len(all)/8] {
		delete(ts.open, k)
	}
}

func (ts *tracks) forget(k sessionKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.open, k)
	ts.bindings.forget(k)
}

// all are the records in memory.
func (ts *tracks) all() []*Track {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.Collect(maps.Values(ts.open))
}

// Track returns what is known of a session. It reads the store where the
// session was not heard of since the sidecar started.
func (q *Queue) Track(ctx context.Context, agent, id string) (*Track, error) {
	if s := q.tracks.find(sessionKey{agent, id}); s != nil {
		return s, nil
	}
	var r *sessions.Record
	err := q.c.Store.View(ctx, func(tx store.Tx) (err error) {
		r, err = sessions.Load(tx, agent, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		r, err = sessions.New(agent, id, record.Now()), nil
	}
	if err != nil {
		return nil, err
	}
	return q.tracks.learn(r), nil
}

// catchUp takes in what is stored of a session. Whoever reads the store may see a
// transition before the one that made it has taken it into memory.
func (q *Queue) catchUp(ctx context.Context, agent, id string) error {
	var r *sessions.Record
	err := q.c.Store.View(ctx, func(tx store.Tx) (err error) {
		r, err = sessions.Load(tx, agent, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	q.tracks.learn(r)
	return nil
}

// sessionOf is a session's record, to be changed in this transition by a person: it
// stays that of a proven agent, or of one that is not.
func (t *transition) sessionOf(agent, id string) (*sessions.Record, error) {
	r, err := sessions.Load(t.Tx, agent, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return t.session(agent, id, err == nil && r.Proven, true)
}

// session is a session's record, to be changed in this transition. proven says
// whether its agent is. Where the agent has named too many sessions and must is
// false, the change is dropped.
func (t *transition) session(agent, id string, proven, must bool) (*sessions.Record, error) {
	k, all := sessionKey{agent, id}, t.sessions()
	if s, ok := all.of[k]; ok {
		s.must = s.must || must
		return s.record, nil
	}
	r, err := sessions.Load(t.Tx, agent, id)
	if errors.Is(err, store.ErrNotFound) {
		r, err = sessions.New(agent, id, t.Now), nil
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

func (t *transition) sessions() *changedSessions {
	return record.Part(t.Change, t.q.tracks, func() *changedSessions {
		all := &changedSessions{of: make(map[sessionKey]*changedSession)}
		t.Last(func() error { return t.saveSessions(all) })
		t.Durable(func() { t.learnSessions(all) })
		t.Undone(all.undo)
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

// saveSessions writes what has changed of sessions.
func (t *transition) saveSessions(all *changedSessions) error {
	for k, s := range all.of {
		if s.track = t.q.tracks.find(k); s.track != nil {
			s.taken = s.track.take()
		}
		s.record.Counts = s.record.Counts.Plus(s.taken.counts)
		s.record.Results = s.record.Results.Plus(s.taken.results)
		s.record.Last = t.Now
		err := sessions.Save(t.Tx, s.record)
		if errors.Is(err, sessions.ErrTooMany) {
			err = t.saveInRoom(all, s.record)
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
func (t *transition) saveInRoom(all *changedSessions, r *sessions.Record) error {
	gone, err := sessions.MakeRoom(t.Tx, r.Agent, t.Now)
	if err != nil {
		return err
	}
	for _, id := range gone {
		all.forgotten = append(all.forgotten, sessionKey{r.Agent, id})
	}
	return sessions.Save(t.Tx, r)
}

// learnSessions takes what has become durable into memory.
func (t *transition) learnSessions(all *changedSessions) {
	for _, k := range all.forgotten {
		t.q.tracks.forget(k)
	}
	for _, s := range all.of {
		if s.saved {
			t.q.tracks.learn(s.record)
			t.q.tracks.bindings.learn(s.record)
			t.q.Agents.Halted(s.record)
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

// takeUpSessions reads which sessions are halted, and which bind others.
func (q *Queue) takeUpSessions(tx store.Tx) error {
	return sessions.Each(tx, func(r *sessions.Record) error {
		q.Agents.Halted(r)
		q.tracks.bindings.learn(r)
		return nil
	})
}

// forgetSessions deletes records of sessions that nothing was heard of for as
// long as requests are kept.
func (q *Queue) forgetSessions(ctx context.Context) error {
	limit := record.Now().Add(-q.c.Retention.Requests)
	var old []sessionKey
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		return sessions.Each(tx, func(r *sessions.Record) error {
			if r.Last.Before(limit) && r.Halt == nil {
				old = append(old, sessionKey{r.Agent, r.ID})
			}
			return nil
		})
	})
	for batch := range slices.Chunk(old, forgetBatch) {
		if err != nil {
			break
		}
		err = q.c.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			for _, k := range batch {
				if err := sessions.Forget(tx, k.agent, k.id); err != nil {
					return err
				}
			}
			return nil
		})
		for _, k := range batch {
			q.tracks.forget(k)
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
