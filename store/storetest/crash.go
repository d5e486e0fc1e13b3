package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// crashDir is the variable that tells the test binary to write to the store in
// this folder until it is killed.
const crashDir = "HOLDGATE_STORETEST_CRASH_DIR"

const (
	crashRounds  = 4
	crashWriters = 8
	// crashAcks is after how many acknowledgements a child is killed, times
	// the number of the round.
	crashAcks = 100
)

// testCrash kills a process that writes, again and again in the same folder,
// and looks for everything that was acknowledged.
func testCrash(t *testing.T, open Open) {
	dir := t.TempDir()
	acked := make(map[string]bool)
	for round := range crashRounds {
		for _, key := range killOne(t, dir, crashAcks*(round+1)) {
			acked[key] = true
		}
		checkAcked(t, open(t, dir), acked)
	}
	if len(acked) < crashAcks {
		t.Errorf("only %d writes were acknowledged", len(acked))
	}
}

// killOne runs a child until it has acknowledged so many writes, kills it, and
// returns all that it acknowledged.
func killOne(t *testing.T, dir string, acks int) []string {
	t.Helper()
	root, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+root+"$", "-test.v=false")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // what stands before the end of the pipe without a newline is no acknowledgement
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		key, ok := strings.CutPrefix(line, "acked ")
		if !ok {
			t.Errorf("the child says %q", line)
			continue
		}
		if keys = append(keys, strings.TrimSpace(key)); len(keys) == acks {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(keys) < acks {
		t.Fatalf("the child ended by itself (%v) after %d writes", err, len(keys))
	}
	return keys
}

// writeUntilKilled is the child: writers that acknowledge each write on the
// standard output once the store did.
func writeUntilKilled(t *testing.T, s store.Store) {
	var out sync.Mutex
	var wg sync.WaitGroup
	for g := range crashWriters {
		wg.Go(func() {
			update := s.Update
			if g%2 == 0 {
				update = s.UpdateSoon
			}
			for {
				key, err := writePair(update, g)
				if err != nil {
					t.Errorf("writing %s: %v", key, err)
					return
				}
				out.Lock()
				fmt.Printf("acked %s\n", key)
				out.Unlock()
			}
		})
	}
	wg.Wait()
}

// writePair takes the writer's next number and writes two keys under it, every
// eighth of them with a large value.
func writePair(update func(context.Context, func(store.Tx) error) error, g int) (key string, err error) {
	err = update(context.Background(), func(tx store.Tx) error {
		n, err := count(tx, fmt.Sprintf("n/%d", g))
		if err != nil {
			return err
		}
		key = fmt.Sprintf("%d-%06d", g, n)
		return errors.Join(tx.Set("a/"+key, []byte(key)), tx.Set("b/"+key, crashValue(key, n)))
	})
	return key, err
}

func crashValue(key string, n int) []byte {
	if n%8 == 0 {
		return []byte(strings.Repeat(key, 40_000))
	}
	return []byte(key)
}

// checkAcked looks for every acknowledged pair, and for halves of others.
func checkAcked(t *testing.T, s store.Store, acked map[string]bool) {
	t.Helper()
	f := fixture{s, t}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	f.view(func(tx store.Tx) error {
		there := make(map[string]bool)
		for p, err := range tx.Scan("a/", "") {
			if err != nil {
				return err
			}
			key := strings.TrimPrefix(p.Key, "a/")
			there[key] = true
			var g, n int
			if _, err := fmt.Sscanf(key, "%d-%d", &g, &n); err != nil {
				return err
			}
			if b, err := tx.Get("b/" + key); err != nil || string(b) != string(crashValue(key, n)) {
				t.Errorf("the other half of %s has %d bytes, %v", key, len(b), err)
			}
		}
		for key := range acked {
			if !there[key] {
				t.Errorf("%s was acknowledged and is gone", key)
			}
		}
		return nil
	})
}
