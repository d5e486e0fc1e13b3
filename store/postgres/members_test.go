package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// member opens one more store on a database; the test closes it.
func member(t testing.TB, url string, onCommit ...func(time.Duration, error)) *postgres.Store {
	t.Helper()
	c := postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler)}
	if len(onCommit) > 0 {
		c.OnCommit = onCommit[0]
	}
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

// failures are those that members tell of.
type failures struct{ n atomic.Int64 }

func (f *failures) count(_ time.Duration, err error) {
	if err != nil {
		f.n.Add(1)
	}
}

func members(t testing.TB, n int, onCommit ...func(time.Duration, error)) (list []*postgres.Store) {
	url := pgtest.URL(t, t.TempDir())
	for range n {
		list = append(list, member(t, url, onCommit...))
	}
	return list
}

func put(key, value string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Set(key, []byte(value)) }
}

// increment adds one to a number.
func increment(key string) func(store.Tx) error {
	return func(tx store.Tx) error {
		b, err := tx.Get(key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		n, _ := strconv.Atoi(string(b))
		return tx.Set(key, []byte(strconv.Itoa(n+1)))
	}
}

func number(t testing.TB, s store.Store, key string) (n int) {
	t.Helper()
	err := s.View(t.Context(), func(tx store.Tx) error {
		b, err := tx.Get(key)
		if err == nil {
			n, err = strconv.Atoi(string(b))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// That no two members build on the same state is what makes a use happen once.
func TestMembersDoNotBuildOnTheSameState(t *testing.T) {
	t.Parallel()
	const writers, times = 8, 20
	var told failures
	list := members(t, 3, told.count)
	var wg sync.WaitGroup
	for _, s := range list {
		for range writers {
			wg.Go(func() {
				for range times {
					if err := s.Update(t.Context(), increment("n")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if got, want := number(t, list[0], "n"), len(list)*writers*times; got != want {
		t.Errorf("the number is %d, want %d", got, want)
	}
	if n := told.n.Load(); n != 0 {
		t.Errorf("%d failures were told of, and none was answered", n)
	}
}

// Each of two reads what the other writes: both must not succeed on what was
// there before (write skew).
func TestMembersSeeWhatTheyRead(t *testing.T) {
	t.Parallel()
	list := members(t, 2)
	for round := range 20 {
		prefix := fmt.Sprintf("r%02d/", round)
		var wg sync.WaitGroup
		for i, s := range list {
			wg.Go(func() {
				err := s.Update(t.Context(), func(tx store.Tx) error {
					for _, err := range tx.Scan(prefix, "") {
						return err // somebody was here
					}
					return tx.Set(prefix+strconv.Itoa(i), nil)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n := 0
		err := list[0].View(t.Context(), func(tx store.Tx) error {
			for range tx.Scan(prefix, "") {
				n++
			}
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("round %d: %d were first (%v)", round, n, err)
		}
	}
}

func TestAMemberHearsWhatAnotherWrites(t *testing.T) {
	t.Parallel()
	list := members(t, 2)
	const writers, times = 8, 25
	w := list[0].Watch(t.Context(), "k/")
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range times {
				if err := list[1].Update(t.Context(), put(fmt.Sprintf("k/%d/%d", g, i), "there")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := make(map[string]bool)
	for len(seen) < writers*times {
		keys, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			seen[key] = true
			err := list[0].View(t.Context(), func(tx store.Tx) error { _, err := tx.Get(key); return err })
			if err != nil {
				t.Errorf("%s was told of and is not there: %v", key, err)
			}
		}
	}
	wg.Wait()
}

func TestLongKeysKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := members(t, 1)[0]
	long := strings.Repeat("x", 1024)
	keys := []string{long[:1023], long, long + "\x00", long + "a", long + strings.Repeat("b", 31<<10), long + "c", "y"}
	err := s.Update(t.Context(), func(tx store.Tx) (err error) {
		for _, key := range keys {
			err = errors.Join(err, tx.Set(key, []byte(key)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	scan := func(prefix, from string) (got []string) {
		err := s.View(t.Context(), func(tx store.Tx) error {
			for p, err := range tx.Scan(prefix, from) {
				if err != nil {
					return err
				}
				if string(p.Value) != p.Key {
					t.Errorf("a key of %d bytes has another's value", len(p.Key))
				}
				got = append(got, p.Key)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	for name, c := range map[string]struct {
		prefix, from string
		want         []string
	}{
		"all":                       {"", "", keys},
		"below a long prefix":       {long + "b", "", keys[4:5]},
		"from within the long ones": {long, long + "b", keys[4:6]},
	} {
		if got := scan(c.prefix, c.from); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %d keys, want %d", name, len(got), len(c.want))
		}
	}
}

// A scan of more than a page is of one moment, and in order.
func TestAScanOfManyPages(t *testing.T) {
	t.Parallel()
	s := members(t, 1)[0]
	const n = 1000
	err := s.Update(t.Context(), func(tx store.Tx) (err error) {
		for i := range n {
			err = errors.Join(err, tx.Set("p/"+store.Seq(uint64(i)), []byte(strconv.Itoa(i))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	err = s.View(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("p/", "") {
			if err != nil || p.Key != "p/"+store.Seq(uint64(i)) {
				t.Fatalf("pair %d is %q, %v", i, p.Key, err)
			}
			i++
		}
		return nil
	})
	if err != nil || i != n {
		t.Errorf("%d pairs, %v", i, err)
	}
}

// The server is killed again and again while two members count: what was
// acknowledged is there, and nothing is counted twice.
func TestAKilledServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := pgtest.Address(server.Socket, "postgres")
	var told failures
	list := []*postgres.Store{member(t, url, told.count), member(t, url, told.count)}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	type count struct{ acknowledged, unknown, failed int }
	counts := make([]count, len(list))
	for i, s := range list {
		wg.Go(func() {
			for ctx.Err() == nil {
				switch err := s.Update(t.Context(), increment("n")); {
				case err == nil:
					counts[i].acknowledged++
				case postgres.Unknown(err):
					counts[i].unknown++
				case errors.Is(err, store.ErrUnavailable):
					counts[i].failed++
				default:
					t.Error(err)
				}
			}
		})
	}
	for round := range 5 {
		awaitNumber(t, list[0], 20*(round+1))
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	wg.Wait()
	sum := counts[0].acknowledged + counts[1].acknowledged
	unknown := counts[0].unknown + counts[1].unknown
	if got := number(t, list[0], "n"); got < sum || got > sum+unknown {
		t.Errorf("%d were acknowledged and %d are unknown; the number is %d", sum, unknown, got)
	}
	failed := counts[0].failed + counts[1].failed
	if got := int(told.n.Load()); got != unknown+failed {
		t.Errorf("%d failures were told of, and %d writes were answered with an error", got, unknown+failed)
	}
	t.Logf("%d acknowledged, %d unknown, %d failed", sum, unknown, failed)
}

// awaitNumber waits until the number is that high, and for the server where it is away.
func awaitNumber(t *testing.T, s store.Store, n int) {
	t.Helper()
	w := s.Watch(t.Context(), "n")
	for {
		err := s.View(t.Context(), func(tx store.Tx) error {
			b, err := tx.Get("n")
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			if got, _ := strconv.Atoi(string(b)); got >= n {
				return errReached
			}
			return err
		})
		if errors.Is(err, errReached) {
			return
		}
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = w.Next(waiting)
		cancel()
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

var errReached = errors.New("reached")

func TestNewerTablesAreRefusedByName(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	member(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	set := func(serves int) {
		_, err := conn.Exec(t.Context(), `INSERT INTO holdgate_schema (version, serves) VALUES (99, $1)
			ON CONFLICT (version) DO UPDATE SET serves = excluded.serves`, serves)
		if err != nil {
			t.Fatal(err)
		}
	}
	set(1)
	member(t, url)
	set(98)
	_, err = postgres.Open(t.Context(), postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "version 99, which serves programs from version 98 on") {
		t.Errorf("got %v", err)
	}
}

// A password that changes is asked for again, and an address is never repeated
// in an error.
func TestErrorsDoNotSayThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:s3cret@127.0.0.1:1/db", "postgres://u:s3cret@[bad/db", "host=127.0.0.1 port=x password=s3cret"} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	}
}
