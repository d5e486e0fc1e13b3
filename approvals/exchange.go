package approvals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

func keyOf(c Caller) callerKey { return callerKey{c.Agent.ID, c.Agent.Proven, c.Session.ID, c.Door} }

// errLeft says that a connection acts after it left, which is a mistake of the
// program's.
var errLeft = errors.New("the connection has left the exchange")

// An Exchange is one request of an agent and its answer, as one live
// connection takes part in it. Its methods are safe for concurrent use.
type Exchange struct {
	q       *Queue
	who     Caller
	makeKey func() (holdgate.Digest, error)
	after   *Exchange     // joined while this one still read the answer
	left    chan struct{} // made by Detach, closed by Leave

	mu       sync.Mutex // one transition at a time; Wait does not take it
	id       string
	key      holdgate.Digest
	slot     *slot // nil until the exchange is stored
	inUse    bool  // approvals were used, and Done has not said what arrived
	detached bool
	gone     bool
	borrowed []string // requests of other exchanges
}

// Enter takes part in an exchange for one live connection. key names the
// agent's request: the digest of its canonical form; it is computed only where
// it is needed. An exchange of the same caller and key that waits and that no
// live connection takes part in (or is about to leave) is joined; otherwise a
// new one begins, which is not stored before its first Ask. Leave must be
// called.
func (q *Queue) Enter(ctx context.Context, who Caller, key func() (holdgate.Digest, error)) (*Exchange, error) {
	x := &Exchange{q: q, who: who, makeKey: key}
	if !q.index.busy(keyOf(who)) {
		return x, nil
	}
	if err := x.named(); err != nil {
		return nil, err
	}
	joined, holders, err := q.join(ctx, x, "")
	if err == nil && !joined && q.index.awaitFree(ctx, keyOf(who), x.key, besideWait) {
		joined, holders, err = q.join(ctx, x, "")
	}
	if err == nil && !joined && len(holders) > 0 && q.c.Others != nil {
		err = q.awaitOthers(ctx, x)
	}
	return x, err
}

// Reenter takes part in the very exchange with an id, if it still waits, is the
// caller's and has the key, and no live connection takes part in it; otherwise a
// new one begins, as with Enter. No other exchange is joined.
func (q *Queue) Reenter(ctx context.Context, who Caller, id string, key func() (holdgate.Digest, error)) (*Exchange, error) {
	x := &Exchange{q: q, who: who, makeKey: key}
	if err := x.named(); err != nil {
		return nil, err
	}
	if id == "" {
		return x, nil
	}
	if err := q.know(ctx, id); err != nil {
		return nil, err
	}
	_, _, err := q.join(ctx, x, id)
	return x, err
}

// besideWait is how long a connection that finds an exchange taken waits for
// it. A client that gives up and asks again at once may be here before it is
// noticed that its first connection has gone; two that really ask the same
// side by side only lose this much time.
const besideWait = 250 * time.Millisecond

// join makes x take part in an exchange of its key that waits and that is
// free, and reports whether there was one, or which members' connections take part in
// those that wait. Where only is set it is that one.
func (q *Queue) join(ctx context.Context, x *Exchange, only string) (joined bool, holders []string, err error) {
	for _, s := range q.index.candidates(keyOf(x.who), x.key) {
		if only != "" && s.id != only {
			continue
		}
		reader, ok := q.index.claim(s, x)
		if !ok {
			continue
		}
		turn, holder, err := q.takePart(ctx, s.id)
		if err != nil || turn == 0 {
			q.index.release(s, x, false)
			if err != nil {
				return false, nil, err
			}
			if holder != "" {
				holders = append(holders, holder)
			}
			continue
		}
		q.index.entered(s, turn)
		if q.index.isLeft(s) {
			if err := q.attend(ctx, s.id); err != nil {
				q.index.release(s, x, false)
				return false, nil, err
			}
		}
		x.id, x.slot, x.after = s.id, s, reader
		return true, nil, nil
	}
	return false, holders, nil
}

