package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// dueKey sorts by time. What is due is a request's end or an exchange's.
func DueKey(at time.Time, id string) string {
	return PrefixDue + store.Seq(uint64(at.UnixNano())) + "/" + id
}

// What the value of a due key says.
const (
	DueRequest  = "request"  // ends, and denies
	DueSilence  = "silence"  // a request too; it approves
	DueClaim    = "claim"    // on a request lapses; it stays pending
	DueEscalate = "escalate" // more people may approve a request
	DueExchange = "exchange" // is given up
	DueGrant    = "grant"    // expires
)

// escalateKey is dueKey for what may be due at the same time as the end of the
// request.
func escalateKey(at time.Time, id string) string { return DueKey(at, id) + "/" + DueEscalate }

// A due is an entry of the timer.
type Due struct {
	Key  string
	At   time.Time
	ID   string
	What string
}

func ParseDue(p store.Pair) (Due, error) {
	seq, id, ok := strings.Cut(strings.TrimPrefix(p.Key, PrefixDue), "/")
	n, err := store.ParseSeq(seq)
	if !ok || err != nil {
		return Due{}, fmt.Errorf("reading %s: not a time and an id", p.Key)
	}
	id, _, _ = strings.Cut(id, "/")
	return Due{Key: p.Key, At: time.Unix(0, int64(n)), ID: id, What: string(p.Value)}, nil
}

// due is the kind of the request's entry in the timer.
func (r *StoredRequest) Timer() string {
	if r.Claim != nil {
		return DueClaim
	}
	if r.OnTimeout == holdgate.TimeoutApprove {
		return DueSilence
	}
	return DueRequest
}

// escalates says when more people may approve a request.
func (r *StoredRequest) Escalates() (time.Time, bool) {
	if r.Escalated >= len(r.Approvers.Escalate) {
		return time.Time{}, false
	}
	return r.Created.Add(r.Approvers.Escalate[r.Escalated].After), true
}

// wakeAt says that something is due at a time.
func (c *Change) wakeAt(at time.Time) {
	if c.Next.IsZero() || at.Before(c.Next) {
		c.Next = at
	}
}

// Schedule puts what is due at a time into the timer.
func (c *Change) Schedule(at time.Time, id, what string) error {
	c.wakeAt(at)
	return c.Tx.Set(DueKey(at, id), []byte(what))
}

// ScheduleEscalation puts the request's next escalation into the timer.
func (c *Change) ScheduleEscalation(r *StoredRequest) error {
	at, ok := r.Escalates()
	if !ok {
		return nil
	}
	c.wakeAt(at)
	return c.Tx.Set(escalateKey(at, r.ID), []byte(DueEscalate))
}

// unschedule takes a pending request out of the timer.
func (c *Change) unschedule(r *StoredRequest) error {
	err := c.Tx.Delete(DueKey(r.Expires, r.ID))
	if at, ok := r.Escalates(); ok {
		err = errors.Join(err, c.Tx.Delete(escalateKey(at, r.ID)))
	}
	return err
}
