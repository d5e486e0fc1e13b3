package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	prefixTask     = "task/"
	prefixTaskPart = "task-part/"
	prefixTaskOf   = "task-of/"
	prefixTaskEnd  = "task-end/"
)

// A Task is a call that was held, and handed over to its client: the client asks
// about it from time to time instead of waiting. It is durable before the client
// hears of it, and what it needs to go on outlives the sidecar.
type Task struct {
	ID       string
	Owner    holdgate.Digest // names who may ask for it: nobody else learns that it is there
	State    State
	Exchange string // the one that holds the call; empty where nothing was held
	Call     []byte // what it takes to make the call; sealed, and erased once the call was made
	Answer   []byte // what the client gets; sealed
	Theirs   string // the server's own name for it, where the server has made it a task of its own
	Round    int    // how often the server has wanted to know more
	Created  time.Time
	Updated  time.Time
	Expires  time.Time // when it is forgotten
}

// A State is how far a task is.
type State string

// The states of a task. Where the process dies while a task is being sent,
// nobody knows whether its call was made.
const (
	Held      State = "held"
	Sending   State = "sending"
	Asks      State = "asks"   // the server wants to know more of the client; Answer says what
	Theirs    State = "theirs" // it is the server's own by now
	Done      State = "done"
	Cancelled State = "cancelled"
)

// Unfinished reports whether something is still to come of the task here.
func (s State) Unfinished() bool { return s == Held || s == Sending || s == Asks }

// Errors about tasks.
var (
	ErrNone    = errors.New("no such task")
	ErrOver    = errors.New("the task is over")
	ErrTooMany = errors.New("its client has too many tasks")
)

// forgetAtOnce is how many tasks are forgotten in one transaction.
const forgetAtOnce = 32

// maxTasks is how many tasks one owner may have.
const maxTasks = 100

// storedTask is a task as stored, without what is sealed.
type storedTask struct {
	record.Header

	ID       string          `json:"id"`
	Owner    holdgate.Digest `json:"owner"`
	State    State           `json:"state"`
	Exchange string          `json:"exchange,omitempty"`
	Theirs   string          `json:"theirs,omitempty"`
	Round    int             `json:"round,omitempty"`
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
	Expires  time.Time       `json:"expires"`
}

func (s storedTask) task() Task {
	return Task{ID: s.ID, Owner: s.Owner, State: s.State, Exchange: s.Exchange, Theirs: s.Theirs, Round: s.Round, Created: s.Created, Updated: s.Updated, Expires: s.Expires}
}

// The sealed parts of a task.
const (
	partCall   = "call"
	partAnswer = "answer"
)

func taskPartKey(id, part string) string { return prefixTaskPart + id + "/" + part }

func placeTask(id, part string) []byte { return fmt.Appendf(nil, "holdgate task v1/%s/%s", id, part) }

func taskOfKey(owner holdgate.Digest, id string) string {
	return prefixTaskOf + string(owner) + "/" + id
}

func taskEndKey(at time.Time, id string) string {
	return prefixTaskEnd + store.Seq(uint64(at.UnixNano())) + "/" + id
}

// A Keeper has the tasks of a store. It is safe for concurrent use, and keeps nothing in
// memory.
type Keeper struct {
	store      store.Store
	seal       *record.Sealer
	checkSpace func(bytes int64) error // says why so much cannot be stored; see [New]
}

// New returns the tasks of a book. checkSpace is asked before something new is stored.
func New(b *record.Book, checkSpace func(bytes int64) error) *Keeper {
	return &Keeper{b.Store, b.Seal, checkSpace}
}

// Add stores a new task. Its times of making and change are now. It returns
// ErrTooMany, or what the check that [New] was given says, where there is no space.
func (k *Keeper) Add(ctx context.Context, t Task) (Task, error) {
	if err := k.checkSpace(int64(len(t.Call) + len(t.Answer))); err != nil {
		return Task{}, err
	}
	err := k.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		n := 0
		for _, err := range tx.Scan(taskOfKey(t.Owner, ""), "") {
			if err != nil {
				return err
			}
			if n++; n >= maxTasks {
				return ErrTooMany
			}
		}
		t.Created = record.Now()
		t.Updated = t.Created
		return errors.Join(k.write(tx, &t), tx.Set(taskOfKey(t.Owner, t.ID), nil), tx.Set(taskEndKey(t.Expires, t.ID), nil))
	})
	if err != nil {
		return Task{}, fmt.Errorf("storing a task: %w", err)
	}
	return t, nil
}

// write writes a task with those sealed parts that it has.
func (k *Keeper) write(tx store.Tx, t *Task) error {
	for part, plain := range map[string][]byte{partCall: t.Call, partAnswer: t.Answer} {
		if plain == nil {
			continue
		}
		if err := tx.Set(taskPartKey(t.ID, part), k.seal.SealAt(plain, placeTask(t.ID, part))); err != nil {
			return err
		}
	}
	if !t.State.Unfinished() {
		if err := tx.Delete(taskPartKey(t.ID, partCall)); err != nil {
			return err
		}
	}
	return record.Write(tx, prefixTask+t.ID, storedTask{Header: record.Current(), ID: t.ID, Owner: t.Owner, State: t.State, Exchange: t.Exchange,
		Theirs: t.Theirs, Round: t.Round, Created: t.Created, Updated: t.Updated, Expires: t.Expires})
}

