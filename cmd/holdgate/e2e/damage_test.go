package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newest returns the file of the database that matches the pattern and sorts
// last.
func newest(t *testing.T, s *sidecar, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "db", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file %s in the database: %v", pattern, err)
	}
	return slices.Max(files)
}

// rewrite changes a file and returns what it held before.
func rewrite(t *testing.T, path string, edit func([]byte) []byte) (before []byte) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, edit(bytes.Clone(before)), 0o600); err != nil {
		t.Fatal(err)
	}
	return before
}

// A table that was damaged on the disk keeps the sidecar from starting. Once it
// is as it was, so is everything in it.
func TestADamagedTableIsNamedAndLosesNothing(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL}
	s := serve(t, nil, args...)
	ended := hold(t, s, "rm -rf one")
	held := s.held("rm -rf one")
	s.stop()
	<-ended
	table := newest(t, s, "*.sst")
	for name, edit := range map[string]func([]byte) []byte{
		"in the midst": func(b []byte) []byte {
			for i := range 64 {
				b[len(b)/3+i] ^= 0x55
			}
			return b
		},
		"at the end": func(b []byte) []byte { return b[:len(b)-100] },
	} {
		t.Run(name, func(t *testing.T) {
			before := rewrite(t, table, edit)
			refusesToStart(t, s.dir, filepath.Base(table), "backup")
			if err := os.WriteFile(table, before, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	s = serveIn(t, s.dir, nil, args...)
	if got := s.held("rm -rf one"); got.ID != held.ID {
		t.Errorf("held is %s, want %s", got.ID, held.ID)
	}
	s.must("audit", "verify")
}

// A log that was damaged on the disk keeps the sidecar from starting. The commands say what
// is lost, and mend it where nothing is: all that waited still waits.
func TestADamagedLogIsCheckedAndSalvaged(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL}
	s := serve(t, nil, args...)
	var before []request
	for _, command := range []string{"rm -rf one", "rm -rf two", "rm -rf three"} {
		hold(t, s, command)
		before = append(before, s.held(command))
	}
	s.kill()
	state := []string{"HOLDGATE_STATE_DIR=" + s.dir}
	if r := holdgate(t, state, "store", "check"); r.code != 0 {
		t.Errorf("before the damage: %v", r)
	}
	log := newest(t, s, "*.wal")
	rewrite(t, log, func(b []byte) []byte {
		b[len(bytes.TrimRight(b, "\x00"))/2] ^= 0x55
		return b
	})
	refusesToStart(t, s.dir, filepath.Base(log), "holdgate store check")
	if r := holdgate(t, state, "store", "check"); r.code != 1 || !strings.Contains(r.stdout+r.stderr, "nothing is lost") {
		t.Errorf("check says %v", r)
	}
	if r := holdgate(t, state, "store", "salvage"); r.code != 0 || !strings.Contains(r.stdout, "db.damaged-") {
		t.Errorf("salvage says %v", r)
	}
	s = serveIn(t, s.dir, nil, args...)
	for _, want := range before {
		if got := parse[request](t, s.must("show", want.ID, "--json")); got.Status != "pending" {
			t.Errorf("request %s is %s", want.ID, got.Status)
		}
	}
	s.must("audit", "verify")
}

// The write that was under way when the power went may have reached the disk in
// part. It was never acknowledged; everything before it was.
func TestAWriteThatWasTornIsNoWrite(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL}
	s := serve(t, nil, args...)
	var before []request
	var ended []<-chan struct{}
	for _, command := range []string{"rm -rf one", "rm -rf two", "rm -rf three"} {
		ended = append(ended, hold(t, s, command))
		before = append(before, s.held(command))
	}
	s.must("deny", before[0].ID)
	s.kill()
	for _, e := range ended {
		<-e
	}
	rewrite(t, newest(t, s, "*.mem"), func(b []byte) []byte {
		end := len(bytes.TrimRight(b, "\x00"))
		torn := bytes.Clone(b[end-300 : end-100]) // looks like the beginning of a write
		copy(b[end:], torn)
		return b
	})
	s = serveIn(t, s.dir, nil, args...)
	for i, want := range []string{"denied", "pending", "pending"} {
		if got := parse[request](t, s.must("show", before[i].ID, "--json")); got.Status != want {
			t.Errorf("request %s is %s, want %s", before[i].ID, got.Status, want)
		}
	}
	s.must("audit", "verify")
}

// Large values are kept in pieces in the tables, whose blocks carry checksums:
// nothing rests on the database's value log.
func TestADamagedValueLogCostsNothing(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL}
	s := serve(t, nil, args...)
	long := "rm -rf one " + strings.Repeat("long/path/", 200_000)
	ended := hold(t, s, long)
	held := s.held(long)
	s.stop()
	<-ended
	kept := func(t *testing.T) {
		t.Helper()
		again := serveIn(t, s.dir, nil, args...)
		if got := parse[request](t, again.must("show", held.ID, "--json")); got.Status != "pending" {
			t.Errorf("the request is %s", got.Status)
		}
		again.must("audit", "verify")
		again.stop()
	}
	t.Run("cut", func(t *testing.T) {
		rewrite(t, newest(t, s, "*.vlog"), func(b []byte) []byte { return b[:len(b)/2] })
		kept(t)
	})
	t.Run("garbage", func(t *testing.T) {
		log := newest(t, s, "*.vlog")
		rewrite(t, log, func(b []byte) []byte { return bytes.Repeat([]byte{0x55}, len(b)) })
		refusesToStart(t, s.dir, filepath.Base(log), "can be removed")
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		kept(t)
	})
}
