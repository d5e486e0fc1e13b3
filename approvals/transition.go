package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A transition is one change of state: one transaction, and what the rest of
// the queue must learn once it is durable.
type transition struct {
	q   *Queue
	tx  store.Tx
	now time.Time
	in  InForce // what it goes by, from its beginning to its end

	exchanges map[string]*storedExchange // read here, and written when the transaction ends
	ended     []string                   // requests
	closed    []string                   // exchanges
	heard     []string                   // requests that silence no longer approves
	listening []string                   // requests whose silence counts from now on
	next      time.Time                  // the earliest new entry of the timer
	tools     []*storedTool              // of which something was learned or accepted
	unread    map[string]string          // servers whose list could not be read, and why
	agents    []storedAgent              // whom people paused, resumed or stopped
	taken     []charge                   // of agents' accounts
	given     []charge                   // back to them
	sessions  map[sessionKey]*changedSession
	forgotten []sessionKey // that made room for others
	mailed    []string     // agents for whom there are messages
}

// transact runs fn as one transition. The caller's context can keep it from
// beginning, not from ending: on return it is durable, or it never happened.
func (q *Queue) transact(ctx context.Context, fn func(*transition) error) error {
	q.turn.RLock()
	defer q.turn.RUnlock()
	return q.update(ctx, fn)
}

// update is transact for who holds the queue's turn.
func (q *Queue) update(ctx context.Context, fn func(*transition) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var t *transition
	err := q.c.Store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		t.undo() // where it runs again
		t = &transition{q: q, tx: tx, now: now(), in: q.c.InForce(), exchanges: make(map[string]*storedExchange)}
		if err := fn(t); err != nil {
			return err
		}
		for id, x := range t.exchanges {
			if err := t.store(id, x); err != nil {
				return err
			}
		}
		return t.saveSessions()
	})
	if err != nil {
		t.undo()
		return err
	}
	q.ledger.give(t.given)
	q.standings.learn(t.agents)
	t.learnSessions()
	q.mail.came(t.mailed...)
	q.definitions.learn(t)
	q.index.learn(t)
	q.quiet.learn(t)
	if !t.next.IsZero() {
		q.timer.sooner(t.next)
	}
	return nil
}

// now is the time as it is stored: without the monotonic reading, which does
// not outlive the process.
func now() time.Time { return time.Now().UTC().Round(0) }

// exchange returns the exchange, to be read and changed. It returns
// store.ErrNotFound where there is none.
func (t *transition) exchange(id string) (*storedExchange, error) {
	if x, ok := t.exchanges[id]; ok {
		return x, nil
	}
	x := new(storedExchange)
	if err := read(t.tx, prefixExchange+id, x); err != nil {
		return nil, err
	}
	t.exchanges[id] = x
	return x, nil
}

// store writes an exchange, and into the list of open ones as long as it is.
func (t *transition) store(id string, x *storedExchange) error {
	if err := write(t.tx, prefixExchange+id, x); err != nil {
		return err
	}
	if x.State.final() {
		return t.tx.Delete(prefixOpen + id)
	}
	return write(t.tx, prefixOpen+id, x.open())
}

func (t *transition) request(id string) (*storedRequest, error) {
	r := new(storedRequest)
	err := read(t.tx, prefixRequest+id, r)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotFound
	}
	return r, err
}

func (t *transition) write(r *storedRequest) error { return write(t.tx, prefixRequest+r.ID, r) }

// enter takes the exchange into a state.
func (t *transition) enter(x *storedExchange, s exchangeState) error {
	if !x.Due.IsZero() {
		if err := t.tx.Delete(dueKey(x.Due, x.ID)); err != nil {
			return err
		}
		x.Due = time.Time{}
	}
	x.State = s
	switch s {
	case stateReady:
		x.Due = t.now.Add(t.q.c.Redeem)
		return t.schedule(x.Due, x.ID, dueExchange)
	case stateSpent, stateUnknown:
		t.closed = append(t.closed, x.ID)
		t.give(x.account(), account{bytes: x.Bytes})
		x.Bytes = 0
		return errors.Join(t.erase(x), t.eraseEdits(x), t.tx.Set(doneKey(t.now, x.ID), nil))
	}
	return nil
}

// erase removes the sealed answer.
func (t *transition) erase(x *storedExchange) error {
	if x.Body == nil {
		return nil
	}
	for n := range x.Body.Erase {
		if err := t.tx.Delete(chunkKey(x.ID, n)); err != nil {
			return err
		}
	}
	x.Body = nil
	return nil
}

// wakeAt says that something is due at a time.
func (t *transition) wakeAt(at time.Time) {
	if t.next.IsZero() || at.Before(t.next) {
		t.next = at
	}
}

func (t *transition) schedule(at time.Time, id, what string) error {
	t.wakeAt(at)
	return t.tx.Set(dueKey(at, id), []byte(what))
}

// unschedule takes a pending request out of the timer.
func (t *transition) unschedule(r *storedRequest) error {
	err := t.tx.Delete(dueKey(r.Expires, r.ID))
	if at, ok := r.escalates(); ok {
		err = errors.Join(err, t.tx.Delete(escalateKey(at, r.ID)))
	}
	return err
}

