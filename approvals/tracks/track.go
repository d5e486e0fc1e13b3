package tracks

import (
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// Bounds of what is remembered of sessions, whose names are the agents' word.
const (
	maxTracks    = 4096
	maxRepeats   = 64              // calls of one session
	repeatWindow = 5 * time.Minute // in which the same call counts as repeated
)

type sessionKey struct{ agent, id string }

// A Track is what is kept in memory of a session: its record, so that looking
// at it costs nothing, and counts of calls that nothing was stored for, with what
// answers have used. Those are stored with the record's next change, or by
// [Keeper.Save], so that a process that dies takes with it what came since. It is
// safe for concurrent use.
type Track struct {
	begin    sessions.Setting
	bindings *bindings

	mu      sync.Mutex
	record  *sessions.Record
	unsaved unsaved
	taken   []*unsaved // to be stored, and neither in the record nor given back yet
	repeats map[holdgate.Digest]*repeat
	oldest  *repeat // of repeats
	newest  *repeat
	minute  minute
	used    time.Time
	tools   bool // a model request of it has offered tools
	proven  bool // the agent, when an answer to it was counted last
}

// unsaved is what has happened since the record was written.
type unsaved struct {
	revision uint64 // of the record that has it, once it was taken
	counts   sessions.Counts
	results  sessions.Results
	usage    holdgate.Usage
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
	n := s.record.Counts
	for _, u := range s.taken {
		n = n.Plus(u.counts)
	}
	return n.Plus(s.unsaved.counts)
}

// Results are how the session's latest tools ended.
func (s *Track) Results() sessions.Results {
	s.mu.Lock()
	defer s.mu.Unlock()
	how := s.record.Results
	for _, u := range s.taken {
		how = how.Plus(u.results)
	}
	return how.Plus(s.unsaved.results)
}

// Usage is what the answers to the session have used.
func (s *Track) Usage() holdgate.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.record.Usage
	for _, u := range s.taken {
		sum = sum.Plus(u.usage)
	}
	return sum.Plus(s.unsaved.usage)
}

// Used takes note of what an answer to an agent has used, which is proven or is not.
func (s *Track) Used(u holdgate.Usage, proven bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsaved.usage, s.proven = s.unsaved.usage.Plus(u), proven
}

// onlyHere reports whether something was used that is not stored, or not known to be.
func (s *Track) onlyHere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsaved.usage.Answers > 0 || len(s.taken) > 0
}

// owes reports whether something was used that is not stored, and whether the agent is
// proven.
func (s *Track) owes() (owes, proven bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsaved.usage.Answers > 0, s.proven
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

// takeUnsaved hands over what is not stored yet, for a revision of the record. It counts
// here until learn has that, or giveBack what could not be stored.
func (s *Track) takeUnsaved(revision uint64) *unsaved {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.unsaved
	u.revision, s.unsaved = revision, unsaved{}
	s.taken = append(s.taken, &u)
	return &u
}

func (s *Track) giveBack(u *unsaved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = slices.DeleteFunc(s.taken, func(t *unsaved) bool { return t == u })
	s.unsaved = unsaved{counts: s.unsaved.counts.Plus(u.counts), results: u.results.Plus(s.unsaved.results), usage: u.usage.Plus(s.unsaved.usage)}
}

// learn takes in a record that is durable, unless a newer one is here.
func (s *Track) learn(r *sessions.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Revision > s.record.Revision {
		s.record = r
	}
	s.taken = slices.DeleteFunc(s.taken, func(t *unsaved) bool { return t.revision <= s.record.Revision })
}
