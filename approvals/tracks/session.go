package tracks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// TracksConfig is what a Keeper needs besides its book.
type Config struct {
	Begin  sessions.Setting // the mode that sessions begin in
	Keep   time.Duration    // how long a session that nothing was heard of is kept
	Logger *slog.Logger
	Gates  func() sessions.Gates                       // the types of gate that are in force
	Knows  func(agent string) bool                     // there is such an agent
	Goes   func(agent, session string) agents.Standing // whether the session goes on
	Halted func(*sessions.Record)                      // is told of each record that is durable
}

// A Keeper keeps the sessions of a book, and their messages. What it has in memory of
// records is a view of the store. It is safe for concurrent use.
type Keeper struct {
	b      *record.Book
	c      Config
	tracks *allTracks
	mail   *mail
}

// NewKeeper keeps the sessions of a book, once [Keeper.TakeUp] has read them, and
// follows its requests.
func New(b *record.Book, c Config) *Keeper {
	p := &Keeper{b, c, newTracks(c.Begin), newMail()}
	b.Asked = append(b.Asked, p.asked)
	b.Ended = append(b.Ended, p.ended)
	return p
}

// forgetAtOnce is how many sessions are forgotten in one transaction.
const forgetAtOnce = 32

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
	Revision uint64        `json:"revision"` // of what is stored; 0: nothing
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
	Lately     sessions.Ended    `json:"lately"`   // the latest results of tools, of those that Counts has
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

