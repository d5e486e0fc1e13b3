package approvals_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
)

// synced knows which keys were written so that they survive the machine, and which so
// that they survive the process alone until a little later.
type synced struct {
	store.Store

	mu        sync.Mutex
	now, soon []string
}

func (s *synced) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.write(ctx, s.Store.Update, fn, &s.now)
}

func (s *synced) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return s.write(ctx, s.Store.UpdateSoon, fn, &s.soon)
}

func (s *synced) write(
	ctx context.Context, update func(context.Context, func(store.Tx) error) error, fn func(store.Tx) error, into *[]string,
) error {
	var tx *keys
	err := update(ctx, func(inner store.Tx) error {
		tx = &keys{Tx: inner}
		return fn(tx)
	})
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		*into = append(*into, tx.set...)
	}
	return err
}

// wrote returns the keys that were written in each way since it was last called.
func (s *synced) wrote() (now, soon []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, soon, s.now, s.soon = s.now, s.soon, nil, nil
	return now, soon
}

// keys are those that a transaction sets.
type keys struct {
	store.Tx
	set []string
}

func (k *keys) Set(key string, value []byte) error {
	k.set = append(k.set, key)
	return k.Tx.Set(key, value)
}

// What a request waits for is on the disk before anybody is told of it: a power cut
// takes no question, no vote, no outcome, and no use of an approval.
func TestEachStepOfAHeldCallIsOnTheDiskBeforeItTakesEffect(t *testing.T) {
	t.Parallel()
	var st *synced
	b := newBench(t, func(s store.Store) store.Store {
		st = &synced{Store: s}
		return st
	})
	x := b.enter("k")
	defer x.Leave()
	var r approvals.Request
	vote := func(by string, want holdgate.Status) func() {
		return func() {
			if got := b.decide(r, approve(r, by)); got.Status != want {
				t.Fatalf("%s voted: %+v", by, got)
			}
		}
	}
	for _, step := range []struct {
		name, record, entry string
		do                  func()
	}{
		{"a question", "request/", "decision", func() { r = b.ask(x, bash(0, "make"), hold(quorum(2))) }},
		{"a vote", "request/", "vote: through cli", vote("ana", holdgate.StatusPending)},
		{"an outcome", "request/", "outcome", vote("ben", holdgate.StatusApproved)},
		{"a use", "exchange/", "used", func() {
			if err := x.Use(t.Context(), use(r)); err != nil {
				t.Fatal(err)
			}
		}},
		{"a result", "exchange/", "result: spent", func() {
			if err := x.Done(t.Context(), true, ""); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		st.wrote()
		step.do()
		now, soon := st.wrote()
		for _, prefix := range []string{step.record, "audit/"} {
			if !prefixed(now, prefix) || prefixed(soon, prefix) {
				t.Errorf("%s is not on the disk in %s: synced %q, synced later %q", step.name, prefix, now, soon)
			}
		}
		if logged := b.audited(r.ID); logged[len(logged)-1] != step.entry {
			t.Errorf("%s is in the log as %q, want %q", step.name, logged, step.entry)
		}
	}
}

func prefixed(keys []string, prefix string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, prefix) })
}
