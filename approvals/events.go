package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// An Event is an entry of the outbox. Its number is that of the audit entry
// that records the same; numbers grow, with gaps.
type Event struct {
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Type    EventType `json:"type"`
	Request Request   `json:"request,omitzero"` // as it stood then; of events without a request none
	Agent   string    `json:"agent,omitempty"`  // of agent events; empty: all agents
	Note    string    `json:"note,omitempty"`   // of events without a request: what has changed
}

// eventBatch is how many events are read at a time.
const eventBatch = 64

// event reads an entry of the outbox.
func (q *Queue) event(tx store.Tx, p store.Pair) (Event, error) {
	seq, err := store.ParseSeq(strings.TrimPrefix(p.Key, record.PrefixOutbox))
	if err != nil {
		return Event{}, fmt.Errorf("reading %s: %w", p.Key, err)
	}
	var s record.StoredEvent
	if err := record.Decode(p.Key, p.Value, &s); err != nil {
		return Event{}, err
	}
	if s.Request == "" {
		return Event{Seq: seq, Time: s.Time, Type: s.Type, Agent: s.Agent, Note: s.Note}, nil
	}
	var r record.StoredRequest
	if err := record.Read(tx, record.PrefixRequest+s.Request, &r); err != nil {
		return Event{}, err
	}
	r.Status, r.Outcome, r.Claim, r.Escalated = s.Status, s.Outcome, s.Claim, s.Escalated
	r.Votes = r.Votes[:min(s.Votes, len(r.Votes))]
	r.Delegations = r.Delegations[:min(s.Delegations, len(r.Delegations))]
	v, err := q.show(tx, &r)
	return Event{Seq: seq, Time: s.Time, Type: s.Type, Request: v}, err
}

// Events calls fn for each event after the given sequence number, in order,
// those to come included, until ctx ends or fn returns an error, which it
// returns. Events older than a day may be gone.
func (q *Queue) Events(ctx context.Context, after uint64, fn func(Event) error) error {
	ctx, stop := q.untilClosed(ctx)
	defer stop()
	w := q.c.Store.Watch(ctx, record.PrefixOutbox)
	for {
		for {
			events, err := q.eventsAfter(ctx, after)
			if err != nil {
				return fmt.Errorf("reading events: %w", err)
			}
			for _, e := range events {
				if err := fn(e); err != nil {
					return err
				}
				after = e.Seq
			}
			if len(events) < eventBatch {
				break
			}
		}
		if _, err := w.Next(ctx); err != nil {
			return fmt.Errorf("waiting for events: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

// untilClosed returns a context that ends with ctx or the queue.
func (q *Queue) untilClosed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(q.life, func() { cancel(store.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

func (q *Queue) eventsAfter(ctx context.Context, after uint64) ([]Event, error) {
	var events []Event
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan(record.PrefixOutbox, record.PrefixOutbox+store.Seq(after+1)) {
			if err != nil {
				return err
			}
			e, err := q.event(tx, p)
			if errors.Is(err, store.ErrNotFound) {
				continue // its request has been forgotten
			}
			if err != nil {
				return err
			}
			if events = append(events, e); len(events) == eventBatch {
				return nil
			}
		}
		return nil
	})
	return events, err
}

// storedConsumer is how far a consumer has come.
type storedConsumer struct {
	record.Header

	Taken uint64    `json:"taken"`
	At    time.Time `json:"at"`
}

// Feed is Events with a durable place of its own for each consumer: an event
// counts as taken once fn returned nil, and comes again after a restart until
// then. A consumer's first call begins with the events of pending requests; so
// does that of a consumer which took nothing for so long that events it had
// not seen are gone. A consumer must not be fed twice at the same time.
func (q *Queue) Feed(ctx context.Context, consumer string, fn func(Event) error) error {
	c, first, err := q.consumer(ctx, consumer)
	if err != nil {
		return fmt.Errorf("feeding %s: %w", consumer, err)
	}
	for _, e := range first {
		if err := fn(e); err != nil {
			return err
		}
	}
	if err := taken(ctx, q.c.Store, consumer, c.Taken); err != nil {
		return fmt.Errorf("feeding %s: %w", consumer, err)
	}
	return q.Events(ctx, c.Taken, func(e Event) error {
		if err := fn(e); err != nil {
			return err
		}
		return taken(ctx, q.c.Store, consumer, e.Seq)
	})
}

// consumer returns a consumer's place; for a new one that is the newest event,
// with the requests that are pending there.
func (q *Queue) consumer(ctx context.Context, name string) (c storedConsumer, pending []Event, err error) {
	err = q.c.Store.View(ctx, func(tx store.Tx) error {
		err := record.Read(tx, record.PrefixConsumer+name, &c)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if c.Taken, err = newest(tx); err != nil {
			return err
		}
		var shown error
		err = eachPending(tx, func(r *record.StoredRequest) {
			v, err := q.show(tx, r)
			shown = errors.Join(shown, err)
			pending = append(pending, Event{Seq: r.Asked, Time: r.Created, Type: record.EventRequested, Request: v})
		})
		return errors.Join(err, shown)
	})
	slices.SortFunc(pending, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return c, pending, err
}

// newest is the number of the newest event.
func newest(tx store.Tx) (seq uint64, err error) {
	for p, err := range tx.Scan(record.PrefixOutbox, "") {
		if err != nil {
			return 0, err
		}
		if seq, err = store.ParseSeq(strings.TrimPrefix(p.Key, record.PrefixOutbox)); err != nil {
			return 0, err
		}
	}
	return seq, nil
}

// taken stores a consumer's place.
func taken(ctx context.Context, s store.Store, name string, seq uint64) error {
	return s.UpdateSoon(ctx, func(tx store.Tx) error {
		return record.Write(tx, record.PrefixConsumer+name, storedConsumer{Header: record.Current(), Taken: seq, At: record.Now()})
	})
}
