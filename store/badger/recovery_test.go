package badger

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	badgerdb "github.com/dgraph-io/badger/v4"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
	"github.com/holdgate/holdgate/store/wal"
)

// loggedIn leaves a log in dir, synced, that holds the transactions under the
// versions from 1 on.
func loggedIn(t testing.TB, dir string, txns ...[]*badgerdb.Entry) {
	t.Helper()
	l, err := wal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Start(1)
	for _, entries := range txns {
		err = errors.Join(err, l.Append(appendPayload(wal.Begin(nil), 1, entries)))
	}
	if err := errors.Join(err, l.Sync(), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// committedIn leaves a database in dir, without a log, that holds one
// transaction under the version.
func committedIn(t testing.TB, dir string, version uint64, entries ...*badgerdb.Entry) {
	t.Helper()
	b, err := badgerdb.OpenManaged(settings(dir, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	txn := b.NewTransactionAt(version-1, true)
	for _, e := range entries {
		if err := txn.SetEntry(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(txn.CommitAt(version, nil), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func pair(key, value string) *badgerdb.Entry {
	return badgerdb.NewEntry(pairKey(key), []byte(value))
}

// pairs are n pairs whose keys begin with prefix.
func pairs(prefix string, n int) (list []*badgerdb.Entry) {
	for i := range n {
		list = append(list, pair(fmt.Sprintf("%s%06d", prefix, i), "v"))
	}
	return list
}

// held reads what the store holds as key=value.
func held(t testing.TB, d *db) (all []string) {
	t.Helper()
	view(t, d, func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			all = append(all, p.Key+"="+string(p.Value))
		}
		return nil
	})
	return all
}

// What is in the log and not in the database is committed again, in order.
func TestTheLogIsReplayedInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loggedIn(t, dir,
		[]*badgerdb.Entry{pair("a", "1"), pair("gone", "1")},
		[]*badgerdb.Entry{pair("a", "2"), tombstone(pairKey("gone")), tombstone(pairKey("back"))},
		[]*badgerdb.Entry{pair("b", "3"), pair("back", "3")},
	)
	if got, want := fmt.Sprint(held(t, openTest(t, dir))), "[a=2 b=3 back=3]"; got != want {
		t.Errorf("the store holds %s, want %s", got, want)
	}
}

// Where many small transactions stand before one that is as large as any may
// be, they do not become one that is larger than Badger takes.
func TestTheLogIsReplayedInTransactionsThatBadgerTakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loggedIn(t, dir, pairs("a/", serial.MaxBatchCount/2-1), pairs("b/", serial.MaxBatchCount), pairs("c/", serial.MaxBatchCount))
	if got, want := len(held(t, openTest(t, dir))), serial.MaxBatchCount*5/2-1; got != want {
		t.Errorf("the store holds %d pairs, want %d", got, want)
	}
}

// A power cut may take of an older memtable's file what it leaves of a newer
// one, whose last transactions are not yet in the log. What is committed later
// comes after those.
func TestRecoveryGoesOnAfterTheNewestTransactionOfAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	committedIn(t, dir, 5, pair("a", "5"), pair("b", "5"))
	loggedIn(t, dir, []*badgerdb.Entry{pair("a", "1")}, []*badgerdb.Entry{pair("c", "2")})
	d := openTest(t, dir)
	if got, want := fmt.Sprint(held(t, d)), "[a=5 b=5 c=2]"; got != want {
		t.Errorf("the store holds %s, want %s", got, want)
	}
	if err := d.Update(t.Context(), set("a", []byte("6"))); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(held(t, d)), "[a=6 b=5 c=2]"; got != want {
		t.Errorf("the store holds %s, want %s", got, want)
	}
	if d.version != 6 {
		t.Errorf("the update has version %d, want 6", d.version)
	}
}

// Recovery syncs a memtable's file before another begins: were the power to
// fail again, what is left of the newer would hide that the older lacks
// something.
func TestRecoverySyncsAMemtableBeforeTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var txns [][]*badgerdb.Entry
	for i := range 40 {
		txns = append(txns, []*badgerdb.Entry{pair(fmt.Sprint(i), strings.Repeat("x", 1<<20-100))})
	}
	loggedIn(t, dir, txns...)
	d := openTest(t, dir)
	if len(held(t, d)) != len(txns) {
		t.Errorf("the store holds %d pairs, want %d", len(held(t, d)), len(txns))
	}
	if d.mem.fid < 3 {
		t.Fatalf("only %d memtables were begun; this test proved nothing", d.mem.fid)
	}
	if d.mem.unsynced != 0 {
		t.Errorf("%d memtables were begun before the one before was synced", d.mem.unsynced)
	}
}

// A folder that was written before there was a log opens with all it holds.
func TestAFolderWithoutALogOpens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	committedIn(t, dir, 7, pair("a", "7"))
	d := openTest(t, dir)
	if err := d.Update(t.Context(), set("b", []byte("8"))); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(held(t, openTest(t, dir))), "[a=7 b=8]"; got != want {
		t.Errorf("the store holds %s, want %s", got, want)
	}
}

// A damaged log keeps the store from being opened, and stays as it is. The
// error names the file and says what to do.
func TestADamagedLogKeepsTheStoreFromBeingOpened(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(b []byte){
		"a record that was synced": func(b []byte) { b[strings.Index(string(b), "synced")] ^= 1 },
		"a segment's head":         func(b []byte) { b[9] ^= 1 },
		"two blocks of zeros":      func(b []byte) { clear(b[:8192]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := openTest(t, dir)
			for _, value := range []string{"synced", strings.Repeat("x", 10_000), "last"} {
				if err := d.Update(t.Context(), set("a", []byte(value))); err != nil {
					t.Fatal(err)
				}
			}
			left := crashed(t, d)
			files, err := filepath.Glob(filepath.Join(left, "*.wal"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			b, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			spoil(b)
			if err := os.WriteFile(files[0], b, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err = Open(left, slog.New(slog.DiscardHandler))
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("got %v, want ErrDamaged", err)
				}
				for _, want := range []string{filepath.Base(files[0]), "restore the state folder"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q does not say %q", err, want)
					}
				}
			}
		})
	}
}

// crashed returns a copy of the store's folder as it is now, which is what a
// process that dies now would leave.
func crashed(t testing.TB, d *db) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(d.mem.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A record that holds no transaction is damage as well.
func TestARecordWithoutATransactionIsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loggedIn(t, dir, nil)
	if _, err := Open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}
