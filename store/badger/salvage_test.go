package badger

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// written fills a store with values that can be found in its files, and returns what a
// crash leaves.
func written(t *testing.T) (left, log string) {
	t.Helper()
	d := openTest(t, t.TempDir())
	for n := range 9 {
		if err := d.Update(t.Context(), set(fmt.Sprint("key", n), fmt.Appendf(nil, "value-%d", n))); err != nil {
			t.Fatal(err)
		}
	}
	left = crashed(t, d)
	files, err := filepath.Glob(filepath.Join(left, "*.wal"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return left, files[0]
}

// spoil changes a file.
func spoil(t *testing.T, path string, change func(b []byte)) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

func flip(what string) func(b []byte) {
	return func(b []byte) { b[bytes.Index(b, []byte(what))] ^= 1 }
}

func TestALogThatIsDamagedIsSalvagedWhereNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b []byte){
		"at the beginning": flip("value-0"),
		"in the midst":     flip("value-4"),
		"a file's head":    func(b []byte) { b[9] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left, log := written(t)
			damaged := spoil(t, log, change)
			quiet := slog.New(slog.DiscardHandler)
			c, err := Check(left, quiet)
			if err != nil || !c.Kept || len(c.Damaged) != 1 || !strings.Contains(c.Damaged[0], filepath.Base(log)) {
				t.Fatalf("checked: %+v, %v", c, err)
			}
			if _, err := Open(left, quiet); err == nil {
				t.Fatal("a check mended it")
			}
			aside := left + ".damaged"
			t.Cleanup(func() { _ = os.RemoveAll(aside) })
			if c, err = Salvage(left, aside, quiet); err != nil || !c.Kept || c.Aside != aside {
				t.Fatalf("salvaged: %+v, %v", c, err)
			}
			if kept, err := os.ReadFile(filepath.Join(aside, filepath.Base(log))); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged file was not kept: %v", err)
			}
			d := openTest(t, left)
			view(t, d, func(tx store.Tx) error {
				for n := range 9 {
					if v, err := tx.Get(fmt.Sprint("key", n)); string(v) != fmt.Sprint("value-", n) {
						t.Errorf("key%d is %q, %v", n, v, err)
					}
				}
				return nil
			})
		})
	}
}

// Where the database lacks what is damaged, or nobody can say, nothing is changed.
func TestALogIsNotSalvagedWhereSomethingIsLost(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, left, log string){
		"the database has none of it": func(t *testing.T, left, log string) {
			spoil(t, log, flip("value-4"))
			mems, err := filepath.Glob(filepath.Join(left, "*.mem"))
			if err != nil || len(mems) != 1 {
				t.Fatal(mems, err)
			}
			spoil(t, mems[0], func(b []byte) { clear(b[bytes.Index(b, []byte("value-3")):]) })
		},
		"the last that was synced": func(t *testing.T, left, log string) {
			spoil(t, log, flip("value-7")) // of the one behind it nobody knows to which file it went
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left, log := written(t)
			change(t, left, log)
			before, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Salvage(left, left+".damaged", slog.New(slog.DiscardHandler))
			if err != nil || c.Kept || len(c.Lost) == 0 || c.Aside != "" {
				t.Fatalf("salvaged: %+v, %v", c, err)
			}
			if after, err := os.ReadFile(log); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the log was changed: %v", err)
			}
		})
	}
}

func TestACrashIsNoDamage(t *testing.T) {
	t.Parallel()
	left, _ := written(t)
	if c, err := Check(left, slog.New(slog.DiscardHandler)); err != nil || !c.Kept || len(c.Damaged) != 0 || c.Records != 9 {
		t.Fatalf("checked: %+v, %v", c, err)
	}
	openTest(t, left)
}
