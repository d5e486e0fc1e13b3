package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/rego"
)

// hold answers a hold by a grant, or else puts the call into the queue, or finds
// the request that an earlier connection left there. What a grant has answered is
// decided again, as what a person has.
func (x *Exchange) hold(ctx context.Context, e *Evaluation, d holdgate.Decision) error {
	if !e.Later || e.digest == "" {
		if err := x.digest(ctx, e); err != nil {
			return err
		}
	}
	switch g, ok, err := x.g.c.Queue.Granted(ctx, e.Call, d, e.digest, x.from.turns); {
	case err != nil:
		return err
	case ok:
		e.rounds++
		e.approved = append(e.approved, approval{
			answer:    rego.Answer{Gate: d.Hold.Gate, Rule: d.Rule, Decision: holdgate.AnswerApprove, By: strings.Join(g.By, ", "), Also: g.Settles(d)},
			approvers: d.Hold.Approvers,
		})
		return x.Decide(ctx, e)
	}
	if e.Later {
		return x.postpone(ctx, e, d)
	}
	if done, err := x.borrow(ctx, e, d); done || err != nil {
		return err
	}
	return x.enqueue(ctx, e, d)
}

// postpone refuses a call about which people can be asked, and are not yet.
func (x *Exchange) postpone(ctx context.Context, e *Evaluation, d holdgate.Decision) error {
	e.why = d.Reason
	d.Action, d.Hold, d.Also = holdgate.Deny, holdgate.HoldSpec{}, nil
	d.Reason += " People are asked once the client requests it."
	if err := x.settled(ctx, e, d); err != nil {
		return err
	}
	e.asks = true
	return nil
}

// digest makes sure that the exchange is in the queue, and that the call has the
// digest that it has there.
func (x *Exchange) digest(ctx context.Context, e *Evaluation) (err error) {
	if err := x.enter(ctx); err != nil {
		return err
	}
	if e.digest == "" {
		if e.digest, err = x.held.Digest(e.Call); err != nil {
			return fmt.Errorf("digesting the call: %w", err)
		}
	}
	return nil
}

// enqueue puts the call into the queue.
func (x *Exchange) enqueue(ctx context.Context, e *Evaluation, d holdgate.Decision) error {
	if e.Fixed {
		d.Hold.Allow = slices.DeleteFunc(slices.Clone(d.Hold.Allow), func(way string) bool { return way == "edit" })
	}
	req, err := x.held.RequestApproval(ctx, approvals.HeldCall{Call: e.Call, Decision: d, Edited: e.edited, Task: x.from.task(), Turns: x.from.turns(), Program: x.from.Program, Said: x.from.Said, Trace: trace.Asking(ctx)})
	if over := limitOf(err); over != nil {
		return x.overLimit(ctx, e, over)
	}
	if err != nil {
		return fmt.Errorf("putting the call into the queue: %w", err)
	}
	x.stored.Store(true)
	e.request, e.canonical = req, nil // it may wait for long
	trace.Asked(ctx, req.ID, req.Rule)
	return nil
}

// Keep stores the answer that the calls are of. It reports false where there is no
// room for it: what is held of it is refused then.
func (x *Exchange) Keep(ctx context.Context, a approvals.Answer, all []*Evaluation) (kept bool, err error) {
	err = x.held.Keep(ctx, a)
	over := limitOf(err)
	if over == nil {
		if err != nil {
			return false, fmt.Errorf("storing the answer: %w", err)
		}
		return true, nil
	}
	if err := x.held.Settle(ctx, nil); err != nil {
		return false, err
	}
	for _, e := range Undecided(all) {
		if err := x.overLimit(ctx, e, over); err != nil {
			return false, err
		}
	}
	return false, nil
}
