package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// hold opens the store as a member that must be the only one.
func hold(t *testing.T, url, name string, c postgres.Config) *postgres.Store {
	t.Helper()
	c.URL, c.Member, c.Logger = url, name, slog.New(slog.DiscardHandler)
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestAStandbyWaitsUntilTheStoreIsFree(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	first := hold(t, url, "one", postgres.Config{})
	waits := make(chan string, 1)
	opened := make(chan *postgres.Store)
	go func() {
		opened <- hold(t, url, "two", postgres.Config{OnWaiting: func(holder string) { waits <- holder }})
	}()
	if holder := <-waits; holder != "one" {
		t.Errorf("it waits for %q, want one", holder)
	}
	if err := first.Update(t.Context(), put("a", "1")); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := <-opened
	if got := number(t, second, "a"); got != 1 {
		t.Errorf("the next member reads %d, want 1", got)
	}
	if err := second.Update(t.Context(), put("a", "2")); err != nil {
		t.Error(err)
	}
}

// A restart of the server ends no standby: else nobody would stand by after routine work.
func TestAStandbyOutlivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := pgtest.Address(server.Socket, "postgres")
	first := hold(t, url, "one", postgres.Config{Lease: time.Second})
	waits := make(chan string, 9)
	opened := make(chan *postgres.Store)
	go func() {
		opened <- hold(t, url, "two", postgres.Config{Lease: time.Second, OnWaiting: func(holder string) { waits <- holder }})
	}()
	<-waits
	for range 2 {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := <-opened
	if err := second.Update(t.Context(), put("a", "1")); err != nil {
		t.Error(err)
	}
}

// Two that take each other for dead would wait for each other's rows.
func TestAMemberWaitsForNoOthersRow(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	hold(t, url, "one", postgres.Config{}).Close()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), `INSERT INTO holdgate_members (token, member, about, seen) VALUES ('dead', 'one', '', now() - interval '1 hour')`)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `UPDATE holdgate_members SET seen = now() WHERE token = 'dead'`); err != nil {
		t.Fatal(err)
	}
	hold(t, url, "one", postgres.Config{}).Close() // while the other holds its row
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := hold(t, url, "one", postgres.Config{})
	members, err := s.Members(t.Context())
	if err != nil || len(members) != 1 {
		t.Errorf("members are %+v (%v), want this one alone", members, err)
	}
}

func TestAWaitForTheStoreEndsWithItsContext(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	hold(t, url, "one", postgres.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := postgres.Open(ctx, postgres.Config{URL: url, Member: "two", Logger: slog.New(slog.DiscardHandler), OnWaiting: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A member whose time ran out without its knowing writes nothing, though it
// began before the other took over.
func TestWhoHasLostTheStoreWritesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	told := make(chan struct{})
	first := hold(t, url, "one", postgres.Config{OnTakenOver: func() { close(told) }})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `UPDATE holdgate_lease SET holder = '', until = now() - interval '1 s'`); err != nil {
		t.Fatal(err)
	}
	if err := first.Update(t.Context(), put("a", "1")); !errors.Is(err, postgres.ErrTakenOver) {
		t.Errorf("got %v, want ErrTakenOver", err)
	}
	<-told
	second := hold(t, url, "two", postgres.Config{})
	if err := second.Update(t.Context(), put("a", "2")); err != nil {
		t.Error(err)
	}
	if err := first.Update(t.Context(), put("a", "3")); !errors.Is(err, postgres.ErrTakenOver) {
		t.Errorf("after that: got %v, want ErrTakenOver", err)
	}
	if got := number(t, second, "a"); got != 2 {
		t.Errorf("the value is %d, want the holder's", got)
	}
}

// A member that is closed while it renews lets the store go all the same.
func TestAMemberClosedAsItRenewsLetsGo(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	first := hold(t, url, "one", postgres.Config{Lease: 20 * time.Second})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	lock, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), `SELECT 1 FROM holdgate_members FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	for waiting := false; !waiting; time.Sleep(10 * time.Millisecond) {
		err := lock.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND transactionid::text = pg_current_xact_id()::xid::text`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan error)
	go func() { closed <- first.Close() }()
	for !errors.Is(first.Update(t.Context(), put("a", "1")), store.ErrClosed) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := lock.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	var leases, rows int
	err = conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM holdgate_lease WHERE until > now()), (SELECT count(*) FROM holdgate_members)`).Scan(&leases, &rows)
	if err != nil || leases != 0 || rows != 0 {
		t.Errorf("closed: %d leases and %d members are left (%v)", leases, rows, err)
	}
}

// Who works, who waits and who has died is seen by all of them.
func TestMembersAreListed(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	about := func(text string) func() []byte { return func() []byte { return []byte(text) } }
	first := hold(t, url, "one", postgres.Config{About: about("first")})
	waits := make(chan string, 1)
	opened := make(chan *postgres.Store)
	go func() {
		opened <- hold(t, url, "two", postgres.Config{About: about("second"), OnWaiting: func(holder string) { waits <- holder }})
	}()
	<-waits
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `INSERT INTO holdgate_members (token, member, about, seen) VALUES
		('a', 'dead', '', now() - interval '1 hour'), ('b', 'two', '', now() - interval '1 hour'), ('c', 'long dead', '', now() - interval '2 days')`)
	if err != nil {
		t.Fatal(err)
	}
	lists := func(s *postgres.Store) string {
		list, err := s.Members(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range list {
			if !m.Gone && time.Since(m.Seen).Abs() > time.Minute {
				t.Errorf("%s was seen at %s", m.Name, m.Seen)
			}
			got = append(got, fmt.Sprint(m.Name, " ", m.Works, " ", m.Gone, " ", string(m.About)))
		}
		return strings.Join(got, ", ")
	}
	if got := lists(first); !strings.HasPrefix(got, "one true false first, ") || !strings.Contains(got, "two false false second") || !strings.Contains(got, "dead false true ") {
		t.Errorf("while the first works: %s", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := lists(<-opened); got != "two true false second, dead false true " {
		t.Errorf("afterwards: %q", got)
	}
}
