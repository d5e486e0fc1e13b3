package tracks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// Config is what a Keeper needs besides its book.
type Config struct {
	Shared bool             // others change records too
	Begin  sessions.Setting // the mode that sessions begin in
	Keep   time.Duration    // how long a session that nothing was heard of is kept
	Logger *slog.Logger
	Gates  func() sessions.Gates                     // the types of gate that are in force
	Knows  func(agent string) bool                   // there is such an agent
	Goes   func(agent, session string) agents.Status // whether the session goes on
	Halted func(*sessions.Record)                    // is told of each record that is durable
}

// A Keeper keeps the sessions of a book, and their messages. What it has in memory of
// records is a view of the store. It is safe for concurrent use.
type Keeper struct {
	b      *record.Book
	c      Config
	tracks *allTracks
	mail   *mail
	full   fullAgents
}

// New keeps the sessions of a book, once [Keeper.TakeUp] has read them, and
// follows its requests.
func New(b *record.Book, c Config) *Keeper {
	p := &Keeper{b: b, c: c, tracks: newTracks(c.Begin), mail: newMail()}
	b.Asked = append(b.Asked, p.asked)
	b.Ended = append(b.Ended, p.ended)
	return p
}

// SessionState says whether a session goes on.
type SessionState string

// The states of a session.
const (
	SessionRunning SessionState = "running"
	SessionWaiting SessionState = "waiting_approval" // something of it is pending
	SessionPaused  SessionState = "paused"           // by people, or until they answer for it
	SessionStopped SessionState = "stopped"
)

// A Session is one as people see it.
type Session struct {
	Agent    string        `json:"agent"`
	ID       string        `json:"id"`
	Revision uint64        `json:"revision"` // of what is stored, counts apart; 0: nothing
	State    SessionState  `json:"state"`
	Why      string        `json:"why,omitempty"` // it is paused or stopped
	Mode     sessions.Mode `json:"mode"`
	// Threshold is the line of mode confidence_threshold; absent: the policy's.
	Threshold  float64           `json:"confidence_threshold,omitempty"`
	SetBy      string            `json:"set_by,omitempty"`    // the person who set the mode
	ModeWith   string            `json:"mode_with,omitempty"` // another session of the agent, by which it has the mode
	Alone      bool              `json:"alone,omitempty"`     // what holds it back holds no other session of the agent
	Passed     []sessions.Passed `json:"gates_passed"`
	Needed     []string          `json:"gates_needed"` // that must be passed before it changes anything
	Confidence *sessions.Report  `json:"confidence,omitempty"`
	Taint      []string          `json:"taint"`
	Counts     sessions.Counts   `json:"counts"`
	Lately     sessions.Ended    `json:"lately"` // the latest results of tools, of those that Counts has
	Usage      holdgate.Usage    `json:"usage,omitzero"`
	Pending    int               `json:"pending"`  // requests
	Messages   int               `json:"messages"` // from people that it has still to get
	FirstSeen  time.Time         `json:"first_seen,omitzero"`
	LastSeen   time.Time         `json:"last_seen,omitzero"`
}

// Errors about sessions.
var (
	ErrNoSession = errors.New("no such session")
	ErrRevision  = errors.New("the session was changed meanwhile: look at it again")
	ErrAmbiguous = errors.New("several agents have a session of that name: say which agent's")
)

