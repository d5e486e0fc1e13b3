// Package storetest proves an implementation of [store.Store]. A package that
// has one calls [Run] from a test of its own and [Benchmark] from a benchmark;
// nothing else is asked of it. Everything goes through the interface, on a
// store in a real folder; the process that writes is killed for real.
package storetest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// Open opens the store that is kept in dir, and fails the test where it can't.
// Whoever asked closes it.
type Open func(t testing.TB, dir string) store.Store

// Run runs every test of this package. It must be the only thing that its test
// does: to be killed, the test binary is started again with that test alone.
func Run(t *testing.T, open Open) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeUntilKilled(t, open(t, dir))
		return
	}
	for _, group := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"transactions", testTransactions},
		{"sizes", testSizes},
		{"scans", testScans},
		{"watches", testWatches},
		{"concurrency", testConcurrency},
		{"closing", testClosing},
		{"model", testModel},
		{"crash", testCrash},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(t, open) })
	}
}

// one is a test on a store of its own.
type one struct {
	name string
	run  func(*testing.T, fixture)
}

// each runs tests on a fresh store each.
func each(t *testing.T, open Open, tests []one) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, newFixture(t, open)) })
	}
}

// fixture is a store under test, with ways to use it that fail the test.
type fixture struct {
	store.Store
	t testing.TB
}

func newFixture(t testing.TB, open Open) fixture {
	t.Helper()
	s := open(t, t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return fixture{s, t}
}

// update runs fn in a durable transaction, which must succeed.
func (f fixture) update(fn func(store.Tx) error) {
	f.t.Helper()
	if err := f.Update(context.Background(), fn); err != nil {
		f.t.Fatalf("updating: %v", err)
	}
}

func (f fixture) set(key, value string) {
	f.t.Helper()
	f.update(put(key, value))
}

// put returns a function that sets one key.
func put(key, value string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Set(key, []byte(value)) }
}

func (f fixture) view(fn func(store.Tx) error) {
	f.t.Helper()
	if err := f.View(context.Background(), fn); err != nil {
		f.t.Fatalf("viewing: %v", err)
	}
}

// want checks a key's value; "" where there should be none.
func (f fixture) want(key, value string) {
	f.t.Helper()
	f.view(func(tx store.Tx) error {
		wantIn(f.t, tx, key, value)
		return nil
	})
}

func wantIn(t testing.TB, tx store.Tx, key, value string) {
	t.Helper()
	b, err := tx.Get(key)
	if value == "" {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is %q, %v; want ErrNotFound", key, b, err)
		}
		return
	}
	if err != nil || string(b) != value {
		t.Errorf("%s is %q, %v; want %q", key, b, err, value)
	}
}
