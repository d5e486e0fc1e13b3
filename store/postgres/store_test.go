package postgres_test

import (
	"log/slog"
	"testing"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
	"github.com/holdgate/holdgate/store/storetest"
)

// open opens the store that is kept in the schema of a folder's name.
func open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t, dir), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, open) }
