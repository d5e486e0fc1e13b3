package badger

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/store/wal"
)

var errDirSync = errors.New("the folder cannot be synced")

// noDirSync makes every sync of the folder fail until the test ends.
func noDirSync(t *testing.T, dir string) {
	whole := wal.SyncDir
	t.Cleanup(func() { wal.SyncDir = whole })
	wal.SyncDir = func(name string) error {
		if name == dir {
			return errDirSync
		}
		return whole(name)
	}
}

// A store is not open before its name and those of its files are on stable
// storage.
func TestOpeningSyncsTheFolders(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "db")
	for _, unsynced := range []string{parent, dir} {
		t.Run(filepath.Base(unsynced), func(t *testing.T) {
			noDirSync(t, unsynced)
			if _, err := Open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, errDirSync) {
				t.Errorf("got %v, want %v", err, errDirSync)
			}
		})
	}
	openTest(t, dir)
}

// What is in tables is kept in the log as well until the tables' names, and
// that the memtables' are gone, are on stable storage.
func TestTheLogIsKeptUntilTheFolderIsSynced(t *testing.T) {
	t.Run("when a memtable is written to a table", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "00002.mem"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m := &memtables{dir: dir, full: []fullMemtable{{fid: 1, last: 9}}}
		noDirSync(t, dir)
		if _, _, err := m.inTables(); !errors.Is(err, errDirSync) {
			t.Errorf("got %v, want %v", err, errDirSync)
		}
	})
	t.Run("when the store is closed", func(t *testing.T) {
		dir := t.TempDir()
		d, err := open(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Update(t.Context(), set("a", []byte(strings.Repeat("x", 100)))); err != nil {
			t.Fatal(err)
		}
		noDirSync(t, dir)
		if err := d.Close(); !errors.Is(err, errDirSync) {
			t.Errorf("got %v, want %v", err, errDirSync)
		}
		log, err := wal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if log.Oldest() != 1 {
			t.Errorf("the log begins with %d, want 1", log.Oldest())
		}
	})
}
