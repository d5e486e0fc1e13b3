package badger_test

import (
	"log/slog"
	"testing"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/storetest"
)

func open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := badger.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }
