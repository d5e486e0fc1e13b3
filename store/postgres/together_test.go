package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// join opens the store as one of several members.
func join(t *testing.T, url, name string, c postgres.Config) *postgres.Store {
	t.Helper()
	c.Together = true
	return hold(t, url, name, c)
}

func TestMembersWorkTogether(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	first, second := join(t, url, "one", postgres.Config{}), join(t, url, "two", postgres.Config{})
	for _, s := range []*postgres.Store{first, second} {
		if err := s.Update(t.Context(), put(s.Member(), "1")); err != nil {
			t.Error(err)
		}
		members, err := s.Members(t.Context())
		if err != nil || len(members) != 2 || !members[0].Works || !members[1].Works {
			t.Errorf("members are %+v (%v), want two that work", members, err)
		}
	}
	peers, err := first.Peers(t.Context())
	if err != nil || len(peers) != 1 || peers[0].Name != "two" || peers[0].Ago > postgres.DefaultLease {
		t.Errorf("the first one's peers are %+v (%v)", peers, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if peers, err := first.Peers(t.Context()); err != nil || len(peers) != 0 {
		t.Errorf("once the second has ended, its peers are %+v (%v)", peers, err)
	}
	if err := first.Update(t.Context(), put("one", "2")); err != nil {
		t.Error(err)
	}
}

// Who must work alone waits for all that work together, and they for it; and two of one
// name are not two members.
func TestWhoWaitsForMembersThatWorkTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second        string
		together, toTogether bool
		waits                bool
	}{
		{"one", "two", true, false, true},
		{"one", "two", false, true, true},
		{"one", "one", true, true, true},
		{"one", "two", true, true, false},
	} {
		url := pgtest.URL(t, t.TempDir())
		hold(t, url, c.first, postgres.Config{Together: c.together})
		ctx, cancel := context.WithCancel(t.Context())
		waits := ""
		s, err := postgres.Open(ctx, postgres.Config{URL: url, Member: c.second, Together: c.toTogether, Logger: slog.New(slog.DiscardHandler),
			OnWaiting: func(holder string) { waits = holder; cancel() }})
		cancel()
		if err == nil {
			s.Close()
		}
		if (waits == c.first) != c.waits || errors.Is(err, context.Canceled) != c.waits {
			t.Errorf("%+v: it waits for %q (%v)", c, waits, err)
		}
	}
}

// One of the members is on duty: another once that one has ended, or says nothing for the
// time of a lease; and never two.
func TestOneIsOnDuty(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	c := postgres.Config{Lease: time.Second}
	began, ended := make(chan string), make(chan string, 10)
	serve := func(s *postgres.Store) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.OnDuty(ctx, func(ctx context.Context) error {
				began <- s.Member()
				<-ctx.Done()
				ended <- s.Member()
				return nil
			})
		}()
		return func() { cancel(); <-done }
	}
	first := join(t, url, "one", c)
	defer serve(first)()
	if name := <-began; name != "one" {
		t.Fatalf("%s is on duty", name)
	}
	second := join(t, url, "two", c)
	stop := serve(second)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	// The first one loses the duty without its knowing.
	if _, err := conn.Exec(t.Context(), `UPDATE holdgate_lease SET holder = '', until = now() + interval '1.5 s' WHERE id = 2`); err != nil {
		t.Fatal(err)
	}
	if name := <-ended; name != "one" {
		t.Fatalf("%s has ended", name)
	}
	name := <-began
	if !slices.Contains([]string{"one", "two"}, name) {
		t.Fatalf("%s is on duty", name)
	}
	if name == "two" {
		stop()
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if name := <-began; name != "one" {
			t.Errorf("%s is on duty", name)
		}
		return
	}
	stop()
}
