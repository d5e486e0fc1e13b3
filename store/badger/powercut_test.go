package badger

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/wal"
)

// powerDir is the variable that tells TestAPowerCut to write to the store in
// this folder until it is killed.
const powerDir = "HOLDGATE_BADGER_POWERCUT_DIR"

const (
	powerRounds  = 5
	powerWriters = 8
	powerAcks    = 400 // durable writes in a round
	powerPage    = 4096
	// powerWindow is after how many writes one is deleted again.
	powerWindow = 50
)

// A power cut takes what was not synced, page by page: of the memtables' files
// anything since the store was opened, and of the log what is behind the last
// write that was acknowledged as durable. Nothing else may be missing
// afterwards, of all writes only the latest, and what was deleted stays so.
func TestAPowerCut(t *testing.T) {
	if dir := os.Getenv(powerDir); dir != "" {
		writeUntilCut(t, openTest(t, dir))
		return
	}
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	t.Logf("seeded with %d", os.Getpid())
	acked, lost := 0, 0
	for round := range powerRounds {
		cut := runUntilCut(t, dir, acked)
		acked = cut.acked
		lost += losePages(t, rnd, dir, cut)
		if round%2 == 0 { // else the power fails again while all is new
			checkAfterCut(t, dir, acked)
		}
	}
	if lost == 0 {
		t.Error("no page was lost; this test proved nothing")
	}
}

// writeUntilCut is the child. Its writes are numbered by the store itself.
func writeUntilCut(t *testing.T, d *db) {
	var out sync.Mutex
	say := func(format string, a ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", a...)
	}
	say("opened %d %d", d.mem.fid, d.mem.fill.file)
	var wg sync.WaitGroup
	for g := range powerWriters {
		wg.Go(func() {
			for i := g; ; i++ {
				var n int
				fn := func(tx store.Tx) (err error) { n, err = numbered(tx); return err }
				if i%3 == 0 {
					if err := d.Update(t.Context(), fn); err != nil {
						t.Error(err)
						return
					}
					say("durable %d", n)
				} else if err := d.UpdateSoon(t.Context(), fn); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// numbered makes the write of the next number.
func numbered(tx store.Tx) (n int, err error) {
	if b, err := tx.Get("n"); err == nil {
		if _, err := fmt.Sscan(string(b), &n); err != nil {
			return 0, err
		}
	}
	n++
	if err := tx.Set("n", fmt.Append(nil, n)); err != nil {
		return 0, err
	}
	if n > powerWindow {
		if err := tx.Delete(powerKey(n - powerWindow)); err != nil {
			return 0, err
		}
	}
	return n, tx.Set(powerKey(n), powerValue(n))
}

func powerKey(n int) string { return fmt.Sprintf("write/%07d.", n) }

// powerValue is small, middling, or in pieces.
func powerValue(n int) []byte {
	size := 100
	switch {
	case n%97 == 0:
		size = 700 << 10
	case n%5 == 0:
		size = 60 << 10
	}
	return bytes.Repeat(fmt.Append(nil, n, " "), size/len(fmt.Append(nil, n, " "))+1)
}

// cut is what the parent knows of a child that was killed.
type cut struct {
	acked     int // the number of the last write acknowledged as durable
	fid, used int // the memtable's file at the start, and how much of it was synced
}

func runUntilCut(t *testing.T, dir string, acked int) cut {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPowerCut$", "-test.v=false")
	cmd.Env = append(os.Environ(), powerDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := cut{acked: acked}
	lines, count := bufio.NewReader(out), 0
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var n int
		if _, err := fmt.Sscanf(line, "durable %d\n", &n); err == nil {
			c.acked = max(c.acked, n)
			if count++; count == powerAcks {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		} else if _, err := fmt.Sscanf(line, "opened %d %d\n", &c.fid, &c.used); err != nil {
			t.Errorf("the child says %q", line)
		}
	}
	if err := cmd.Wait(); err == nil || count < powerAcks {
		t.Fatalf("the child ended by itself (%v) after %d writes", err, count)
	}
	return c
}

// losePages takes from the files what a power cut may take, and returns how
// many pages that were.
func losePages(t *testing.T, rnd *rand.Rand, dir string, c cut) (lost int) {
	t.Helper()
	mems, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mems {
		var fid int
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.mem", &fid); err != nil {
			t.Fatal(err)
		}
		switch {
		case fid < c.fid:
		case fid == c.fid:
			const head = 20
			lost += loseFrom(t, rnd, name, head+c.used)
		case rnd.IntN(4) == 0:
			if err := os.Truncate(name, 0); err != nil {
				t.Fatal(err)
			}
			lost++
		default:
			lost += loseFrom(t, rnd, name, 0)
		}
	}
	name, end := endOfSynced(t, dir, c.acked)
	return lost + loseFrom(t, rnd, name, end)
}

// endOfSynced returns the log's newest segment, and where in it ends what was
// acknowledged or, as later records say, synced.
func endOfSynced(t *testing.T, dir string, acked int) (name string, end int) {
	t.Helper()
	log, err := wal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var records []wal.Record
	sure := uint64(0)
	for r, err := range log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if sure == 0 && bytes.Contains(r.Payload, pairKey(powerKey(acked))) {
			sure = r.Number
		}
		records = append(records, r)
	}
	if sure == 0 {
		t.Fatalf("write %d was acknowledged and is not in the log", acked)
	}
	last := records[len(records)-1]
	sure = max(sure, last.Synced)
	b, err := os.ReadFile(last.Segment)
	if err != nil {
		t.Fatal(err)
	}
	end = powerPage // behind the head
	for _, r := range records {
		if r.Number <= sure && r.Segment == last.Segment {
			end = bytes.LastIndex(b, r.Payload) + len(r.Payload)
		}
	}
	return last.Segment, end
}

// loseFrom zeroes about every second page behind the offset, and what of the
// offset's own page is behind it.
func loseFrom(t *testing.T, rnd *rand.Rand, name string, offset int) (lost int) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(b, "\x00"))
	for offset < used {
		end := min(offset/powerPage*powerPage+powerPage, len(b))
		if rnd.IntN(2) == 0 {
			clear(b[offset:end])
			lost++
		}
		offset = end
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return lost
}

// checkAfterCut opens the store and looks for every write up to the last that
// was acknowledged.
func checkAfterCut(t *testing.T, dir string, acked int) {
	t.Helper()
	d := openTest(t, dir)
	view(t, d, func(tx store.Tx) error {
		var n int
		b, err := tx.Get("n")
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(string(b), &n); err != nil {
			return err
		}
		if n < acked {
			t.Errorf("%d writes are left, and number %d was acknowledged", n, acked)
		}
		want := max(1, n-powerWindow+1)
		for p, err := range tx.Scan("write/", "") {
			if err != nil {
				return err
			}
			if p.Key != powerKey(want) || !bytes.Equal(p.Value, powerValue(want)) {
				t.Errorf("%s with %d bytes comes where write %d of %d should", strings.TrimSuffix(p.Key, "."), len(p.Value), want, n)
				return nil
			}
			want++
		}
		if want != n+1 {
			t.Errorf("the last write is %d, want %d", want-1, n)
		}
		return nil
	})
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
