package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A Book is where state is kept: a store with its audit log, and the rooms that
// follow each change of it. What a room keeps in memory is a view of the store: it
// is read when the room opens, and takes in each record once that is durable, the
// newest of each, in whatever order they come.
type Book struct {
	Store    store.Store
	Log      *audit.Log
	Digester *holdgate.Digester
	Seal     *Sealer
	Redeem   time.Duration // how long an outcome waits for its call to come again
	NoInputs bool          // the audit log keeps no arguments
	// People says who may answer; it is asked once for each change. What it answers
	// is replaced within [Book.Alone] alone.
	People func() *people.People
	// Goes, where it is set, is asked at the beginning of each change; its error keeps
	// it from happening.
	Goes func(store.Tx) error
	// Conceal, where it is set, takes credentials out of a text: see [Book.Words].
	Conceal func(string) string
	Hooks

	turn sync.RWMutex // held by changes, and alone by Alone
}

// Words are what somebody has written, as it is kept: what people say goes to
// channels, into the log and to the agent, and what agents say to people.
func (b *Book) Words(text string) string {
	if b.Conceal == nil {
		return text
	}
	return b.Conceal(text)
}

// Hooks are what the rooms do in changes of requests, in the order in which they
// are given. An error of one undoes the change.
type Hooks struct {
	Asking  []func(*Change, *StoredRequest) error  // a request is about to be stored
	Asked   []func(*Change, *StoredRequest) error  // one was stored
	Ended   []func(*Change, *StoredRequest) error  // one has ended
	Over    []func(*Change, *StoredExchange) error // an exchange is final
	Durable []func(*Change)                        // a change is durable, and each room has learned of it
}

// A Change is one change of state: one transaction, and what the rooms must learn
// once it is durable.
type Change struct {
	Tx     store.Tx
	Now    time.Time
	People *people.People // who may answer, from its beginning to its end
	Ended  []string       // requests
	Over   []string       // exchanges
	Next   time.Time      // the earliest new entry of the timer

	b         *Book
	exchanges map[string]*StoredExchange // read here, and written when the change ends
	parts     map[any]any
	last      []func() error
	durable   []func()
	undone    []func()
	entries   []audit.Entry // that were appended
}

// Change runs fn as one change of state. The caller's context can keep it from
// beginning, not from ending: on return it is durable, or it never happened.
func (b *Book) Change(ctx context.Context, fn func(*Change) error) error {
	b.turn.RLock()
	defer b.turn.RUnlock()
	return b.change(ctx, fn)
}

// Alone is Change while no other change is under way, between two functions of
// which the first can keep it from happening.
func (b *Book) Alone(ctx context.Context, before func() error, fn func(*Change) error, after func()) error {
	b.turn.Lock()
	defer b.turn.Unlock()
	if err := before(); err != nil {
		return err
	}
	if err := b.change(ctx, fn); err != nil {
		return err
	}
	after()
	return nil
}

