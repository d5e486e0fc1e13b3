package record

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/redact"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// storedAsked is a request in the indexes of requests: what a list must know
// of those that it does not show.
type StoredAsked struct {
	Header

	ID      string          `json:"id"`
	Agent   string          `json:"agent"`
	Proven  bool            `json:"proven,omitempty"`
	Session string          `json:"session"`
	Status  holdgate.Status `json:"status"`
	// What a list of pending ones is sorted and filtered by; entries of before November
	// 2026 have none of it.
	Risk    holdgate.Risk `json:"risk,omitempty"`
	Rule    string        `json:"rule,omitempty"`
	Expires time.Time     `json:"expires,omitzero"` // as it was asked: silence may come later
	Left    bool          `json:"left,omitempty"`   // nobody waits for it any more
}

// list puts the request into the indexes as it stands now.
func (c *Change) list(r *StoredRequest) error {
	a := StoredAsked{Header: Current(), ID: r.ID, Agent: r.Agent, Proven: r.Proven, Session: r.Session, Status: r.Status, Risk: r.Risk, Rule: r.Rule, Expires: r.Expires, Left: r.RunEnded != nil}
	if err := Write(c.Tx, AskedKey(r), a); err != nil {
		return err
	}
	if r.Status.Final() {
		return c.Tx.Delete(PendingKey(r))
	}
	return Write(c.Tx, PendingKey(r), a)
}

// Leave says of a request that the run which made the call ended then, or, at nil, that
// somebody waits for it again.
func (c *Change) Leave(r *StoredRequest, at *time.Time) error {
	r.RunEnded = at
	note := "somebody waits for it again"
	if at != nil {
		note = "the agent's run has ended: nobody waits for it"
	}
	return errors.Join(c.Write(r), c.list(r), c.Record(r, audit.TypeLeft, EventLeft, note))
}

// AskedKey sorts the newest first, by the number of its first event: clocks may
// be set, and many calls are asked about at once.
func AskedKey(r *StoredRequest) string { return PrefixAsked + store.Seq(^r.Asked) }

// PendingKey sorts the oldest first.
func PendingKey(r *StoredRequest) string { return PrefixPending + store.Seq(r.Asked) }

// EachAsked calls fn for each pending request's entry in the index, in the
// order of asking.
func EachAsked(tx store.Tx, fn func(StoredAsked)) error {
	return each(tx, PrefixPending, func(_ string, a StoredAsked) error { fn(a); return nil })
}

// EachOpen calls fn for each exchange in the list of open ones, until it fails.
func EachOpen(tx store.Tx, fn func(id string, x StoredOpen) error) error {
	return each(tx, PrefixOpen, fn)
}

// each calls fn for each record of a kind, with what stands behind the prefix in its key.
func each[T any, R interface {
	*T
	rec
}](tx store.Tx, prefix string, fn func(id string, record T) error) error {
	for p, err := range tx.Scan(prefix, "") {
		if err != nil {
			return err
		}
		var r T
		if err := Decode(p.Key, p.Value, R(&r)); err != nil {
			return err
		}
		if err := fn(strings.TrimPrefix(p.Key, prefix), r); err != nil {
			return err
		}
	}
	return nil
}

// Size is what a held call is charged with.
func (c *storedCall) Size() int64 {
	n := len(c.Arguments) + len(c.ArgumentsRaw)
	if c.Gate != nil {
		n += len(c.Gate.Message) + len(c.Gate.Context)
	}
	return int64(n)
}

// DoneKey sorts exchanges that are over by when they ended.
func DoneKey(at time.Time, id string) string {
	return PrefixDone + store.Seq(uint64(at.UnixNano())) + "/" + id
}

// MustBeAnswered makes an ordinary question of a request that a rule would let
// silence approve: the window of such a rule is short, and silence that denies
// takes the time of an ordinary hold.
func (r *StoredRequest) MustBeAnswered(why string) {
	r.OnTimeout, r.SilenceDenied = holdgate.TimeoutDeny, why
	r.Timeout = max(r.Timeout, holdgate.DefaultHoldTimeout)
}

// A KeptInput is what the log keeps of what a decision was made from.
type KeptInput struct{ Arguments, Seen json.RawMessage }

// Kept is what the log keeps of the call that was decided about; nothing where it
// keeps no inputs.
func (b *Book) Kept(c holdgate.Call, d holdgate.Decision) KeptInput {
	if b.NoInputs {
		return KeptInput{}
	}
	return KeptInput{redact.Arguments(c, d.Redact), d.Seen}
}

// LabelOwner is the label of an agent that names the person it works for.
const LabelOwner = "owner"
