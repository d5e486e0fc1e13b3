package tracks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store/audit"
)

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
		if want.Seen != 0 && r.Seen() != want.Seen {
			return fmt.Errorf("%w (revision %d)", ErrRevision, r.Seen())
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
		p.c.Logger.WarnContext(ctx, "an agent that nothing was seen of reports its confidence", "agent", who.Agent.ID)
	}
	return rep, nil
}
