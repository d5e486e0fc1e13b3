// Package serial is what stores share whose updates one goroutine runs, one after
// the other: the queue in which they wait, the overlay on which each function
// runs, and those who watch keys. A function that fails or panics leaves
// nothing behind, and what several wrote can go to the disk as one transaction.
package serial

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdgate/holdgate/store"
)

// A Request is one call of Update or UpdateSoon.
type Request struct {
	Durable bool  // of Update
	Err     error // what the function said; the writer's

	fn   func(store.Tx) error
	done chan error // has room for the answer

	// mu is held while fn runs, so that whoever gives up can wait for it.
	mu    sync.Mutex
	begun bool
	gone  bool // the caller gave up; fn must not begin, nor begin again
}

// A Queue holds the requests that wait, in order. One goroutine takes them.
type Queue struct {
	mu      sync.Mutex
	waiting []*Request
	closed  bool
	wake    chan struct{} // has an element where there may be something new
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{wake: make(chan struct{}, 1)} }

// Wake has an element where there may be something new to take.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

func (q *Queue) add(r *Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return store.ErrClosed
	}
	q.waiting = append(q.waiting, r)
	Signal(q.wake)
	return nil
}

// Len returns how many wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Take returns all that wait, using spare for those to come, and reports
// whether more can come.
func (q *Queue) Take(spare []*Request) (list []*Request, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, q.waiting = q.waiting, spare[:0]
	return list, !q.closed
}

// Close lets no more requests in.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	Signal(q.wake)
}

// Do queues fn for the writer and waits for its answer, as Update of
// [store.Store] says.
func (q *Queue) Do(ctx context.Context, fn func(store.Tx) error, durable bool) error {
	r := &Request{Durable: durable, fn: fn, done: make(chan error, 1)}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := q.add(r); err != nil {
		return err
	}
	var err error
	select {
	case err = <-r.done:
	case <-ctx.Done():
		err = r.abandon(ctx)
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		panic(p.value)
	}
	return err
}

// Answer ends the request, unless it has its answer.
func (r *Request) Answer(err error) {
	select {
	case r.done <- err:
	default:
	}
}

// abandon removes a request that has not begun. Where it has, it waits for
// its function, though not for the commit.
func (r *Request) abandon(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	if !r.begun {
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	default:
		return fmt.Errorf("%w (waiting for the commit: %w)", store.ErrUnknown, ctx.Err())
	}
}

// Run runs the request's function, unless its caller has gone.
func (r *Request) Run(tx *Tx) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return false
	}
	r.begun = true
	r.Err = guard(func() error { return r.fn(tx) })
	tx.ended = true
	return true
}

// panicked carries a panic from the writer to the caller of Update.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("the function panicked: %v", p.value) }

// guard turns a panic of fn into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v}
		}
	}()
	return fn()
}

// Signal leaves one element in c, a channel of capacity 1.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
