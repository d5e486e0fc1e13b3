package approvals

import (
	"context"
	"errors"
	"fmt"
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

// Sessions lists the sessions that are known, by agent and name: of one agent,
// or of all where agent is empty.
func (q *Queue) Sessions(ctx context.Context, agent string) ([]Session, error) {
	found := map[sessionKey]*sessions.Record{}
	for _, t := range q.tracks.all() {
		r := t.Record()
		found[sessionKey{r.Agent, r.ID}] = r
	}
	pending, waiting := map[sessionKey]int{}, map[sessionKey]int{}
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
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
			list = append(list, q.viewSession(r, pending[k], waiting[k]))
		}
	}
	slices.SortFunc(list, byAgent)
	return list, nil
}

// Session returns one session of an agent, or of the only one that has such a
// session where agent is empty. It returns ErrNoSession or ErrAmbiguous.
func (q *Queue) Session(ctx context.Context, agent, id string) (Session, error) {
	all, err := q.Sessions(ctx, agent)
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

func (q *Queue) viewSession(r *sessions.Record, pending, messages int) Session {
	others := q.tracks.bindings.of(r.Agent)
	setting := r.SettingAmong(others, q.c.Begin)
	v := Session{
		Agent: r.Agent, ID: r.ID, Revision: r.Revision, State: SessionRunning,
		Mode: setting.Mode, Threshold: setting.Threshold, SetBy: r.SetBy, Alone: r.Alone,
		Passed: append([]sessions.Passed{}, r.Passed...), Needed: q.GatesNeeded(r),
		Confidence: r.Report, Taint: append([]string{}, r.TaintAmong(q.tracks.bindings.of(r.Agent), record.Now())...), Counts: r.Counts, Pending: pending, Messages: messages,
		FirstSeen: r.First, LastSeen: r.Last,
	}
	v.Lately = r.Results.Count()
	if o := r.SettingWith(others, q.c.Begin); o != nil {
		v.ModeWith, v.SetBy = o.ID, o.SetBy
	}
	if t := q.tracks.find(sessionKey{r.Agent, r.ID}); t != nil {
		v.Counts, v.Lately = t.Counts(), t.Results().Count()
	}
	s, _ := q.Agents.StandingOf(r.Agent, r.ID)
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
func (q *Queue) GatesNeeded(r *sessions.Record) []string {
	gates := q.Gates()
	_, needed := gates.On(r.ID)
	needed = slices.DeleteFunc(needed, r.HasPassed)
	for _, g := range r.NeededAmong(q.tracks.bindings.of(r.Agent)) {
		if !slices.Contains(needed, g) && (g == sessions.GateConfidence || gates.Binds(g)) {
			needed = append(needed, g)
		}
	}
	return append([]string{}, needed...)
}

// KeepBound keeps with the caller's session which gates its name binds it to, where
// its agent is proven: under another name the agent has to pass them as well. What an
// agent that is not proven calls itself is its own word in any case. A gate of all
// sessions binds every name by itself.
func (q *Queue) KeepBound(ctx context.Context, who Caller) error {
	types := q.Gates()
	_, gates := types.On(who.Session.ID)
	gates = slices.DeleteFunc(gates, types.BindsAll)
	if !who.Agent.Proven || len(gates) == 0 {
		return nil
	}
	s, err := q.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		return err
	}
	open := func(r *sessions.Record) []string {
		return slices.DeleteFunc(slices.Clone(gates), func(g string) bool { return r.HasPassed(g) || slices.Contains(r.Needed, g) })
	}
	if len(open(s.Record().For(true))) == 0 {
		return nil
	}
	return q.transact(ctx, func(t *transition) error {
		r, err := t.session(who.Agent.ID, who.Session.ID, true, true)
		if err != nil {
			return err
		}
		bound := open(r)
		for _, g := range bound {
			r.Need(g, t.Now)
		}
		if len(bound) == 0 {
			return nil
		}
		return t.sessionChanged(r, "the agent must pass "+strings.Join(bound, ", ")+" before it changes anything")
	})
}

// Gates are the types of gate.
func (q *Queue) Gates() sessions.Gates { return q.c.InForce().Gates }

// A SessionChange is what a person changes of a session. What is nil stays.
type SessionChange struct {
	Setting *sessions.Setting
	Alone   *bool  // what holds the session back holds no other of its agent
	Seen    uint64 // the revision that the person saw; 0: whatever was changed meanwhile
}

// ChangeSession changes a session, by a person with the role to operate. Where agent
// says whose it is, the session may be one to come. It returns ErrNoSession,
// ErrNoAgent, ErrAmbiguous, ErrRevision, ErrNotEntitled or an error that wraps
// [sessions.ErrSetting].
func (q *Queue) ChangeSession(ctx context.Context, agent, id string, c SessionChange, by string) (Session, error) {
	s, err := q.Session(ctx, agent, id)
	switch {
	case errors.Is(err, ErrNoSession) && agent == "":
		return Session{}, fmt.Errorf("%w; of one to come, say which agent's it is", err)
	case errors.Is(err, ErrNoSession) && !q.Agents.Knows(agent):
		return Session{}, fmt.Errorf("%w: %q", agents.ErrNoAgent, agent)
	case errors.Is(err, ErrNoSession):
		s.Agent = agent
	case err != nil:
		return Session{}, err
	}
	err = q.transact(ctx, func(t *transition) error {
		who, err := t.People.Operator(by)
		if err != nil {
			return err
		}
		r, err := t.sessionOf(s.Agent, id)
		if err != nil {
			return err
		}
		if c.Seen != 0 && r.Revision != c.Seen {
			return fmt.Errorf("%w (revision %d)", ErrRevision, r.Revision)
		}
		var notes []string
		if c.Setting != nil {
			if err := r.SetMode(*c.Setting, who, t.Now); err != nil {
				return err
			}
			notes = append(notes, "mode "+describeSetting(*c.Setting))
		}
		if c.Alone != nil {
			r.Alone = *c.Alone
			notes = append(notes, map[bool]string{true: "what holds it back holds no other session", false: "what holds it back holds the agent's other sessions"}[r.Alone])
		}
		return t.sessionChanged(r, strings.Join(notes, ", ")+", set by "+who)
	})
	if err != nil {
		return Session{}, err
	}
	return q.Session(ctx, s.Agent, id)
}

// SetMode sets the mode of a session: see [Queue.ChangeSession].
func (q *Queue) SetMode(ctx context.Context, agent, id string, set sessions.Setting, revision uint64, by string) (Session, error) {
	return q.ChangeSession(ctx, agent, id, SessionChange{Setting: &set, Seen: revision}, by)
}

// Tighten sets the mode of the caller's own session, where that asks no less
// than the one it has. It returns an error that wraps [sessions.ErrLooser] or
// [sessions.ErrSetting].
func (q *Queue) Tighten(ctx context.Context, who Caller, set sessions.Setting) error {
	return q.transact(ctx, func(t *transition) error {
		r, err := t.session(who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		if err := r.Tighten(set, q.c.Begin); err != nil {
			return err
		}
		return t.sessionChanged(r, "mode "+describeSetting(set)+", set by the agent itself")
	})
}

func describeSetting(s sessions.Setting) string {
	if s.Threshold > 0 {
		return fmt.Sprintf("%s (%g)", s.Mode, s.Threshold)
	}
	return string(s.Mode)
}

// sessionChanged logs a change of a session and tells people of it.
func (t *transition) sessionChanged(r *sessions.Record, note string) error {
	e := audit.Entry{Type: audit.TypeSession, Call: &audit.Call{Agent: r.Agent, Session: r.ID}, Note: holdgate.Visible(note)}
	seq, err := t.Append(e)
	if err != nil {
		return err
	}
	return t.Note(record.EventSession, r.Agent, "session "+holdgate.Visible(r.ID)+": "+e.Note, seq)
}

// Report stores how sure an agent says it is. need says that the gate
// [sessions.GateConfidence] must be passed before the session changes anything.
func (q *Queue) Report(ctx context.Context, who Caller, rep sessions.Report, need bool) (sessions.Report, error) {
	if err := rep.Check(); err != nil {
		return rep, err
	}
	known := q.Agents.Knows(who.Agent.ID)
	rep.ID = record.NewID()
	err := q.transact(ctx, func(t *transition) error {
		rep.At = t.Now
		stored := rep
		r, err := t.session(who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		r.Reports(&stored, need, t.Now)
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
		_, err = t.Append(audit.Entry{Type: audit.TypeConfidence, Door: who.Door, Note: holdgate.Visible(note), Call: &audit.Call{Agent: who.Agent.ID, Session: who.Session.ID}})
		return err
	})
	if err != nil {
		return rep, fmt.Errorf("storing a report of confidence: %w", err)
	}
	if !known {
		q.c.Logger.Warn("an agent that nothing was seen of reports its confidence", "agent", who.Agent.ID)
	}
	return rep, nil
}

// sessionAsked changes the session of a request that is asked now.
func (t *transition) sessionAsked(r *record.StoredRequest) error {
	s, err := t.session(r.Agent, r.Session, r.Proven, halts(r))
	if err != nil {
		return err
	}
	s.Counts.Asked++
	if !halts(r) {
		return nil
	}
	s.Halt = &sessions.Halt{Request: r.ID, At: t.Now, Reason: "it waits for a person to answer request " + r.ID}
	return t.sessionChanged(s, "paused: "+s.Halt.Reason)
}

// halts reports whether the session waits for the request.
func halts(r *record.StoredRequest) bool {
	return r.Call.Kind == holdgate.KindGate && r.Gate == sessions.GateDiagnostics
}

// sessionEnded changes the session of a request that has ended.
func (t *transition) sessionEnded(r *record.StoredRequest) error {
	s, err := t.session(r.Agent, r.Session, r.Proven, r.Passes || halts(r))
	if err != nil {
		return err
	}
	s.Counts.Ended(r.Status)
	if err := t.leaveAnswer(r); err != nil {
		return err
	}
	if s.Halt != nil && s.Halt.Request == r.ID {
		if err := t.answerHalt(s, r); err != nil {
			return err
		}
	}
	if !r.Passes || r.Gate == sessions.GateQuestion || r.Outcome.Decision == holdgate.AnswerCancel {
		return nil
	}
	s.Answer(sessions.Answered{Gate: r.Gate, Request: r.ID, Outcome: *r.Outcome})
	again := t.q.Gates().Of(r.Gate).Lasts > 0 // work comes by here again and again
	if r.Status != holdgate.StatusApproved || !r.Answered() || again && r.Call.Kind != holdgate.KindGate {
		return nil
	}
	s.Pass(sessions.Passed{Gate: r.Gate, At: t.Now, By: r.Outcome.By, Request: r.ID, Silent: r.Outcome.Decision == holdgate.AnswerTimeout})
	return t.anew(r)
}

// answerHalt takes a halted session on from what a person said. Silence leaves
// it as it is.
func (t *transition) answerHalt(s *sessions.Record, r *record.StoredRequest) error {
	switch r.Status {
	case holdgate.StatusApproved, holdgate.StatusSteered:
		s.Halt, s.Report = nil, nil
		return t.sessionChanged(s, "goes on: request "+r.ID+" was "+string(r.Status)+" by "+r.Outcome.By)
	case holdgate.StatusDenied:
		s.Halt.Stopped, s.Halt.Reason = true, "request "+r.ID+" was denied by "+r.Outcome.By
		return t.sessionChanged(s, "stopped: "+s.Halt.Reason)
	}
	return nil
}

// anew takes back the other questions of the session that wait for the same
// gate: policy decides those calls once more, now that it is passed.
func (t *transition) anew(passed *record.StoredRequest) error {
	var ids []string
	err := record.EachAsked(t.Tx, func(a record.StoredAsked) {
		if a.Agent == passed.Agent && a.Session == passed.Session && a.ID != passed.ID {
			ids = append(ids, a.ID)
		}
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, err := t.Request(id)
		if err != nil {
			return err
		}
		if r.Status.Final() || !r.Passes || r.Gate != passed.Gate || r.Call.Kind == holdgate.KindGate {
			continue
		}
		r.Anew = true
		if err := t.Cancel(r, people.ByHoldgate, "the session has passed the gate "+r.Gate+": the call is decided anew"); err != nil {
			return err
		}
	}
	return nil
}

// unhalt lets the sessions of an agent go on, or of all.
func (t *transition) unhalt(agent, by string) error {
	var halted []sessionKey
	err := sessions.Each(t.Tx, func(r *sessions.Record) error {
		if r.Halt != nil && (agent == agents.Everybody || r.Agent == agent) {
			halted = append(halted, sessionKey{r.Agent, r.ID})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range halted {
		s, err := t.sessionOf(k.agent, k.id)
		if err != nil {
			return err
		}
		request := s.Halt.Request
		s.Halt, s.Report = nil, nil
		if err := t.sessionChanged(s, "goes on: resumed by "+by); err != nil {
			return err
		}
		r, err := t.Request(request)
		if errors.Is(err, ErrNotFound) || err == nil && r.Status.Final() {
			continue
		}
		if err == nil {
			err = t.Cancel(r, by, "the session was resumed")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
