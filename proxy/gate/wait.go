package gate

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate/approvals"
)

// A WaitError says that a wait for people ended before they had decided. What is
// pending stays.
type WaitError struct {
	Err  error
	Over bool // the time to wait was over
}

func (e *WaitError) Error() string { return e.Err.Error() }

func (e *WaitError) Unwrap() error { return e.Err }

// Wait keeps the caller in line until every call is decided: each outcome is judged
// by the policy of that time, which may ask the next question. Then it waits until
// the agent is not paused. Its error is a [*WaitError].
func (x *Exchange) Wait(ctx context.Context, all ...*Evaluation) error {
	err := x.waitAll(ctx, all)
	if err == nil {
		err = x.clear(ctx, all)
	}
	if err != nil {
		return &WaitError{Err: err, Over: ctx.Err() != nil}
	}
	return nil
}

func (x *Exchange) waitAll(ctx context.Context, all []*Evaluation) error {
	all = Undecided(all)
	if len(all) == 1 { // as nearly always: there may be many that wait, so it costs no goroutine
		return x.waitOne(ctx, all[0])
	}
	return x.waitEach(ctx, all)
}

func (x *Exchange) waitEach(ctx context.Context, all []*Evaluation) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, e := range all {
		g.Go(func() error { return x.waitOne(ctx, e) })
	}
	return g.Wait()
}

func (x *Exchange) waitOne(ctx context.Context, e *Evaluation) (err error) {
	defer func() {
		if p := recover(); p != nil { // in a goroutine it would end the process
			err = fmt.Errorf("deciding a call failed inside Holdgate: %v", p)
		}
	}()
	for e.Undecided() {
		if err := x.held.Await(ctx, e.request.ID); err != nil {
			return err
		}
		if err := x.ended(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// ended takes a call on whose request has ended. It is apart from the waiting so
// that a stack that waits is small.
func (x *Exchange) ended(ctx context.Context, e *Evaluation) error {
	req, err := x.held.Wait(ctx, e.request.ID)
	if err != nil {
		return err
	}
	err = x.resume(ctx, e, req)
	if err == nil && e.Undecided() && x.OnAsk != nil {
		x.OnAsk(e)
	}
	return err
}

// CatchUp is for an agent that asks again later: it takes on the calls whose requests
// had ended before this connection came, so that what they asked next is known. What
// people have not answered stays open.
func (x *Exchange) CatchUp(ctx context.Context, all ...*Evaluation) error {
	for _, e := range all {
		for e.Undecided() && e.request.Status.Final() {
			if err := x.resume(ctx, e, e.request); err != nil {
				return err
			}
		}
	}
	return nil
}

// WaitsFor says what keeps the calls from going on.
func (x *Exchange) WaitsFor(all []*Evaluation) string {
	if len(Undecided(all)) > 0 {
		return "it waits for a person to decide " + Requests(all)
	}
	return PausedText(x.AgentStatus())
}

// Use claims every approval that the released calls rest on, in one transaction,
// before the first of their bytes goes on. [Exchange.Done] must follow.
func (x *Exchange) Use(ctx context.Context, all ...*Evaluation) error {
	var uses []approvals.Use
	for _, e := range all {
		if !e.Released() {
			continue
		}
		for _, a := range e.approved {
			if a.use.RequestID == "" {
				continue
			}
			if !a.use.Borrowed {
				a.use.Twin = x.covering(e)
				if x.from.At == InAnswer {
					a.use.Hooked = x.hooked(e.Call.Tool)
				}
			}
			uses = append(uses, a.use)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	if err := x.held.Use(context.WithoutCancel(ctx), uses); err != nil {
		return fmt.Errorf("using the approval: %w", err)
	}
	return nil
}
