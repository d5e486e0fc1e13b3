package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/move"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// A move that was cut off once its target had opened ends there alone, whatever database
// the configuration names by then.
func TestAMoveEndsInOneDatabase(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	if _, err := openState(dir); err != nil {
		t.Fatal(err)
	}
	st, err := OpenLocal(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(t.Context(), func(tx store.Tx) error { return tx.Set("k", []byte("v")) })
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	to := func(url string) Move {
		c := config.Config{StateDir: dir}
		c.Store.Postgres = config.Postgres{URL: url, Member: "one", TakeOver: config.Duration(time.Second)}
		return Move{Config: c, Logger: log, Copied: func(uint64) {}}
	}
	here, elsewhere := to(pgtest.URL(t, t.TempDir())), to(pgtest.URL(t, t.TempDir()))
	if _, err := here.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Cancel(t.Context()); err == nil || !strings.Contains(err.Error(), "the copy has ended") {
		t.Errorf("taken back once it has ended: %v", err)
	}
	mark, err := readMoved(dir)
	if err != nil || mark.Finishing == "" {
		t.Fatalf("%+v, %v", mark, err)
	}
	mark.Done = time.Time{} // killed before it was written
	if err := mark.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, m := range []Move{here, elsewhere} {
		if err := m.Cancel(t.Context()); err == nil || !strings.Contains(err.Error(), "may have ended") {
			t.Errorf("taken back: %v", err)
		}
	}
	if _, err := elsewhere.Run(t.Context()); !errors.Is(err, move.ErrElsewhere) {
		t.Errorf("ended elsewhere: %v", err)
	}
	if _, err := OpenLocal(dir, log); err == nil || !strings.Contains(err.Error(), "may be there already") {
		t.Errorf("the folder: %v", err)
	}
	if _, err := here.Run(t.Context()); err != nil {
		t.Errorf("ended where it was: %v", err)
	}
	if _, err := OpenLocal(dir, log); err == nil || !strings.Contains(err.Error(), "was moved to PostgreSQL") {
		t.Errorf("the folder afterwards: %v", err)
	}
}