// end ends a pending request, and takes its exchange on where nothing of it is
// pending any more. The note goes into the audit log.
func (t *transition) end(r *storedRequest, s holdgate.Status, o holdgate.Outcome, note string) error {
	o.At = t.now
	if err := t.unschedule(r); err != nil {
		return err
	}
	r.Status, r.Outcome, r.Claim = s, &o, nil
	if err := errors.Join(t.write(r), t.list(r)); err != nil {
		return err
	}
	x, err := t.exchange(r.Exchange)
	if err != nil {
		return err
	}
	ref := x.ref(r.ID)
	if ref == nil {
		return fmt.Errorf("ending request %s: exchange %s does not know it", r.ID, x.ID)
	}
	ref.Status = s
	t.give(r.account(), account{pending: 1})
	if x.State == stateHolding && !x.pending() {
		next := stateReady
		if x.inUse() {
			next = stateDelivering
		}
		if err := t.enter(x, next); err != nil {
			return err
		}
	}
	e := r.entry(audit.TypeOutcome)
	e.Outcome, e.Status, e.Note = t.logged(r, o), r.Status, note
	seq, err := t.log(e)
	if err != nil {
		return err
	}
	t.ended = append(t.ended, r.ID)
	if err := errors.Join(t.countEnded(r), t.unlearnEnded(r), t.sessionEnded(r)); err != nil {
		return err
	}
	return t.tell(EventDecided, r, seq)
}

// logged is an outcome as the log keeps it.
func (t *transition) logged(r *storedRequest, o holdgate.Outcome) *holdgate.Outcome {
	if r.Edit != nil && !t.q.c.NoInputs {
		o.Arguments = r.Edit.Arguments
	}
	return &o
}

// cancel ends a pending request that nobody needs answered.
func (t *transition) cancel(id, reason string) error {
	r, err := t.request(id)
	if err != nil {
		return err
	}
	return t.end(r, holdgate.StatusCancelled, holdgate.Outcome{Decision: holdgate.AnswerCancel, By: people.ByHoldgate, Reason: reason}, "")
}

// conclude ends an exchange as spent or unknown: what is pending is cancelled,
// and each approval gets its result.
func (t *transition) conclude(x *storedExchange, s exchangeState, note string) error {
	for i := range x.Requests {
		if x.Requests[i].Status == holdgate.StatusPending {
			if err := t.cancel(x.Requests[i].ID, "the exchange is over"); err != nil {
				return err
			}
		}
	}
	used := resultSpent
	if s == stateUnknown {
		used = resultUnknown
	}
	logged := false
	for i := range x.Requests {
		ref := &x.Requests[i]
		if ref.Status != holdgate.StatusApproved || ref.Result != "" {
			continue
		}
		res := used
		if !ref.Used {
			res = resultUnused
		}
		if err := t.result(x, ref, res, note); err != nil {
			return err
		}
		logged = true
	}
	if !logged {
		e := audit.Entry{Type: audit.TypeResult, Exchange: x.ID, Door: x.Door, Note: noted(used, note)}
		if _, err := t.log(e); err != nil {
			return err
		}
	}
	return t.enter(x, s)
}

// result records what became of one approval.
func (t *transition) result(x *storedExchange, ref *storedRef, res result, note string) error {
	ref.Result = res
	r, err := t.request(ref.ID)
	if ref.Borrowed && errors.Is(err, ErrNotFound) {
		return nil // it was forgotten with its own exchange
	}
	if err != nil {
		return err
	}
	e := r.entry(audit.TypeResult)
	e.Note, e.Door, e.Exchange = noted(res, note), x.Door, x.ID
	_, err = t.log(e)
	return err
}

// orphan takes note that whoever was sending is gone.
func (t *transition) orphan(x *storedExchange, note string) error {
	if x.State == stateDelivering {
		return t.conclude(x, stateUnknown, note)
	}
	for i := range x.Requests {
		if ref := &x.Requests[i]; ref.Used && ref.Result == "" {
			if err := t.result(x, ref, resultUnknown, note); err != nil {
				return err
			}
		}
	}
	return nil
}

// record logs what happened to a request, in words, and tells channels of it.
func (t *transition) record(r *storedRequest, typ audit.Type, event EventType, note string) error {
	e := r.entry(typ)
	e.Note = note
	seq, err := t.log(e)
	if err != nil {
		return err
	}
	return t.tell(event, r, seq)
}

// log appends to the audit log and returns the entry's number.
func (t *transition) log(e audit.Entry) (uint64, error) {
	e, err := t.q.c.Log.Append(t.tx, e)
	if err != nil {
		return 0, fmt.Errorf("writing the audit log: %w", err)
	}
	return e.Seq, nil
}

// entry begins an audit entry about the request.
func (r *storedRequest) entry(typ audit.Type) audit.Entry {
	c := &audit.Call{
		ID: r.Call.ID, Kind: r.Call.Kind, Model: r.Call.Model, MCP: r.Call.MCP, HTTP: r.Call.HTTP,
		Digest: r.Call.Digest, Agent: r.Agent, Proven: r.Proven, Session: r.Session,
	}
	if r.Call.Gate != nil {
		c.Gate = r.Call.Gate.Type
	}
	if r.Call.IsTool {
		c.Tool = &audit.Tool{Name: r.Call.Tool, Server: r.Call.Server}
	}
	return audit.Entry{Type: typ, RequestID: r.ID, Exchange: r.Exchange, Door: r.Door, Call: c}
}

func noted(res result, note string) string {
	return strings.TrimSuffix(string(res)+": "+note, ": ")
}
