package tracks

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// GateDecided takes note of a gate that policy has decided by itself, and returns
// the id under which that can be asked for again. passes says whether the session
// has passed it, where it was let go on.
func (p *Keeper) GateDecided(ctx context.Context, who record.Caller, gate string, o holdgate.Outcome, passes bool) (sessions.Answered, error) {
	a := sessions.Answered{Gate: gate, Request: record.NewID(), Outcome: o}
	a.Outcome.By = people.ByPolicy
	err := p.b.Change(ctx, func(c *record.Change) error {
		r, err := p.record(c, who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		a.Outcome.At = c.Now
		r.Answer(a)
		if passes && o.Decision == holdgate.AnswerApprove {
			r.Pass(sessions.Passed{Gate: gate, At: c.Now, By: people.ByPolicy, Request: a.Request})
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("recording a gate: %w", err)
	}
	return a, nil
}

// AnsweredBefore shows what people said when the session was at the gate last, if
// that was no.
func (p *Keeper) AnsweredBefore(ctx context.Context, who record.Caller, c holdgate.Call) []briefing.Section {
	if c.Gate == nil {
		return nil
	}
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		p.c.Logger.WarnContext(ctx, "a briefing is without what was said at the gate before", "err", err)
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

// HoldsBack says which sessions wait for the answer of a request besides its own, and
// how a person lets them go on; "" where none does.
func (p *Keeper) HoldsBack(ctx context.Context, who record.Caller, r *record.StoredRequest) string {
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		p.c.Logger.WarnContext(ctx, "a briefing does not say which sessions wait", "err", err)
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
	others := p.tracks.bindings.of(who.Agent.ID)
	if o := rec.NeededWith(others, r.Gate); o != nil && r.Gate != "" {
		return holdgate.Visible("it waits with session "+o.ID+" of the agent, which must pass the gate "+r.Gate) + "; it does not after: " + alone(o.ID)
	}
	if o := rec.SettingWith(others, p.c.Begin); o != nil {
		return holdgate.Visible("its session is in mode "+describeSetting(o.Set)+" with session "+o.ID+" of the agent") + "; its later calls are not after: " + alone(o.ID)
	}
	return ""
}

// EndedOf shows how the tools of a session have ended of late, where that bears on
// the question: at a gate, and where the agent says how sure it is.
func (p *Keeper) EndedOf(ctx context.Context, who record.Caller, c holdgate.Call) []briefing.Section {
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
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
