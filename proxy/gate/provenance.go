package gate

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Bounds of what is remembered of calls. What is over them is never an alarm.
const (
	maxSessions  = 256
	maxSeenCalls = 4096 // names of calls in one session; most calls have three
)

// A fate is what became of a call. Of two calls with one name the greater
// counts, so that nobody is accused for a name that was given twice.
type fate byte

const (
	fateUnseen   fate = iota
	fateAsked         // nothing is decided
	fateRefused       // it was refused
	fateHeld          // people have not decided
	fateEarlier       // its result was there before the session was watched
	fateReleased      // it went on
	fateAnswered      // and its result was seen
)

// why says what is wrong with a result of such a call.
func (m fate) why() string {
	switch m {
	case fateRefused:
		return holdgate.UnapprovedRefused
	case fateAsked, fateHeld:
		return holdgate.UnapprovedHeld
	}
	return holdgate.UnapprovedUnseen
}

// provenance remembers which calls models have asked for and what became of them, by
// session, so that the results which agents show can be matched to them. It
// knows nothing of the time before this process: what it never saw then is
// unknown, and not unapproved. It is safe for concurrent use.
type provenance struct {
	mu       sync.Mutex
	sessions map[sessionOf]*seenCalls
}

type sessionOf struct{ agent, id string }

// A callName is one of the names of a call: its id, its id and tool, or its
// tool and arguments; or that of a finding.
type callName [16]byte

// seenCalls are the calls of one session.
type seenCalls struct {
	states map[callName]fate
	// whole says that the session was watched from its first request, so that
	// every call of it is among states; full, that some had no room there.
	whole, full bool
	told        map[callName]bool // findings: whether a request with them went on
	read        int               // results of the latest request
	used        time.Time
}

func newProvenance() *provenance { return &provenance{sessions: make(map[sessionOf]*seenCalls)} }

// of returns the calls of a session, and whether they are new.
func (m *provenance) of(who approvals.Caller) (c *seenCalls, first bool) {
	k := sessionOf{who.Agent.ID, who.Session.ID}
	c = m.sessions[k]
	if c == nil {
		if len(m.sessions) >= maxSessions {
			m.dropOldest()
		}
		c = &seenCalls{states: make(map[callName]fate), told: make(map[callName]bool)}
		m.sessions[k], first = c, true
	}
	c.used = time.Now()
	return c, first
}

func (m *provenance) dropOldest() {
	var oldest sessionOf
	var at time.Time
	for k, c := range m.sessions {
		if at.IsZero() || c.used.Before(at) {
			oldest, at = k, c.used
		}
	}
	delete(m.sessions, oldest)
}

// became notes what became of a call: with the arguments in which it goes on.
func (m *provenance) became(who approvals.Caller, id string, t *holdgate.Tool, s fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.of(who)
	hookName, shown := atHook(t)
	names := append(namesOf(wire.Result{ID: id, Tool: t.Name, Arguments: t.Arguments}), namesOf(wire.Result{ID: id})...)
	if hookName != t.Name {
		names = append(names, namesOf(wire.Result{Tool: hookName, Arguments: shown})...)
	}
	for _, name := range names {
		c.set(name, s)
	}
}

func (c *seenCalls) set(name callName, s fate) {
	old, known := c.states[name]
	if !known && len(c.states) >= maxSeenCalls {
		c.full = true
		return
	}
	if s == fateReleased && old == fateAnswered {
		old = s // the same once more
	}
	c.states[name] = max(old, s)
}

// unapproved returns the results of a request whose calls were not let go on,
// as far as that is sure, and which of them nobody was told of yet. A result
// that was never seen counts where the session was watched from its beginning,
// or behind one whose call was released: what came before the sidecar, or
// before a process of it that has ended, is unknown.
func (m *provenance) unapproved(who approvals.Caller, h wire.History) (all, fresh []holdgate.Unapproved) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, first := m.of(who)
	if first {
		c.whole = !h.Begun && len(h.Results) == 0 && who.Session.ID != holdgate.SessionDefault
	}
	anchored := c.whole
	for _, r := range h.Results {
		s := c.state(r)
		switch {
		case s == fateReleased || s == fateAnswered:
			anchored = true
			continue
		case s == fateEarlier:
			continue
		case s == fateUnseen && (!anchored || c.full):
			for _, name := range namesOf(r) {
				c.set(name, fateEarlier)
			}
			continue
		}
		u := holdgate.Unapproved{ID: r.ID, Tool: r.Tool, Why: s.why()}
		passed, told := c.told[findingName(u)]
		if !told && len(c.told) < maxSeenCalls {
			c.told[findingName(u)] = false
			fresh = append(fresh, u)
		}
		if !passed {
			all = append(all, u)
		}
	}
	return all, fresh
}

