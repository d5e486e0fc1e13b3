package record

import (
	"errors"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

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