// List lists the sessions that are known, by agent and name: of one agent,
// or of all where agent is empty.
func (p *Keeper) List(ctx context.Context, agent string) ([]Session, error) {
	found := map[sessionKey]*sessions.Record{}
	for _, t := range p.tracks.all() {
		r := t.Record()
		found[sessionKey{r.Agent, r.ID}] = r
	}
	pending, waiting := map[sessionKey]int{}, map[sessionKey]int{}
	err := p.b.Store.View(ctx, func(tx store.Tx) error {
		err := sessions.Each(tx, func(r *sessions.Record) error {
			k := sessionKey{r.Agent, r.ID}
			if have := found[k]; have == nil || have.Revision < r.Revision {
				found[k] = r
			}
			return nil
		})
		if err != nil {
			return err
		}
		for k := range found {
			if agent != "" && k.agent != agent {
				continue
			}
			if waiting[k], err = waitingMessages(tx, k); err != nil {
				return err
			}
		}
		return record.EachAsked(tx, func(a record.StoredAsked) {
			k := sessionKey{a.Agent, a.Session}
			pending[k]++
			if found[k] == nil {
				found[k] = sessions.New(a.Agent, a.Session, time.Time{})
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	list := []Session{}
	for k, r := range found {
		if k.id != "" && (agent == "" || k.agent == agent) {
			list = append(list, p.view(r, pending[k], waiting[k]))
		}
	}
	slices.SortFunc(list, byAgent)
	return list, nil
}

// Used is what the sessions of each agent have used, as far as they are known. Where they
// have costs in several currencies, that of the session counts which was heard of last.
func (p *Keeper) Used(ctx context.Context) (map[string]holdgate.Usage, error) {
	type session struct {
		record *sessions.Record
		used   holdgate.Usage
	}
	of := map[sessionKey]session{}
	err := p.b.Store.View(ctx, func(tx store.Tx) error {
		return sessions.Each(tx, func(r *sessions.Record) error {
			of[sessionKey{r.Agent, r.ID}] = session{r, r.Usage}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("adding up what sessions have used: %w", err)
	}
	for _, t := range p.tracks.all() {
		r := t.Record()
		of[sessionKey{r.Agent, r.ID}] = session{r, t.Usage()}
	}
	sums := map[string]holdgate.Usage{}
	for _, s := range slices.SortedFunc(maps.Values(of), func(a, b session) int {
		return cmp.Or(a.record.Last.Compare(b.record.Last), cmp.Compare(a.record.ID, b.record.ID))
	}) {
		sums[s.record.Agent] = sums[s.record.Agent].Plus(s.used)
	}
	return sums, nil
}

// One returns one session of an agent, or of the only one that has such a
// record where agent is empty. It returns ErrNoSession or ErrAmbiguous.
func (p *Keeper) One(ctx context.Context, agent, id string) (Session, error) {
	all, err := p.List(ctx, agent)
	if err != nil {
		return Session{}, err
	}
	all = slices.DeleteFunc(all, func(s Session) bool { return s.ID != id })
	switch len(all) {
	case 0:
		return Session{}, fmt.Errorf("%w: %q", ErrNoSession, id)
	case 1:
		return all[0], nil
	}
	return Session{}, fmt.Errorf("%w: %q", ErrAmbiguous, id)
}

// byAgent orders sessions as lists show them.
func byAgent(a, b Session) int {
	return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
}

func (p *Keeper) view(r *sessions.Record, pending, messages int) Session {
	others := p.tracks.bindings.of(r.Agent)
	setting := r.SettingAmong(others, p.c.Begin)
	v := Session{
		Agent: r.Agent, ID: r.ID, Revision: r.Seen(), State: SessionRunning,
		Mode: setting.Mode, Threshold: setting.Threshold, SetBy: r.SetBy, Alone: r.Alone,
		Passed: append([]sessions.Passed{}, r.Passed...), Needed: p.GatesNeeded(r),
		Confidence: r.Report, Taint: append([]string{}, r.TaintAmong(p.tracks.bindings.of(r.Agent), record.Now())...), Counts: r.Counts, Pending: pending, Messages: messages,
		FirstSeen: r.First, LastSeen: r.Last,
	}
	v.Lately, v.Usage = r.Results.Count(), r.Usage
	if o := r.SettingWith(others, p.c.Begin); o != nil {
		v.ModeWith, v.SetBy = o.ID, o.SetBy
	}
	if t := p.tracks.find(sessionKey{r.Agent, r.ID}); t != nil {
		v.Counts, v.Lately, v.Usage = t.Counts(), t.Results().Count(), t.Usage()
	}
	s := p.c.Goes(r.Agent, r.ID)
	switch {
	case s.Stopped():
		v.State, v.Why = SessionStopped, s.String()
	case !s.Running():
		v.State, v.Why = SessionPaused, s.String()
	case pending > 0:
		v.State = SessionWaiting
	}
	return v
}

// GatesNeeded lists the gates that a session must pass before it changes
// anything: those that the configuration binds it to, and those that Holdgate
// opened for it or for another session of the agent.
func (p *Keeper) GatesNeeded(r *sessions.Record) []string {
	gates := p.c.Gates()
	_, needed := gates.On(r.ID)
	needed = slices.DeleteFunc(needed, r.HasPassed)
	for _, g := range r.NeededAmong(p.tracks.bindings.of(r.Agent)) {
		if !slices.Contains(needed, g) && (g == sessions.GateConfidence || gates.Binds(g)) {
			needed = append(needed, g)
		}
	}
	return append([]string{}, needed...)
}