// reached says what is known of a call that reached its agent's hook: whether a model's
// answer had it in the session, and whether the session's models are asked through here
// at all. A proven agent's sessions are all its own, whatever they are called. same says
// that this very call was released there: its id alone is the agent's word.
func (m *provenance) reached(who approvals.Caller, id string, t *holdgate.Tool) (is fate, same, watched bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, c := range m.sessions {
		if k.agent != who.Agent.ID || k.id != who.Session.ID && !who.Agent.Proven {
			continue
		}
		watched = watched || !c.full
		name, arguments := atHook(t)
		for _, r := range []wire.Result{{ID: id}, {ID: id, Tool: t.Name}, {Tool: name, Arguments: arguments}} {
			s := c.state(r)
			is = max(is, s)
			same = same || r.ID == "" && s >= fateReleased
		}
	}
	return is, same, watched
}

// answered takes note that the result of a call was seen at its agent's hook, and says what
// was known of the call.
func (m *provenance) answered(who approvals.Caller, r wire.Result) (was fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, c := range m.sessions {
		if k.agent != who.Agent.ID || k.id != who.Session.ID && !who.Agent.Proven {
			continue
		}
		s := c.state(r)
		if was = max(was, s); s != fateReleased {
			continue
		}
		for _, name := range namesOf(r) {
			c.set(name, fateAnswered)
		}
		if r.ID != "" {
			c.set(nameOf("id", r.ID), fateAnswered)
		}
	}
	return was
}

// A news is what the results say that no request of the session had before.
type news struct {
	ungated []wire.Result // whose calls this session's gate has not seen
	ended   sessions.Results
}

// news returns what is new in a request. The caller has asked for the results of
// calls that were not let go on before.
func (m *provenance) news(who approvals.Caller, h wire.History) (n news) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.of(who)
	from := c.read
	if c.read = len(h.Results); from > c.read {
		from = 0 // the client has made its history shorter
	}
	for _, r := range h.Results[from:] {
		switch s := c.state(r); {
		case r.Tool != "" && (s == fateUnseen || s == fateEarlier):
			n.ungated = append(n.ungated, r)
		case s == fateReleased && r.Ended != wire.EndedUnknown:
			for _, name := range namesOf(r) {
				c.set(name, fateAnswered)
			}
			n.ended = n.ended.And(r.Ended == wire.EndedWell)
		}
	}
	return n
}

// passed notes that a request with these went on: later ones with the same
// history have nothing new in them.
func (m *provenance) passed(who approvals.Caller, list []holdgate.Unapproved) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.of(who)
	for _, u := range list {
		c.told[findingName(u)] = true
	}
}

// state is what became of the call of a result, by the first of its names that
// is known: some clients change ids, and some providers give none.
func (c *seenCalls) state(r wire.Result) fate {
	for _, name := range namesOf(r) {
		if s, known := c.states[name]; known {
			return s
		}
	}
	return fateUnseen
}

// namesOf are the names by which the call of a result may be known. A tool and
// an id are one name, for an id that comes with another tool is of another call.
func namesOf(r wire.Result) (names []callName) {
	switch {
	case r.ID != "" && r.Tool != "":
		names = append(names, nameOf("id and tool", r.ID, r.Tool))
	case r.ID != "":
		names = append(names, nameOf("id", r.ID))
	}
	if r.Tool != "" && r.Arguments != nil {
		if canon, err := holdgate.Canonical(r.Arguments); err == nil {
			names = append(names, nameOf("arguments", r.Tool, string(canon)))
		}
	}
	return names
}

func findingName(u holdgate.Unapproved) callName { return nameOf("finding", u.ID, u.Tool, u.Why) }

func nameOf(kind string, fields ...string) callName {
	h := sha256.New()
	for _, f := range append([]string{kind}, fields...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	return callName(h.Sum(nil)[:16])
}