func (p *Keeper) view(r *sessions.Record, pending, messages int) Session {
	others := p.tracks.bindings.of(r.Agent)
	setting := r.SettingAmong(others, p.c.Begin)
	v := Session{
		Agent: r.Agent, ID: r.ID, Revision: r.Revision, State: SessionRunning,
		Mode: setting.Mode, Threshold: setting.Threshold, SetBy: r.SetBy, Alone: r.Alone,
		Passed: append([]sessions.Passed{}, r.Passed...), Needed: p.GatesNeeded(r),
		Confidence: r.Report, Taint: append([]string{}, r.TaintAmong(p.tracks.bindings.of(r.Agent), record.Now())...), Counts: r.Counts, Pending: pending, Messages: messages,
		FirstSeen: r.First, LastSeen: r.Last,
	}
	v.Lately = r.Results.Count()
	if o := r.SettingWith(others, p.c.Begin); o != nil {
		v.ModeWith, v.SetBy = o.ID, o.SetBy
	}
	if t := p.tracks.find(sessionKey{r.Agent, r.ID}); t != nil {
		v.Counts, v.Lately = t.Counts(), t.Results().Count()
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

// KeepBound keeps with the caller's session which gates its name binds it to, where
// its agent is proven: under another name the agent has to pass them as well. What an
// agent that is not proven calls itself is its own word in any case. A gate of all
// changed binds every name by itself.
func (p *Keeper) KeepBound(ctx context.Context, who record.Caller) error {
	types := p.c.Gates()
	_, gates := types.On(who.Session.ID)
	gates = slices.DeleteFunc(gates, types.BindsAll)
	if !who.Agent.Proven || len(gates) == 0 {
		return nil
	}
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		return err
	}
	open := func(r *sessions.Record) []string {
		return slices.DeleteFunc(slices.Clone(gates), func(g string) bool { return r.HasPassed(g) || slices.Contains(r.Needed, g) })
	}
	if len(open(s.Record().For(true))) == 0 {
		return nil
	}
	return p.b.Change(ctx, func(c *record.Change) error {
		r, err := p.record(c, who.Agent.ID, who.Session.ID, true, true)
		if err != nil {
			return err
		}
		bound := open(r)
		for _, g := range bound {
			r.Need(g, c.Now)
		}
		if len(bound) == 0 {
			return nil
		}
		return p.tell(c, r, "the agent must pass "+strings.Join(bound, ", ")+" before it changes anything")
	})
}

// A SessionChange is what a person changes of a session. What is nil stays.
type SessionChange struct {
	Setting *sessions.Setting
	Alone   *bool  // what holds the session back holds no other of its agent
	Seen    uint64 // the revision that the person saw; 0: whatever was changed meanwhile
}

// Change changes a session, by a person with the role to operate. Where agent
// says whose it is, the session may be one to come. It returns ErrNoSession,
// ErrNoAgent, ErrAmbiguous, ErrRevision, ErrNotEntitled or an error that wraps
// [sessions.ErrSetting].
func (p *Keeper) Change(ctx context.Context, agent, id string, want SessionChange, by string) (Session, error) {
	s, err := p.One(ctx, agent, id)
	switch {
	case errors.Is(err, ErrNoSession) && agent == "":
		return Session{}, fmt.Errorf("%w; of one to come, say which agent's it is", err)
	case errors.Is(err, ErrNoSession) && !p.c.Knows(agent):
		return Session{}, fmt.Errorf("%w: %q", record.ErrNoAgent, agent)
	case errors.Is(err, ErrNoSession):
		s.Agent = agent
	case err != nil:
		return Session{}, err
	}
	err = p.b.Change(ctx, func(c *record.Change) error {
		who, err := c.People.Operator(by)
		if err != nil {
			return err
		}
		r, err := p.of(c, s.Agent, id)
		if err != nil {
			return err
		}
		if want.Seen != 0 && r.Revision != want.Seen {
			return fmt.Errorf("%w (revision %d)", ErrRevision, r.Revision)
		}
		var notes []string
		if want.Setting != nil {
			if err := r.SetMode(*want.Setting, who, c.Now); err != nil {
				return err
			}
			notes = append(notes, "mode "+describeSetting(*want.Setting))
		}
		if want.Alone != nil {
			r.Alone = *want.Alone
			notes = append(notes, map[bool]string{true: "what holds it back holds no other session", false: "what holds it back holds the agent's other sessions"}[r.Alone])
		}
		return p.tell(c, r, strings.Join(notes, ", ")+", set by "+who)
	})
	if err != nil {
		return Session{}, err
	}
	return p.One(ctx, s.Agent, id)
}

// SetMode sets the mode of a session: see [Keeper.Change].
func (p *Keeper) SetMode(ctx context.Context, agent, id string, set sessions.Setting, revision uint64, by string) (Session, error) {
	return p.Change(ctx, agent, id, SessionChange{Setting: &set, Seen: revision}, by)
}

// Tighten sets the mode of the caller's own session, where that asks no less
// than the one it has. It returns an error that wraps [sessions.ErrLooser] or
// [sessions.ErrSetting].
func (p *Keeper) Tighten(ctx context.Context, who record.Caller, set sessions.Setting) error {
	return p.b.Change(ctx, func(c *record.Change) error {
		r, err := p.record(c, who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		if err := r.Tighten(set, p.c.Begin); err != nil {
			return err
		}
		return p.tell(c, r, "mode "+describeSetting(set)+", set by the agent itself")
	})
}

func describeSetting(s sessions.Setting) string {
	if s.Threshold > 0 {
		return fmt.Sprintf("%s (%g)", s.Mode, s.Threshold)
	}
	return string(s.Mode)
}

// tell logs a change of a session and tells people of it.
func (p *Keeper) tell(c *record.Change, r *sessions.Record, note string) error {
	e := audit.Entry{Type: audit.TypeSession, Call: &audit.Call{Agent: r.Agent, Session: r.ID}, Note: holdgate.Visible(note)}
	seq, err := c.Append(e)
	if err != nil {
		return err
	}
	return c.Note(record.EventSession, r.Agent, "session "+holdgate.Visible(r.ID)+": "+e.Note, seq)
}

// Report stores how sure an agent says it is. need says that the gate
// [sessions.GateConfidence] must be passed before the session changes anything.
func (p *Keeper) Report(ctx context.Context, who record.Caller, rep sessions.Report, need bool) (sessions.Report, error) {
	if err := rep.Check(); err != nil {
		return rep, err
	}
	known := p.c.Knows(who.Agent.ID)
	rep.ID = record.NewID()
	err := p.b.Change(ctx, func(c *record.Change) error {
		rep.At = c.Now
		stored := rep
		r, err := p.record(c, who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		r.Reports(&stored, need, c.Now)
		note := fmt.Sprintf("report %s: confidence %.2f", rep.ID, rep.Score)
		if rep.Task != "" {
			note += " in task " + rep.Task
		}
		for _, why := range rep.Reasons {
			note += "; " + why
		}
		if !known {
			note += " (warning: nothing was seen of this agent before)"
		}
		_, err = c.Append(audit.Entry{Type: audit.TypeConfidence, Door: who.Door, Note: holdgate.Visible(note), Call: &audit.Call{Agent: who.Agent.ID, Session: who.Session.ID}})
		return err
	})
	if err != nil {
		return rep, fmt.Errorf("storing a report of confidence: %w", err)
	}
	if !known {
		p.c.Logger.Warn("an agent that nothing was seen of reports its confidence", "agent", who.Agent.ID)
	}
	return rep, nil
}

// asked changes the session of a request that is asked now.
func (p *Keeper) asked(c *record.Change, r *record.StoredRequest) error {
	s, err := p.record(c, r.Agent, r.Session, r.Proven, halts(r))
	if err != nil {
		return err
	}
	s.Counts.Asked++
	if !halts(r) {
		return nil
	}
	s.Halt = &sessions.Halt{Request: r.ID, At: c.Now, Reason: "it waits for a person to answer request " + r.ID}
	return p.tell(c, s, "paused: "+s.Halt.Reason)
}

// halts reports whether the session waits for the request.
func halts(r *record.StoredRequest) bool {
	return r.Call.Kind == holdgate.KindGate && r.Gate == sessions.GateDiagnostics
}

// ended changes the session of a request that has ended.
func (p *Keeper) ended(c *record.Change, r *record.StoredRequest) error {
	s, err := p.record(c, r.Agent, r.Session, r.Proven, r.Passes || halts(r))
	if err != nil {
		return err
	}
	s.Counts.Ended(r.Status)
	if err := p.leaveAnswer(c, r); err != nil {
		return err
	}
	if s.Halt != nil && s.Halt.Request == r.ID {
		if err := p.answerHalt(c, s, r); err != nil {
			return err
		}
	}
	if !r.Passes || r.Gate == sessions.GateQuestion || r.Outcome.Decision == holdgate.AnswerCancel {
		return nil
	}
	s.Answer(sessions.Answered{Gate: r.Gate, Request: r.ID, Outcome: *r.Outcome})
	again := p.c.Gates().Of(r.Gate).Lasts > 0 // work comes by here again and again
	if r.Status != holdgate.StatusApproved || !r.Answered() || again && r.Call.Kind != holdgate.KindGate {
		return nil
	}
	s.Pass(sessions.Passed{Gate: r.Gate, At: c.Now, By: r.Outcome.By, Request: r.ID, Silent: r.Outcome.Decision == holdgate.AnswerTimeout})
	return p.anew(c, r)
}

// answerHalt takes a halted session on from what a person said. Silence leaves
// it as it is.
func (p *Keeper) answerHalt(c *record.Change, s *sessions.Record, r *record.StoredRequest) error {
	switch r.Status {
	case holdgate.StatusApproved, holdgate.StatusSteered:
		s.Halt, s.Report = nil, nil
		return p.tell(c, s, "goes on: request "+r.ID+" was "+string(r.Status)+" by "+r.Outcome.By)
	case holdgate.StatusDenied:
		s.Halt.Stopped, s.Halt.Reason = true, "request "+r.ID+" was denied by "+r.Outcome.By
		return p.tell(c, s, "stopped: "+s.Halt.Reason)
	}
	return nil
}

// anew takes back the other questions of the session that wait for the same
// gate: policy decides those calls once more, now that it is passed.
func (p *Keeper) anew(c *record.Change, passed *record.StoredRequest) error {
	var ids []string
	err := record.EachAsked(c.Tx, func(a record.StoredAsked) {
		if a.Agent == passed.Agent && a.Session == passed.Session && a.ID != passed.ID {
			ids = append(ids, a.ID)
		}
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, err := c.Request(id)
		if err != nil {
			return err
		}
		if r.Status.Final() || !r.Passes || r.Gate != passed.Gate || r.Call.Kind == holdgate.KindGate {
			continue
		}
		r.Anew = true
		if err := c.Cancel(r, people.ByHoldgate, "the session has passed the gate "+r.Gate+": the call is decided anew"); err != nil {
			return err
		}
	}
	return nil
}

// Resume lets the sessions of an agent go on, or of all.
func (p *Keeper) Resume(c *record.Change, agent, by string) error {
	var halted []sessionKey
	err := sessions.Each(c.Tx, func(r *sessions.Record) error {
		if r.Halt != nil && (agent == agents.Everybody || r.Agent == agent) {
			halted = append(halted, sessionKey{r.Agent, r.ID})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range halted {
		s, err := p.of(c, k.agent, k.id)
		if err != nil {
			return err
		}
		request := s.Halt.Request
		s.Halt, s.Report = nil, nil
		if err := p.tell(c, s, "goes on: resumed by "+by); err != nil {
			return err
		}
		r, err := c.Request(request)
		if errors.Is(err, record.ErrNotFound) || err == nil && r.Status.Final() {
			continue
		}
		if err == nil {
			err = c.Cancel(r, by, "the session was resumed")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