// Change changes a task in one transaction, durable on return. fn sees it
// without its sealed parts; those that it sets are written. It may be called more
// than once. An error of fn's changes nothing.
func (k *Keeper) Change(ctx context.Context, id string, fn func(*Task) error) (t Task, err error) {
	err = k.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		var s storedTask
		if err := record.Read(tx, prefixTask+id, &s); err != nil {
			return err
		}
		t = s.task()
		if err := fn(&t); err != nil {
			return err
		}
		t.Updated = record.Now()
		if !t.Expires.Equal(s.Expires) {
			if err := errors.Join(tx.Delete(taskEndKey(s.Expires, id)), tx.Set(taskEndKey(t.Expires, id), nil)); err != nil {
				return err
			}
		}
		return k.write(tx, &t)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNone
	}
	if err != nil {
		return Task{}, fmt.Errorf("changing task %s: %w", id, err)
	}
	return t, nil
}

// Get returns an owner's task, with its answer where there is one, and with its
// call where the server wants to know more. It returns
// ErrNone for one of another owner's, and for one whose time is over.
func (k *Keeper) Get(ctx context.Context, owner holdgate.Digest, id string) (t Task, err error) {
	err = k.store.View(ctx, func(tx store.Tx) error {
		var s storedTask
		if err := record.Read(tx, prefixTask+id, &s); err != nil {
			return err
		}
		t = s.task()
		switch {
		case t.State == Asks:
			return errors.Join(k.unseal(tx, &t, partAnswer, &t.Answer), k.unseal(tx, &t, partCall, &t.Call))
		case t.State.Unfinished():
			return nil
		}
		return k.unseal(tx, &t, partAnswer, &t.Answer)
	})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (t.Owner != owner || !record.Now().Before(t.Expires)):
		return Task{}, ErrNone
	case err != nil:
		return Task{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	return t, nil
}

// unseal reads a sealed part, where there is one.
func (k *Keeper) unseal(tx store.Tx, t *Task, part string, into *[]byte) error {
	sealed, err := tx.Get(taskPartKey(t.ID, part))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		*into, err = k.seal.OpenAt(sealed, placeTask(t.ID, part))
	}
	return err
}

// Of returns an owner's tasks without their sealed parts, in no order.
func (k *Keeper) Of(ctx context.Context, owner holdgate.Digest) (all []Task, err error) {
	err = k.store.View(ctx, func(tx store.Tx) error {
		all = nil
		prefix := taskOfKey(owner, "")
		for p, err := range tx.Scan(prefix, "") {
			if err != nil {
				return err
			}
			var s storedTask
			if err := record.Read(tx, prefixTask+strings.TrimPrefix(p.Key, prefix), &s); err != nil {
				return err
			}
			if record.Now().Before(s.Expires) {
				all = append(all, s.task())
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading tasks: %w", err)
	}
	return all, nil
}

// All returns every task whose time is not over, those that are open with
// what it takes to make their calls.
func (k *Keeper) All(ctx context.Context) (all []Task, err error) {
	err = k.store.View(ctx, func(tx store.Tx) error {
		all = nil
		for p, err := range tx.Scan(prefixTask, "") {
			if err != nil {
				return err
			}
			var s storedTask
			if err := record.Decode(p.Key, p.Value, &s); err != nil {
				return err
			}
			t := s.task()
			if !record.Now().Before(t.Expires) {
				continue
			}
			if err := k.unseal(tx, &t, partCall, &t.Call); err != nil {
				return err
			}
			all = append(all, t)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading tasks: %w", err)
	}
	return all, nil
}

// Forget deletes tasks whose time is over.
func (k *Keeper) Forget(ctx context.Context) error {
	for ctx.Err() == nil {
		var ids []string
		err := k.store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			ids = nil
			for p, err := range tx.Scan(prefixTaskEnd, "") {
				if err != nil {
					return err
				}
				if p.Key >= taskEndKey(record.Now(), "") || len(ids) == forgetAtOnce {
					break
				}
				_, id, _ := strings.Cut(strings.TrimPrefix(p.Key, prefixTaskEnd), "/")
				ids = append(ids, id)
				if err := errors.Join(forgetTask(tx, id), tx.Delete(p.Key)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("forgetting tasks whose time is over: %w", err)
		}
		if len(ids) < forgetAtOnce {
			return nil
		}
	}
	return nil
}

func forgetTask(tx store.Tx, id string) error {
	var s storedTask
	err := record.Read(tx, prefixTask+id, &s)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(tx.Delete(prefixTask+id), tx.Delete(taskOfKey(s.Owner, id)), tx.Delete(taskPartKey(id, partCall)), tx.Delete(taskPartKey(id, partAnswer)))
}
