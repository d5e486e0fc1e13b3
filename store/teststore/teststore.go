// Package teststore opens the store that the tests of what lies above run on:
// Badger, or PostgreSQL where HOLDGATE_TEST_STORE=postgres.
package teststore

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// variable picks the store.
const variable = "HOLDGATE_TEST_STORE"

// Open opens the store that belongs to a folder, with what it held when it was
// last closed. The caller closes it.
//
// In a bubble of testing/synctest there is Badger alone, and where another store is
// asked for the test is skipped: a goroutine that waits for a socket is not durably
// blocked, so no time would pass there.
func Open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := open(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t testing.TB, dir string) (store.Store, error) {
	log := slog.New(slog.DiscardHandler)
	switch chosen := os.Getenv(variable); chosen {
	case "", "badger":
		if inBubble() {
			return badger.Open(dir, log, badger.WithoutCompaction())
		}
		return badger.Open(dir, log)
	case "postgres":
		if inBubble() {
			t.Skip("a test in a bubble is not about the store, and has no PostgreSQL")
		}
		return postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t, dir), Member: "test", Lease: 2 * time.Second, Logger: log})
	default:
		t.Fatalf("%s=%s: want badger or postgres", variable, chosen)
		return nil, nil
	}
}

// Shared opens the store that belongs to a folder as one of several processes that
// work on it at a time, and closes it with the test. PostgreSQL alone can be shared:
// where another store is asked for the test is skipped.
func Shared(t testing.TB, dir string) store.Store {
	t.Helper()
	if os.Getenv(variable) != "postgres" {
		t.Skip("one process alone opens this store")
	}
	s, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t, dir), Logger: slog.New(slog.DiscardHandler)})
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

// inBubble reports whether the caller runs in a bubble of testing/synctest. Its
// clock begins with the year 2000.
func inBubble() bool { return time.Now().Year() < 2020 }
