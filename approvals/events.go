package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// EventType says what happened to a request.
type EventType string

// The events.
const (
	EventRequested EventType = "approval.requested"
	EventVoted     EventType = "approval.voted"
	EventDecided   EventType = "approval.decided"
	EventClaimed   EventType = "approval.claimed"   // silence does not end it for now
	EventUnclaimed EventType = "approval.unclaimed" // its window begins anew
	EventDelegated EventType = "approval.delegated"
	EventExtended  EventType = "approval.extended"  // nobody was told in time: silence denies it, and later
	EventEscalated EventType = "approval.escalated" // more people may approve it, and should be told
	EventPolicy    EventType = "policy.changed"     // of no request: another policy is in force, or one was refused
	EventConfig    EventType = "config.changed"     // of no request: people, agents and the like were replaced, or a file of them was refused
	EventPaused    EventType = "agent.paused"       // of an agent, or of all, as the next two
	EventResumed   EventType = "agent.resumed"
	EventStopped   EventType = "agent.stopped"
	EventSession   EventType = "session.changed" // of an agent's session
	EventMessage   EventType = "message.sent"    // to an agent, or by it
	EventFinding   EventType = "finding"         // of an agent: something in the log that somebody should look at
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

// storedEvent is an event without what its request says anyway.
type storedEvent struct {
	header

	Time    time.Time         `json:"time"`
	Type    EventType         `json:"type"`
	Request string            `json:"request"`
	Status  holdgate.Status   `json:"status"`
	Votes   int               `json:"votes,omitempty"`
	Outcome *holdgate.Outcome `json:"outcome,omitempty"`

	Claim       *Claim `json:"claim,omitempty"`
	Delegations int    `json:"delegations,omitempty"`
	Escalated   int    `json:"escalated,omitempty"`

	Agent string `json:"agent,omitempty"`
	Note  string `json:"note,omitempty"`
}

// eventBatch is how many events are read at a time.
const eventBatch = 64

// tell puts an event about the request into the outbox.
func (t *transition) tell(typ EventType, r *storedRequest, seq uint64) error {
	return write(t.tx, prefixOutbox+store.Seq(seq), storedEvent{
		header: current(), Time: t.now, Type: typ, Request: r.ID, Status: r.Status, Votes: len(r.Votes), Outcome: r.Outcome,
		Claim: r.Claim, Delegations: len(r.Delegations), Escalated: r.Escalated,
	})
}

// event reads an entry of the outbox.
func (q *Queue) event(tx store.Tx, p store.Pair) (Event, error) {
	seq, err := store.ParseSeq(strings.TrimPrefix(p.Key, prefixOutbox))
	if err != nil {
		return Event{}, fmt.Errorf("reading %s: %w", p.Key, err)
	}
	var s storedEvent
	if err := decode(p.Key, p.Value, &s); err != nil {
		return Event{}, err
	}
	if s.Request == "" {
		return Event{Seq: seq, Time: s.Time, Type: s.Type, Agent: s.Agent, Note: s.Note}, nil
	}
	var r storedRequest
	if err := read(tx, prefixRequest+s.Request, &r); err != nil {
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
	w := q.c.Store.Watch(ctx, prefixOutbox)
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
		for p, err := range tx.Scan(prefixOutbox, prefixOutbox+store.Seq(after+1)) {
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
	header

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
	if first != nil {
		for _, e := range first {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	if err := q.taken(ctx, consumer, c.Taken); err != nil {
		return fmt.Errorf("feeding %s: %w", consumer, err)
	}
	return q.Events(ctx, c.Taken, func(e Event) error {
		if err := fn(e); err != nil {
			return err
		}
		return q.taken(ctx, consumer, e.Seq)
	})
}

// consumer returns a consumer's place; for a new one that is the newest event,
// with the requests that are pending there.
func (q *Queue) consumer(ctx context.Context, name string) (c storedConsumer, pending []Event, err error) {
	err = q.c.Store.View(ctx, func(tx store.Tx) error {
		err := read(tx, prefixConsumer+name, &c)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if c.Taken, err = newest(tx); err != nil {
			return err
		}
		var shown error
		err = eachPending(tx, func(r *storedRequest) {
			v, err := q.show(tx, r)
			shown = errors.Join(shown, err)
			pending = append(pending, Event{Seq: r.Asked, Time: r.Created, Type: EventRequested, Request: v})
		})
		return errors.Join(err, shown)
	})
	slices.SortFunc(pending, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return c, pending, err
}

// newest is the number of the newest event.
func newest(tx store.Tx) (seq uint64, err error) {
	for p, err := range tx.Scan(prefixOutbox, "") {
		if err != nil {
			return 0, err
		}
		if seq, err = store.ParseSeq(strings.TrimPrefix(p.Key, prefixOutbox)); err != nil {
			return 0, err
		}
	}
	return seq, nil
}

// taken stores a consumer's place.
func (q *Queue) taken(ctx context.Context, name string, seq uint64) error {
	return q.c.Store.UpdateSoon(ctx, func(tx store.Tx) error {
		return write(tx, prefixConsumer+name, storedConsumer{header: current(), Taken: seq, At: now()})
	})
}
