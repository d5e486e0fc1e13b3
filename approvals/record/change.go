package record

import (
	"context"
	"fmt"
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

func follow[T any](hooks []func(*Change, T) error, c *Change, of T) error {
	for _, hook := range hooks {
		if err := hook(c, of); err != nil {
			return err
		}
	}
	return nil
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
