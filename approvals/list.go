package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// Filter selects requests. Zero fields select all.
type Filter struct {
	Status  holdgate.Status
	Agent   string
	Session string
}

func (f Filter) selects(r *storedRequest) bool {
	return (f.Status == "" || f.Status == r.Status) &&
		(f.Agent == "" || f.Agent == r.Agent) &&
		(f.Session == "" || f.Session == r.Session)
}

// List returns the requests that the filter selects, oldest first. Pending
// ones are found by an index; anything else reads all that ever were.
func (q *Queue) List(ctx context.Context, f Filter) ([]Request, error) {
	requests := []Request{}
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		each := eachRequest
		if f.Status == holdgate.StatusPending {
			each = eachPending
		}
		return each(tx, func(r *storedRequest) {
			if f.selects(r) {
				requests = append(requests, r.view())
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing requests: %w", err)
	}
	slices.SortFunc(requests, func(a, b Request) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Call.Position, b.Call.Position), cmp.Compare(a.ID, b.ID))
	})
	return requests, nil
}

// eachPending calls fn for each pending request: those that the timer has.
func eachPending(tx store.Tx, fn func(*storedRequest)) error {
	for p, err := range tx.Scan(prefixDue, "") {
		if err != nil {
			return err
		}
		d, err := parseDue(p)
		if err != nil {
			return err
		}
		if !d.request() {
			continue
		}
		var r storedRequest
		if err := read(tx, prefixRequest+d.id, &r); err != nil {
			return err
		}
		if !r.Status.Final() && r.Expires.Equal(d.at) {
			fn(&r)
		}
	}
	return nil
}

func eachRequest(tx store.Tx, fn func(*storedRequest)) error {
	for p, err := range tx.Scan(prefixRequest, "") {
		if err != nil {
			return err
		}
		var r storedRequest
		if err := decode(p.Key, p.Value, &r); err != nil {
			return err
		}
		fn(&r)
	}
	return nil
}

// Request returns one request, or ErrNotFound.
func (q *Queue) Request(ctx context.Context, id string) (Request, error) {
	r, err := q.request(ctx, id)
	if err != nil {
		return Request{}, err
	}
	return r.view(), nil
}

func (q *Queue) request(ctx context.Context, id string) (*storedRequest, error) {
	r := new(storedRequest)
	err := q.c.Store.View(ctx, func(tx store.Tx) error { return read(tx, prefixRequest+id, r) })
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotFound
	}
	return r, err
}
