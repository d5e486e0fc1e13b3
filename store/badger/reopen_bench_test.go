package badger

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// BenchmarkReopen opens a folder of 100,000 records of 200 bytes: as it is
// after a Close, after a SIGKILL, and after a power cut that took the memtables'
// files whole.
func BenchmarkReopen(b *testing.B) {
	dir := b.TempDir()
	d := openTest(b, dir)
	const records, each = 100_000, 20
	for n := 0; n < records; n += each {
		err := d.UpdateSoon(b.Context(), func(tx store.Tx) (err error) {
			for i := range each {
				err = errors.Join(err, tx.Set(fmt.Sprintf("record/%08d", n+i), make([]byte, 200)))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := d.flush(); err != nil {
		b.Fatal(err)
	}
	killed := crashed(b, d)
	cut := crashed(b, d)
	mems, err := filepath.Glob(filepath.Join(cut, "*.mem"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range mems {
		if err := os.Truncate(name, 0); err != nil {
			b.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, dir string }{{"clean", dir}, {"killed", killed}, {"power cut", cut}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				again := b.TempDir()
				if err := os.CopyFS(again, os.DirFS(c.dir)); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				d, err := open(again, slog.New(slog.DiscardHandler))
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				if n := len(held(b, d)); n != records {
					b.Fatalf("the store holds %d records, want %d", n, records)
				}
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
