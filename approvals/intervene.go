package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// InterventionAction is what a person does to an agent.
type InterventionAction string

// The interventions.
const (
	InterventionPause  InterventionAction = "pause"  // no further call is released
	InterventionResume InterventionAction = "resume" // ends a pause or a stop
	InterventionStop   InterventionAction = "stop"   // held calls are cancelled, everything new is refused
	// InterventionRedirect leaves an instruction, which goes into the agent's next
	// model request.
	InterventionRedirect InterventionAction = "redirect"
)

// An Intervention is what a person does to an agent, or to all.
type Intervention struct {
	Action InterventionAction
	Reason string // for people and for the agent; at most 8 KiB
	By     string // the person: from the credential
	// Instruction is what a redirected agent is to do instead; at most 8 KiB.
	Instruction string
}

// Errors of an intervention. Nothing has happened where one is returned.
var (
	ErrNoAgent      = errors.New("no such agent")
	ErrIntervention = errors.New("no such intervention")
	ErrStopped      = errors.New("the agent is stopped: only resuming changes that")
)

// sweepBatch is how many requests a stop cancels in one transaction.
const sweepBatch = 50

// Intervene pauses, resumes or stops an agent that is known, or [Everybody]:
// an agent goes on where neither it nor everybody is paused or stopped. What it
// answers is durable and in force: no approval is used from then on, and after a
// stop none of the agent's requests is pending. To do what has been done
// already changes nothing.
//
// It returns ErrNoAgent, ErrIntervention, ErrStopped or ErrNotEntitled where
// nothing has happened. An error after a stop means that it is in force, and
// that requests may still be shown as pending: stop once more.
func (q *Queue) Intervene(ctx context.Context, agent string, i Intervention) (Standing, error) {
	if err := bounded("reason", i.Reason, maxText); err != nil {
		return Standing{}, err
	}
	i.Reason = holdgate.Visible(i.Reason)
	if agent != Everybody && !q.sightings.knows(agent) {
		return Standing{}, fmt.Errorf("%w: %q", ErrNoAgent, agent)
	}
	if i.Action == InterventionRedirect {
		return q.redirect(ctx, agent, i)
	}
	err := q.transact(ctx, func(t *transition) error {
		by, err := t.People.Operator(i.By)
		if err != nil {
			return err
		}
		i := i
		i.By = by
		return t.intervene(agent, i)
	})
	if err != nil {
		return Standing{}, err
	}
	s, _ := q.Standing(agent)
	if i.Action == InterventionStop {
		err = q.sweep(ctx, agent)
	}
	return s, err
}

// redirect leaves an instruction for whichever session of the agent makes the next
// model request.
func (q *Queue) redirect(ctx context.Context, agent string, i Intervention) (Standing, error) {
	if agent == Everybody {
		return Standing{}, fmt.Errorf("%w: one agent is redirected, not all", ErrIntervention)
	}
	m := sessions.Message{Agent: agent, Type: sessions.MessageRedirect, Content: i.Instruction}
	err := q.transact(ctx, func(t *transition) (err error) {
		if m.From, err = t.People.Operator(i.By); err != nil {
			return err
		}
		return t.message(&m, false)
	})
	if err != nil {
		return Standing{}, err
	}
	s, _ := q.Standing(agent)
	return s, nil
}

// intervene changes an agent's record, in the name of a person who may.
func (t *transition) intervene(agent string, i Intervention) error {
	a, err := t.agent(agent)
	if err != nil {
		return err
	}
	var next AgentState
	var event EventType
	switch i.Action {
	case InterventionPause:
		next, event = AgentPaused, record.EventPaused
	case InterventionResume:
		next, event = AgentRunning, record.EventResumed
	case InterventionStop:
		next, event = AgentStopped, record.EventStopped
	default:
		return fmt.Errorf("%w: %q", ErrIntervention, i.Action)
	}
	if next == AgentRunning {
		if err := t.unhalt(agent, i.By); err != nil {
			return err
		}
	}
	switch {
	case a.State == next:
		return nil
	case a.standing().Stopped() && next == AgentPaused:
		return ErrStopped
	}
	a.State, a.By, a.At, a.Reason = next, i.By, t.Now, i.Reason
	e := audit.Entry{Type: audit.TypeIntervention, Note: intervened(agent, i)}
	if agent != Everybody {
		e.Call = &audit.Call{Agent: agent}
	}
	if a.Seq, err = t.Append(e); err != nil {
		return err
	}
	t.Durable(func() { t.q.standings.learn([]storedAgent{a}) })
	if err := t.Note(event, agent, e.Note, a.Seq); err != nil {
		return err
	}
	if next == AgentRunning {
		return t.Tx.Delete(prefixAgent + agent)
	}
	return record.Write(t.Tx, prefixAgent+agent, &a)
}

// intervened says in words what was done.
func intervened(agent string, i Intervention) string {
	done := map[InterventionAction]string{InterventionPause: "paused", InterventionResume: "resumed", InterventionStop: "stopped"}[i.Action]
	note := holdgate.Visible(cmp.Or(agent, "all agents")) + " " + done + " by " + i.By
	if i.Reason != "" {
		note += ": " + i.Reason
	}
	return note
}

// sweep cancels what is pending of agents that are stopped: of one, or of
// [Everybody]. Once an agent is stopped nothing new of it becomes pending.
func (q *Queue) sweep(ctx context.Context, agent string) error {
	ctx = context.WithoutCancel(ctx)
	var ids []string
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		return record.EachAsked(tx, func(a record.StoredAsked) {
			if agent == Everybody || a.Agent == agent {
				ids = append(ids, a.ID)
			}
		})
	})
	for batch := range slices.Chunk(ids, sweepBatch) {
		if err != nil {
			break
		}
		err = q.transact(ctx, func(t *transition) error {
			for _, id := range batch {
				if err := t.sweepOne(id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("cancelling what is held of a stopped agent: %w", err)
	}
	return nil
}

// sweepOne cancels one request, unless it has ended or its agent was resumed.
func (t *transition) sweepOne(id string) error {
	r, err := t.Request(id)
	if errors.Is(err, ErrNotFound) || err == nil && r.Status.Final() {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := t.standing(r.Agent)
	if err != nil || !s.Stopped() {
		return err
	}
	return t.Cancel(r, cmp.Or(s.By, people.ByHoldgate), "the agent was "+s.String())
}
