package storetest

import (
	"context"
	"errors"

	"github.com/holdgate/holdgate/store"
)

// Twice returns a store that runs each function of an update twice, and keeps nothing
// of the first run: as a store does that lost its server, or in whose way another
// process came. What a user of a store does but by its transaction shows as done twice.
func Twice(s store.Store) store.Store { return twice{s} }

type twice struct{ store.Store }

var errFirst = errors.New("this was the first run")

// Update implements [store.Store].
func (t twice) Update(ctx context.Context, fn func(store.Tx) error) error {
	return t.both(ctx, t.Store.Update, fn)
}

// UpdateSoon implements [store.Store].
func (t twice) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return t.both(ctx, t.Store.UpdateSoon, fn)
}

func (twice) both(ctx context.Context, update func(context.Context, func(store.Tx) error) error, fn func(store.Tx) error) error {
	_ = update(ctx, func(tx store.Tx) error { return errors.Join(fn(tx), errFirst) }) // never nil
	return update(ctx, fn)
}
