package proxy

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
	maxMadeSessions = 256
	maxMadeCalls    = 4096 // names of calls in one session; most calls have three
)

// A madeState is what became of a call. Of two calls with one name the greater
// counts, so that nobody is accused for a name that was given twice.
type madeState byte

const (
	madeUnseen   madeState = iota
	madeRefused            // it was refused
	madeHeld               // people have not decided
	madeEarlier            // its result was there before the session was watched
	madeReleased           // it went on
	madeAnswered           // and its result was seen
)

// why says what is wrong with a result of such a call.
func (m madeState) why() string {
	switch m {
	case madeRefused:
		return holdgate.UnapprovedRefused
	case madeHeld:
		return holdgate.UnapprovedHeld
	}
	return holdgate.UnapprovedUnseen
}

// made remembers which calls models have asked for and what became of them, by
// session, so that the results which agents show can be matched to them. It
// knows nothing of the time before this process: what it never saw then is
// unknown, and not unapproved. It is safe for concurrent use.
type made struct {
	mu       sync.Mutex
	sessions map[madeSession]*madeCalls
}

type madeSession struct{ agent, id string }

// A madeName is one of the names of a call: its id, its id and tool, or its
// tool and arguments; or that of a finding.
type madeName [16]byte

// madeCalls are the calls of one session.
type madeCalls struct {
	states map[madeName]madeState
	// whole says that the session was watched from its first request, so that
	// every call of it is among states; full, that some had no room there.
	whole, full bool
	told        map[madeName]bool // findings: whether a request with them went on
	read        int               // results of the latest request
	used        time.Time
}

func newMade() *made { return &made{sessions: make(map[madeSession]*madeCalls)} }

// of returns the calls of a session, and whether they are new.
func (m *made) of(who approvals.Caller) (c *madeCalls, first bool) {
	k := madeSession{who.Agent.ID, who.Session.ID}
	c = m.sessions[k]
	if c == nil {
		if len(m.sessions) >= maxMadeSessions {
			m.dropOldest()
		}
		c = &madeCalls{states: make(map[madeName]madeState), told: make(map[madeName]bool)}
		m.sessions[k], first = c, true
	}
	c.used = time.Now()
	return c, first
}

func (m *made) dropOldest() {
	var oldest madeSession
	var at time.Time
	for k, c := range m.sessions {
		if at.IsZero() || c.used.Before(at) {
			oldest, at = k, c.used
		}
	}
	delete(m.sessions, oldest)
}

// became notes what became of a call: with the arguments in which it goes on.
func (m *made) became(who approvals.Caller, id string, t *holdgate.Tool, s madeState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.of(who)
	for _, name := range append(namesOf(wire.Result{ID: id, Tool: t.Name, Arguments: t.Arguments}), namesOf(wire.Result{ID: id})...) {
		c.set(name, s)
	}
}

func (c *madeCalls) set(name madeName, s madeState) {
	old, known := c.states[name]
	if !known && len(c.states) >= maxMadeCalls {
		c.full = true
		return
	}
	if s == madeReleased && old == madeAnswered {
		old = s // the same once more
	}
	c.states[name] = max(old, s)
}

// unapproved returns the results of a request whose calls were not let go on,
// as far as that is sure, and which of them nobody was told of yet. A result
// that was never seen counts where the session was watched from its beginning,
// or behind one whose call was released: what came before the sidecar, or
// before a process of it that has ended, is unknown.
func (m *made) unapproved(who approvals.Caller, h wire.History) (all, fresh []holdgate.Unapproved) {
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
		case s == madeReleased || s == madeAnswered:
			anchored = true
			continue
		case s == madeEarlier:
			continue
		case s == madeUnseen && (!anchored || c.full):
			for _, name := range namesOf(r) {
				c.set(name, madeEarlier)
			}
			continue
		}
		u := holdgate.Unapproved{ID: r.ID, Tool: r.Tool, Why: s.why()}
		passed, told := c.told[findingName(u)]
		if !told && len(c.told) < maxMadeCalls {
			c.told[findingName(u)] = false
			fresh = append(fresh, u)
		}
		if !passed {
			all = append(all, u)
		}
	}
	return all, fresh
}

// A news is what the results say that no request of the session had before.
type news struct {
	ungated []wire.Result // whose calls this session's gate has not seen
	ended   sessions.Results
}

// news returns what is new in a request. The caller has asked for the results of
// calls that were not let go on before.
func (m *made) news(who approvals.Caller, h wire.History) (n news) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.of(who)
	from := c.read
	if c.read = len(h.Results); from > c.read {
		from = 0 // the client has made its history shorter
	}
	for _, r := range h.Results[from:] {
		switch s := c.state(r); {
		case r.Tool != "" && (s == madeUnseen || s == madeEarlier):
			n.ungated = append(n.ungated, r)
		case s == madeReleased && r.Ended != wire.EndedUnknown:
			for _, name := range namesOf(r) {
				c.set(name, madeAnswered)
			}
			n.ended = n.ended.And(r.Ended == wire.EndedWell)
		}
	}
	return n
}

// passed notes that a request with these went on: later ones with the same
// history have nothing new in them.
func (m *made) passed(who approvals.Caller, list []holdgate.Unapproved) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.of(who)
	for _, u := range list {
		c.told[findingName(u)] = true
	}
}

// state is what became of the call of a result, by the first of its names that
// is known: some clients change ids, and some providers give none.
func (c *madeCalls) state(r wire.Result) madeState {
	for _, name := range namesOf(r) {
		if s, known := c.states[name]; known {
			return s
		}
	}
	return madeUnseen
}

// namesOf are the names by which the call of a result may be known. A tool and
// an id are one name, for an id that comes with another tool is of another call.
func namesOf(r wire.Result) (names []madeName) {
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

func findingName(u holdgate.Unapproved) madeName { return nameOf("finding", u.ID, u.Tool, u.Why) }

func nameOf(kind string, fields ...string) madeName {
	h := sha256.New()
	for _, f := range append([]string{kind}, fields...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	return madeName(h.Sum(nil)[:16])
}
