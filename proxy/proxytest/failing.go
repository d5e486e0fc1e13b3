package proxytest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/holdgate/holdgate/store"
)

// A FailingStore refuses to set keys of some prefix while it is told to.
type FailingStore struct {
	store.Store
	Prefix string
	On     atomic.Bool
}

// ErrDisk is what a store says that fails.
var ErrDisk = errors.New("the disk is full")

func (f *FailingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return f.Store.Update(ctx, func(tx store.Tx) error { return fn(&failingTx{tx, f}) })
}

func (f *FailingStore) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return f.Store.UpdateSoon(ctx, func(tx store.Tx) error { return fn(&failingTx{tx, f}) })
}

type failingTx struct {
	store.Tx
	f *FailingStore
}

func (t *failingTx) Set(key string, value []byte) error {
	if t.f.On.Load() && strings.HasPrefix(key, t.f.Prefix) {
		return ErrDisk
	}
	return t.Tx.Set(key, value)
}
