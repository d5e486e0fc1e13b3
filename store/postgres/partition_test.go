package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// A fleet is members that are cut off from the store and come back, and that use
// approvals by what each has in memory, as the queue does: the lease alone keeps
// two of them from using the same.
type fleet struct {
	t      *testing.T
	url    string
	lease  time.Duration
	relays []*pgtest.Relay
	next   atomic.Int64 // numbers the approvals

	mu   sync.Mutex
	used map[string]string // what was acknowledged to which member
}

// run is one member's life: it stands by, works until another takes over, and
// begins again.
func (f *fleet) run(ctx context.Context, i int) {
	name := fmt.Sprint("member", i)
	for ctx.Err() == nil {
		gone := make(chan struct{})
		s, err := postgres.Open(ctx, postgres.Config{URL: f.url + "&host=" + f.relays[i].Socket, Member: name, Lease: f.lease,
			Logger: slog.New(slog.DiscardHandler), OnTakenOver: func() { close(gone) }})
		if err != nil {
			continue // it was cut off while it stood by
		}
		f.work(ctx, i, name, s, gone)
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	}
}

// work uses approvals until another member has the store.
func (f *fleet) work(ctx context.Context, i int, name string, s *postgres.Store, gone <-chan struct{}) {
	known := map[string]bool{} // what was used, as this member knows
	err := s.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan("used/", "") {
			if err != nil {
				return err
			}
			known[p.Key] = true
		}
		return nil
	})
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-gone:
			return
		default:
		}
		n := f.next.Add(1)
		key := "used/" + store.Seq(uint64(n-n%3)) // each is wanted by several
		if known[key] {
			continue
		}
		whole, cuts := f.relays[i].State()
		err := s.Update(ctx, func(tx store.Tx) error { return tx.Set(key, []byte(name)) })
		if err != nil {
			if errors.Is(err, postgres.ErrTakenOver) {
				return
			}
			continue // it may be used or not; nothing was released
		}
		if now, later := f.relays[i].State(); !whole && !now && cuts == later {
			f.t.Errorf("%s released %s while it was cut off from the store", name, key)
		}
		known[key] = true
		f.mu.Lock()
		if by, twice := f.used[key]; twice {
			f.t.Errorf("%s was used by %s and by %s", key, by, name)
		}
		f.used[key] = name
		f.mu.Unlock()
	}
}

// trouble cuts members off and heals them, one or several at a time.
func (f *fleet) trouble(rnd *rand.Rand, steps int) {
	for range steps {
		r := f.relays[rnd.IntN(len(f.relays))]
		switch rnd.IntN(4) {
		case 0:
			r.Cut(true, true)
		case 1:
			r.Cut(true, false)
		case 2:
			r.Cut(false, true)
		case 3:
			r.Heal()
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(f.lease))))
	}
	for _, r := range f.relays {
		r.Heal()
	}
}

// Members that are cut off in one direction or both release nothing meanwhile, no
// approval is used twice, and afterwards the store has what was acknowledged.
func TestPartitions(t *testing.T) {
	t.Parallel()
	rounds, steps := 4, 20
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		url := pgtest.URL(t, fmt.Sprint(t.TempDir(), seed))
		address, search, _ := strings.Cut(url, "?host=")
		socket, path, _ := strings.Cut(search, "&")
		f := &fleet{t: t, url: address + "?" + path, lease: 300 * time.Millisecond, used: map[string]string{}}
		for range 3 {
			f.relays = append(f.relays, pgtest.NewRelay(t, socket))
		}
		ctx, stop := context.WithCancel(t.Context())
		var members sync.WaitGroup
		for i := range f.relays {
			members.Go(func() { f.run(ctx, i) })
		}
		f.trouble(rand.New(rand.NewPCG(seed, 0)), steps)
		before := f.next.Load()
		for f.next.Load() < before+30 { // somebody works again
			time.Sleep(time.Millisecond)
			if t.Context().Err() != nil {
				t.Fatal("nobody works after the partitions have healed")
			}
		}
		stop()
		members.Wait()
		s := member(t, url)
		f.settled(s)
	}
}

// settled compares what was acknowledged with what is stored.
func (f *fleet) settled(s store.Store) {
	if len(f.used) == 0 {
		f.t.Error("nothing was used")
	}
	err := s.View(f.t.Context(), func(tx store.Tx) error {
		for key, by := range f.used {
			if got, err := tx.Get(key); err != nil || string(got) != by {
				f.t.Errorf("%s was acknowledged to %s; the store has %q, %v", key, by, got, err)
			}
		}
		return nil
	})
	if err != nil {
		f.t.Error(err)
	}
	f.t.Logf("%d used", len(f.used))
}
