package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Action is what a person does to an agent.
type Action string

// The interventions.
const (
	Pause  Action = "pause"  // no further call is released
	Resume Action = "resume" // ends a pause or a stop
	Stop   Action = "stop"   // held calls are cancelled, everything new is refused
	// Redirect leaves an instruction, which goes into the agent's next
	// model request.
	Redirect Action = "redirect"
)

// An Intervention is what a person does to an agent, or to all.
type Intervention struct {
	Action Action
	Reason string // for people and for the agent; at most 8 KiB
	By     string // the person: from the credential
	// Instruction is what a redirected agent is to do instead; at most 8 KiB.
	Instruction string
}

// Errors of an intervention. Nothing has happened where one is returned.
var (
	ErrNoAgent      = record.ErrNoAgent
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
func (k *Keeper) Intervene(ctx context.Context, agent string, i Intervention) (Status, error) {
	if err := record.Bounded("reason", i.Reason, record.MaxText); err != nil {
		return Status{}, err
	}
	i.Reason = holdgate.Visible(k.b.Words(i.Reason))
	if agent != Everybody && !k.activity.knows(agent) {
		return Status{}, fmt.Errorf("%w: %q", ErrNoAgent, agent)
	}
	if i.Action == Redirect {
		return k.redirect(ctx, agent, i)
	}
	err := k.b.Change(ctx, func(c *record.Change) error {
		by, err := c.People.Operator(i.By)
		if err != nil {
			return err
		}
		i := i
		i.By = by
		return k.Put(c, agent, i)
	})
	if err != nil {
		return Status{}, err
	}
	s, _ := k.Status(agent)
	if i.Action == Stop {
		err = k.Sweep(ctx, agent)
	}
	return s, err
}

// redirect leaves an instruction for whichever session of the agent makes the next
// model request.
func (k *Keeper) redirect(ctx context.Context, agent string, i Intervention) (Status, error) {
	if agent == Everybody {
		return Status{}, fmt.Errorf("%w: one agent is redirected, not all", ErrIntervention)
	}
	err := k.b.Change(ctx, func(c *record.Change) error {
		by, err := c.People.Operator(i.By)
		if err != nil {
			return err
		}
		return k.follow.Redirected(c, agent, by, i.Instruction)
	})
	if err != nil {
		return Status{}, err
	}
	s, _ := k.Status(agent)
	return s, nil
}

// Put changes an agent's record, in the name of a person who may.
func (k *Keeper) Put(c *record.Change, agent string, i Intervention) error {
	a, err := k.read(c, agent)
	if err != nil {
		return err
	}
	var next State
	var event record.EventType
	switch i.Action {
	case Pause:
		next, event = Paused, record.EventPaused
	case Resume:
		next, event = Running, record.EventResumed
	case Stop:
		next, event = Stopped, record.EventStopped
	default:
		return fmt.Errorf("%w: %q", ErrIntervention, i.Action)
	}
	if next == Running {
		if err := k.follow.Resumed(c, agent, i.By); err != nil {
			return err
		}
	}
	switch {
	case a.State == next:
		return nil
	case a.status().Stopped() && next == Paused:
		return ErrStopped
	}
	a.State, a.By, a.At, a.Reason = next, i.By, c.Now, i.Reason
	e := audit.Entry{Type: audit.TypeIntervention, Note: intervened(agent, i)}
	if agent != Everybody {
		e.Call = &audit.Call{Agent: agent}
	}
	if a.Seq, err = c.Append(e); err != nil {
		return err
	}
	c.Durable(func() { k.statuses.learn([]storedAgent{a}) })
	if err := c.Note(event, agent, e.Note, a.Seq); err != nil {
		return err
	}
	if next == Running {
		return c.Tx.Delete(Prefix + agent)
	}
	return record.Write(c.Tx, Prefix+agent, &a)
}

// intervened says in words what was done.
func intervened(agent string, i Intervention) string {
	done := map[Action]string{Pause: "paused", Resume: "resumed", Stop: "stopped"}[i.Action]
	note := holdgate.Visible(cmp.Or(agent, "all agents")) + " " + done + " by " + i.By
	if i.Reason != "" {
		note += ": " + i.Reason
	}
	return note
}

// Sweep cancels what is pending of agents that are stopped: of one, or of
// [Everybody]. Once an agent is stopped nothing new of it becomes pending.
func (k *Keeper) Sweep(ctx context.Context, agent string) error {
	ctx = context.WithoutCancel(ctx)
	var ids []string
	err := k.b.Store.View(ctx, func(tx store.Tx) error {
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
		err = k.b.Change(ctx, func(c *record.Change) error {
			for _, id := range batch {
				if err := k.sweepOne(c, id); err != nil {
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
func (k *Keeper) sweepOne(c *record.Change, id string) error {
	r, err := c.Request(id)
	if errors.Is(err, record.ErrNotFound) || err == nil && r.Status.Final() {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := k.status(c, r.Agent)
	if err != nil || !s.Stopped() {
		return err
	}
	return c.Cancel(r, cmp.Or(s.By, people.ByHoldgate), "the agent was "+s.String())
}
