package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// Rejoin takes part, for one live connection, in the exchange of a request that
// the caller asked before. It is nil where that is over already. It returns
// ErrNotFound where the request is not the caller's. Leave must be called.
func (q *Queue) Rejoin(ctx context.Context, who Caller, request string) (*Exchange, error) {
	var x record.StoredExchange
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		var r record.StoredRequest
		if err := record.Read(tx, record.PrefixRequest+request, &r); err != nil {
			return err
		}
		if r.Agent != who.Agent.ID || r.Session != who.Session.ID || r.Door != who.Door {
			return store.ErrNotFound
		}
		return record.Read(tx, record.PrefixExchange+r.Exchange, &x)
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading the exchange of request %s: %w", request, err)
	}
	if x.State.Final() {
		return nil, nil //nolint:nilnil // there is nothing to take part in
	}
	return q.Enter(ctx, who, func() (holdgate.Digest, error) { return x.Key, nil })
}

// GateDecided takes note of a gate that policy has decided by itself, and returns
// the id under which that can be asked for again. passes says whether the session
// has passed it, where it was let go on.
func (q *Queue) GateDecided(ctx context.Context, who Caller, gate string, o holdgate.Outcome, passes bool) (sessions.Answered, error) {
	a := sessions.Answered{Gate: gate, Request: record.NewID(), Outcome: o}
	a.Outcome.By = people.ByPolicy
	err := q.transact(ctx, func(t *transition) error {
		r, err := t.session(who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		a.Outcome.At = t.Now
		r.Answer(a)
		if passes && o.Decision == holdgate.AnswerApprove {
			r.Pass(sessions.Passed{Gate: gate, At: t.Now, By: people.ByPolicy, Request: a.Request})
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("recording a gate: %w", err)
	}
	return a, nil
}

// answeredBefore shows what people said when the session was at the gate last, if
// that was no.
func (q *Queue) answeredBefore(ctx context.Context, who Caller, c holdgate.Call) []briefing.Section {
	if c.Gate == nil {
		return nil
	}
	s, err := q.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		q.c.Logger.Warn("a briefing is without what was said at the gate before", "err", err)
		return nil
	}
	var out []briefing.Section
	r := s.Record()
	if a, ok := r.Answered(c.Gate.Type); ok {
		if text := saidBefore(a.Outcome); text != "" {
			out = append(out, briefing.Section{Title: "at this gate before", Kind: briefing.KindBefore, Lines: []string{holdgate.Visible(text)}})
		}
	}
	if rep := r.Report; rep != nil {
		out = append(out, briefing.Section{Title: "the agent reports", Kind: briefing.KindSaid, Lines: rep.Lines()})
	}
	return out
}

// holdsBack says which sessions wait for the answer of a request besides its own, and
// how a person lets them go on; "" where none does.
func (q *Queue) holdsBack(ctx context.Context, who Caller, r *record.StoredRequest) string {
	s, err := q.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		q.c.Logger.Warn("a briefing does not say which sessions wait", "err", err)
		return ""
	}
	rec := s.Record()
	alone := func(session string) string {
		return holdgate.Visible("holdgate sessions set " + session + " --agent " + who.Agent.ID + " --alone")
	}
	asked := r.Call.Kind == holdgate.KindGate && !rec.Alone
	switch {
	case asked && halts(r):
		return "every session of the agent is paused until people answer, not this one alone; the others go on after: " + alone(rec.ID)
	case asked && r.Gate == sessions.GateConfidence:
		return "no session of the agent changes anything until people answer, not this one alone; the others do after: " + alone(rec.ID)
	case r.Call.Kind == holdgate.KindGate:
		return ""
	}
	others := q.tracks.bindings.of(who.Agent.ID)
	if o := rec.NeededWith(others, r.Gate); o != nil && r.Gate != "" {
		return holdgate.Visible("it waits with session "+o.ID+" of the agent, which must pass the gate "+r.Gate) + "; it does not after: " + alone(o.ID)
	}
	if o := rec.SettingWith(others, q.c.Begin); o != nil {
		return holdgate.Visible("its session is in mode "+describeSetting(o.Set)+" with session "+o.ID+" of the agent") + "; its later calls are not after: " + alone(o.ID)
	}
	return ""
}

// endedOf shows how the tools of a session have ended of late, where that bears on
// the question: at a gate, and where the agent says how sure it is.
func (q *Queue) endedOf(ctx context.Context, who Caller, c holdgate.Call) []briefing.Section {
	s, err := q.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil || c.Kind != holdgate.KindGate && s.Record().Report == nil {
		return nil
	}
	text := s.Results().Count().String()
	if text == "" {
		return nil
	}
	return []briefing.Section{{Title: "how the session's tools ended, as its results say", Kind: briefing.KindBefore, Lines: []string{text}}}
}

func saidBefore(o holdgate.Outcome) string {
	switch o.Decision {
	case holdgate.AnswerSteer:
		text := "steered by " + o.By + ": " + strings.Join(strings.Fields(o.Instructions), " ")
		if len(o.Artifacts) > 0 {
			text += " (about " + strings.Join(o.Artifacts, ", ") + ")"
		}
		return text
	case holdgate.AnswerDeny:
		return strings.TrimSuffix("denied by "+o.By+": "+strings.Join(strings.Fields(o.Reason), " "), ": ")
	}
	return ""
}

// PendingOf lists the caller's own requests that are pending, in the order of
// asking.
func (q *Queue) PendingOf(ctx context.Context, who Caller) ([]Request, error) {
	list, err := q.List(ctx, Filter{Status: holdgate.StatusPending, Agent: who.Agent.ID, Session: who.Session.ID})
	return slices.Clip(list), err
}
