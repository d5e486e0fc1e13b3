package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A Use claims one approval for one call at one door.
type Use struct {
	RequestID string
	Digest    holdgate.Digest // of the call that is about to be sent
	// Twin is the call at another door that a person's approval covers too; nil
	// where there is none. Where Borrowed is set it is this very call, and the
	// request is one that [Exchange.Borrow] found.
	Twin     *Twin
	Hooked   *Twin // the same at a hook of the agent; nil where there is none
	Borrowed bool
}

// storedUse is the record of a use. It goes with its exchange alone, once that
// has long been over.
type storedUse struct {
	record.Header

	Exchange string          `json:"exchange"`
	Digest   holdgate.Digest `json:"digest"`
	At       time.Time       `json:"at"`
	Pass     string          `json:"pass,omitempty"` // the key of what covers its twin
	HookPass string          `json:"hook_pass,omitempty"`
}

// Use marks requests as used, all or none, before the first byte of their
// calls goes on. It returns ErrNotApproved, ErrDigest or ErrUsed where one may
// not be, and a [*HaltError] while the agent is paused or stopped; then, and on any other error, nothing may be sent. Done must follow.
func (x *Exchange) Use(ctx context.Context, uses []Use) error {
	if len(uses) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.gone:
		return errLeft
	case x.slot == nil && !slices.ContainsFunc(uses, func(u Use) bool { return u.Borrowed }):
		return ErrNotApproved
	case x.slot != nil && !x.q.index.isLive(x.slot, x):
		return fmt.Errorf("%w: another connection may have taken this exchange up", ErrNotApproved)
	}
	if err := x.named(); err != nil {
		return err
	}
	err := x.q.transact(ctx, func(t *transition) error {
		ex, err := x.ensureRecord(t)
		if errors.Is(err, ErrOver) {
			return ErrNotApproved
		}
		if err != nil {
			return err
		}
		if err := t.q.Agents.Runs(t.Change, ex.Agent, ex.Session); err != nil {
			return err
		}
		for _, u := range uses {
			if u.Borrowed {
				err = t.useBorrowed(ex, x.who.Agent, u)
			} else {
				err = t.use(ex, u)
			}
			if err != nil {
				return err
			}
		}
		if ex.Pending() {
			return nil
		}
		return t.Enter(ex, record.StateDelivering)
	})
	if err != nil {
		return fmt.Errorf("using approvals of exchange %s: %w", x.id, err)
	}
	x.inUse = true
	x.giveBack()
	if x.slot == nil {
		x.stored()
	}
	return nil
}

func (t *transition) use(x *record.StoredExchange, u Use) error {
	ref := x.Ref(u.RequestID)
	if ref == nil {
		return fmt.Errorf("request %s: %w in this exchange", u.RequestID, ErrNotApproved)
	}
	r, err := t.Request(u.RequestID)
	if err != nil {
		return err
	}
	key := record.UsedKey(r.ID, x.Door)
	switch _, err := t.Tx.Get(key); {
	case err == nil:
		return fmt.Errorf("request %s: %w", r.ID, ErrUsed)
	case !errors.Is(err, store.ErrNotFound):
		return err
	case r.Status != holdgate.StatusApproved:
		return fmt.Errorf("request %s is %s: %w", r.ID, r.Status, ErrNotApproved)
	case !r.Answered():
		return fmt.Errorf("request %s was edited, and the others of its quorum have not seen that: %w", r.ID, ErrNotApproved)
	case u.Digest == "" || u.Digest != r.Approved():
		return fmt.Errorf("request %s: %w", r.ID, ErrDigest)
	}
	ref.Used = true
	used := storedUse{Header: record.Current(), Exchange: x.ID, Digest: u.Digest, At: t.Now}
	if err := t.leavePass(r, u, &used); err != nil {
		return err
	}
	if err := record.Write(t.Tx, key, used); err != nil {
		return err
	}
	e := r.Entry(audit.TypeUsed)
	e.Call.Digest = u.Digest
	_, err = t.Append(e)
	return err
}

// Done records what became of what was used (or of an exchange in which
// everything was refused): spent where the last byte was written without an
// error, else unknown; the sealed answer is erased. Where nothing was used and
// nothing arrived, the outcomes go on waiting for the same request.
func (x *Exchange) Done(ctx context.Context, delivered bool, note string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return errLeft
	}
	if x.slot == nil {
		return nil
	}
	err := x.q.transact(ctx, func(t *transition) error {
		ex, err := t.Exchange(x.id)
		switch {
		case err != nil || ex.State.Final():
			return err
		case t.own(ex) != nil:
			return t.own(ex)
		case delivered:
			return t.Conclude(ex, record.StateSpent, note)
		case ex.InUse():
			return t.Conclude(ex, record.StateUnknown, note)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("ending exchange %s: %w", x.id, err)
	}
	x.inUse = false
	return nil
}
