package record

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Request reads a request, or returns ErrNotFound.
func (c *Change) Request(id string) (*StoredRequest, error) {
	r := new(StoredRequest)
	err := Read(c.Tx, PrefixRequest+id, r)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotFound
	}
	return r, err
}

// Write writes a request.
func (c *Change) Write(r *StoredRequest) error { return Write(c.Tx, PrefixRequest+r.ID, r) }

// AddRequest stores a new request of the exchange, which the log keeps with what was
// decided about and seen.
func (c *Change) AddRequest(x *StoredExchange, r *StoredRequest, match holdgate.Digest, input KeptInput) error {
	if err := follow(c.b.Asking, c, r); err != nil {
		return err
	}
	x.Bytes += r.Call.Size()
	r.Created, r.Expires = c.Now, c.Now.Add(r.Timeout)
	e := r.Entry(audit.TypeDecision)
	e.Decision = &audit.Decision{Action: holdgate.Hold, Rule: r.Rule, Reason: r.Reason, Risk: r.Risk, Revision: r.Revision}
	e.Input, e.Seen, e.Note = input.Arguments, input.Seen, r.SilenceDenied
	if e.Note == "" && r.Eligibility(c.People).Check() != nil {
		e.Note = "nobody can approve it"
	}
	seq, err := c.Append(e)
	if err != nil {
		return err
	}
	r.Asked = seq
	x.Requests = append(x.Requests, StoredRef{ID: r.ID, Match: match, Status: r.Status})
	if err := c.Enter(x, StateHolding); err != nil {
		return err
	}
	if err := errors.Join(c.Write(r), follow(c.b.Asked, c, r), c.askedAgain(r)); err != nil {
		return err
	}
	return errors.Join(c.list(r), c.Schedule(r.Expires, r.ID, r.Timer()), c.ScheduleEscalation(r), c.Tell(EventRequested, r, seq))
}

// EndRequest ends a pending request, and takes its exchange on where nothing of it is
// pending any more. The note goes into the audit log.
func (c *Change) EndRequest(r *StoredRequest, s holdgate.Status, o holdgate.Outcome, note string) error {
	o.At = c.Now
	if err := c.unschedule(r); err != nil {
		return err
	}
	r.Status, r.Outcome, r.Claim = s, &o, nil
	if err := errors.Join(c.Write(r), c.list(r)); err != nil {
		return err
	}
	x, err := c.Exchange(r.Exchange)
	if err != nil {
		return err
	}
	ref := x.Ref(r.ID)
	if ref == nil {
		return fmt.Errorf("ending request %s: exchange %s does not know it", r.ID, x.ID)
	}
	ref.Status = s
	if x.State == StateHolding && !x.Pending() {
		next := StateReady
		if x.InUse() {
			next = StateDelivering
		}
		if err := c.Enter(x, next); err != nil {
			return err
		}
	}
	e := r.Entry(audit.TypeOutcome)
	e.Outcome, e.Status, e.Note = c.logged(r, o), r.Status, note
	seq, err := c.Append(e)
	if err != nil {
		return err
	}
	c.Ended = append(c.Ended, r.ID)
	if err := follow(c.b.Hooks.Ended, c, r); err != nil {
		return err
	}
	return c.Tell(EventDecided, r, seq)
}

// logged is an outcome as the log keeps it.
func (c *Change) logged(r *StoredRequest, o holdgate.Outcome) *holdgate.Outcome {
	if r.Edit != nil && !c.b.NoInputs {
		o.Arguments = r.Edit.Arguments
	}
	return &o
}

// Cancel ends a request, if it is pending still: by says whoever made it so that
// nobody needs to answer.
func (c *Change) Cancel(r *StoredRequest, by, reason string) error {
	return c.EndRequest(r, holdgate.StatusCancelled, holdgate.Outcome{Decision: holdgate.AnswerCancel, By: by, Reason: reason}, "")
}

// CancelID is [Change.Cancel] by Holdgate itself.
func (c *Change) CancelID(id, reason string) error {
	r, err := c.Request(id)
	if err != nil {
		return err
	}
	return c.Cancel(r, people.ByHoldgate, reason)
}