func (b *Book) change(ctx context.Context, fn func(*Change) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *Change
	err := b.Store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		c.undo() // where it runs again
		c = &Change{Tx: tx, Now: Now(), People: b.People(), b: b, exchanges: make(map[string]*StoredExchange)}
		if b.Goes != nil {
			if err := b.Goes(tx); err != nil {
				return err
			}
		}
		if err := fn(c); err != nil {
			return err
		}
		for id, x := range c.exchanges {
			if err := c.store(id, x); err != nil {
				return err
			}
		}
		for _, last := range c.last {
			if err := last(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.undo()
		return err
	}
	b.Log.Wrote(c.entries...)
	for _, learn := range c.durable {
		learn()
	}
	for _, hook := range b.Durable {
		hook(c)
	}
	return nil
}

// Part is what a room keeps of a change until it ends, begun where there is none.
func Part[T any](c *Change, room any, begin func() *T) *T {
	if p, ok := c.parts[room]; ok {
		return p.(*T)
	}
	if c.parts == nil {
		c.parts = make(map[any]any)
	}
	p := begin()
	c.parts[room] = p
	return p
}

// Last has fn called at the end of the transaction.
func (c *Change) Last(fn func() error) { c.last = append(c.last, fn) }

// Durable has fn called once the change is durable.
func (c *Change) Durable(fn func()) { c.durable = append(c.durable, fn) }

// Undone has fn called where the change does not come to pass.
func (c *Change) Undone(fn func()) { c.undone = append(c.undone, fn) }

func (c *Change) undo() {
	if c == nil {
		return
	}
	for _, fn := range c.undone {
		fn()
	}
}

// Exchange returns the exchange, to be read and changed. It returns
// store.ErrNotFound where there is none.
func (c *Change) Exchange(id string) (*StoredExchange, error) {
	if x, ok := c.exchanges[id]; ok {
		return x, nil
	}
	x := new(StoredExchange)
	if err := Read(c.Tx, PrefixExchange+id, x); err != nil {
		return nil, err
	}
	c.exchanges[id] = x
	return x, nil
}

// Begin takes up a new exchange.
func (c *Change) Begin(x *StoredExchange) *StoredExchange {
	x.Header, x.State = Current(), StateHolding
	c.exchanges[x.ID] = x
	return x
}

// store writes an exchange, and into the list of open ones as long as it is.
func (c *Change) store(id string, x *StoredExchange) error {
	if err := Write(c.Tx, PrefixExchange+id, x); err != nil {
		return err
	}
	if x.State.Final() {
		return c.Tx.Delete(PrefixOpen + id)
	}
	return Write(c.Tx, PrefixOpen+id, x.asOpen())
}

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

// Enter takes the exchange into a state.
func (c *Change) Enter(x *StoredExchange, s exchangeState) error {
	if !x.Due.IsZero() {
		if err := c.Tx.Delete(DueKey(x.Due, x.ID)); err != nil {
			return err
		}
		x.Due = time.Time{}
	}
	x.State = s
	switch s {
	case StateReady:
		x.Due = c.Now.Add(c.b.Redeem)
		return c.Schedule(x.Due, x.ID, DueExchange)
	case StateSpent, StateUnknown:
		c.Over = append(c.Over, x.ID)
		if err := follow(c.b.Hooks.Over, c, x); err != nil {
			return err
		}
		x.Bytes = 0
		return errors.Join(c.erase(x), c.eraseEdits(x), c.Tx.Set(DoneKey(c.Now, x.ID), nil))
	}
	return nil
}

func follow[T any](hooks []func(*Change, T) error, c *Change, of T) error {
	for _, hook := range hooks {
		if err := hook(c, of); err != nil {
			return err
		}
	}
	return nil
}

// erase removes the sealed answer.
func (c *Change) erase(x *StoredExchange) error {
	if x.Body == nil {
		return nil
	}
	for n := range x.Body.Erase {
		if err := c.Tx.Delete(ChunkKey(x.ID, n)); err != nil {
			return err
		}
	}
	x.Body = nil
	return nil
}

// eraseEdits removes the sealed arguments of an exchange's edits.
func (c *Change) eraseEdits(x *StoredExchange) error {
	for i := range x.Requests {
		ref := &x.Requests[i]
		if !ref.Edited {
			continue
		}
		if err := c.Tx.Delete(PrefixEdited + ref.ID); err != nil {
			return err
		}
		ref.Edited = false
	}
	return nil
}

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

// Conclude ends an exchange as spent or unknown: what is pending is cancelled,
// and each approval gets its result.
func (c *Change) Conclude(x *StoredExchange, s exchangeState, note string) error {
	for i := range x.Requests {
		if x.Requests[i].Status == holdgate.StatusPending {
			if err := c.CancelID(x.Requests[i].ID, "the exchange is over"); err != nil {
				return err
			}
		}
	}
	used := ResultSpent
	if s == StateUnknown {
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
		if err := c.Result(x, ref, res, note); err != nil {
			return err
		}
		logged = true
	}
	if !logged {
		e := audit.Entry{Type: audit.TypeResult, Exchange: x.ID, Door: x.Door, Note: noted(used, note)}
		if _, err := c.Append(e); err != nil {
			return err
		}
	}
	return c.Enter(x, s)
}

// Result records what became of one approval.
func (c *Change) Result(x *StoredExchange, ref *StoredRef, res result, note string) error {
	ref.Result = res
	r, err := c.Request(ref.ID)
	if ref.Borrowed && errors.Is(err, ErrNotFound) {
		return nil // it was forgotten with its own exchange
	}
	if err != nil {
		return err
	}
	e := r.Entry(audit.TypeResult)
	e.Note, e.Door, e.Exchange = noted(res, note), x.Door, x.ID
	_, err = c.Append(e)
	return err
}

// Orphan takes note that whoever was sending is gone.
func (c *Change) Orphan(x *StoredExchange, note string) error {
	if x.State == StateDelivering {
		return c.Conclude(x, StateUnknown, note)
	}
	for i := range x.Requests {
		if ref := &x.Requests[i]; ref.Used && ref.Result == "" {
			if err := c.Result(x, ref, resultUnknown, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func noted(res result, note string) string {
	return strings.TrimSuffix(string(res)+": "+note, ": ")
}

// Append appends to the audit log and returns the entry's number.
func (c *Change) Append(e audit.Entry) (uint64, error) {
	e, err := c.b.Log.Append(c.Tx, e)
	if err != nil {
		return 0, fmt.Errorf("writing the audit log: %w", err)
	}
	c.entries = append(c.entries, e)
	return e.Seq, nil
}