// takePart has a connection take part in an exchange that still waits. It returns
// 0 where it does not, or where a connection of another member takes part in it, and
// which.
func (q *Queue) takePart(ctx context.Context, id string) (turn uint64, holder string, err error) {
	if q.member != nil {
		return q.enter(ctx, id)
	}
	var x record.StoredExchange
	err = q.c.Store.View(ctx, func(tx store.Tx) error { return record.Read(tx, record.PrefixExchange+id, &x) })
	if err != nil || !waits(&x) {
		return 0, "", err
	}
	return 1, "", nil
}

// waits reports whether the same request can take up an exchange.
func waits(x *record.StoredExchange) bool {
	return x.State == record.StateHolding || x.State == record.StateReady && time.Now().Before(x.Due)
}

// named computes the exchange's key, once.
func (x *Exchange) named() (err error) {
	if x.key != "" {
		return nil
	}
	if x.key, err = x.makeKey(); err != nil {
		return fmt.Errorf("naming the request: %w", err)
	}
	if x.key == "" {
		return errors.New("naming the request: the key is empty")
	}
	return nil
}

// ID names the exchange. Until its first Ask nothing is stored under it.
func (x *Exchange) ID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.name()
}

func (x *Exchange) name() string {
	if x.id == "" {
		x.id = record.NewID()
	}
	return x.id
}

// Wait returns the request once it has ended, or ctx's error. Cancelling ctx
// leaves the request pending. What the end has changed of the session is known
// from then on, so that policy can be asked again.
func (x *Exchange) Wait(ctx context.Context, id string) (Request, error) {
	if err := x.Await(ctx, id); err != nil {
		return Request{}, err
	}
	r, err := x.q.Request(ctx, id)
	if err != nil {
		return r, err
	}
	return r, x.q.Sessions.CatchUp(ctx, r.Agent.ID, r.Session.ID)
}

// Await is Wait without the request. A person may take hours: nothing of the
// request is kept meanwhile.
func (x *Exchange) Await(ctx context.Context, id string) error {
	ended, forget := x.q.index.wait(id)
	defer forget()
	if over, err := x.over(ctx, id); over || err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-x.q.life.Done():
		return store.ErrClosed
	}
}

// AfterEnd has wake called once one of the requests has ended, or cannot be
// read, which whoever is woken finds out with Await. It may be called several
// times, also before AfterEnd returns, and must not block. Nothing is kept
// meanwhile but what wake needs; forget gives it back. A queue that is closed
// wakes nobody.
func (x *Exchange) AfterEnd(ctx context.Context, ids []string, wake func()) (forget func()) {
	w := &waiter{wake: wake}
	x.q.index.await(w, ids...)
	for _, id := range ids {
		if over, err := x.over(ctx, id); over || err != nil {
			wake()
			break
		}
	}
	return func() { x.q.index.giveUp(w, ids...) }
}

// over reports whether a request of the exchange has ended.
func (x *Exchange) over(ctx context.Context, id string) (bool, error) {
	r, err := x.q.request(ctx, id)
	if err != nil {
		return false, err
	}
	if r.Exchange != x.ID() {
		return false, ErrNotFound
	}
	return r.Status.Final(), nil
}

// Detach says that the client has gone while its upstream answer is still
// being read. The same request may join the exchange from now on, and gets the
// answer once this connection has kept it and left. Use is refused after it.
func (x *Exchange) Detach() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone || x.detached {
		return
	}
	x.detached = true
	x.left = make(chan struct{})
	if x.slot != nil && x.q.index.detach(x.slot, x) {
		x.q.timer.poke()
	}
}

// Leave ends the connection's part in the exchange. What is pending stays.
// What was used without a word from Done becomes unknown.
func (x *Exchange) Leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return
	}
	x.gone = true
	x.giveBack()
	if x.detached {
		close(x.left)
	}
	if x.slot == nil {
		return
	}
	if x.q.index.release(x.slot, x, x.inUse) {
		x.q.timer.poke()
	}
}

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
	if err := q.know(ctx, x.ID); err != nil {
		return nil, err
	}
	return q.Enter(ctx, who, func() (holdgate.Digest, error) { return x.Key, nil })
}
