package app

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestSidecarsThatStartTogetherReadOneSecret opens a new folder from many sides
// at once: none may see a file that is not whole, and all see the same.
func TestSidecarsThatStartTogetherReadOneSecret(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		states := make([]*state, 16)
		errs := make([]error, len(states))
		var all sync.WaitGroup
		for i := range states {
			all.Go(func() { states[i], errs[i] = openState(dir) })
		}
		all.Wait()
		for i, s := range states {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if s.token != states[0].token || string(s.secret) != string(states[0].secret) {
				t.Fatalf("side %d read another secret than side 0", i)
			}
		}
	}
}

// A folder that has lost its secret.key gets no other: the database could not be read with
// it, and what is missing would not be seen any more.
func TestALostSecretIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{dbName, movedName, movedFile} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, beside), 0o700); err != nil {
			t.Fatal(err)
		}
		_, opened := openState(dir)
		_, undo := UndoKey(dir)
		_, log := AuditKey(dir)
		_, signer := AuditSigner(dir)
		want := "secret.key is missing beside " + beside + " in " + dir + ": restore it from the backup"
		for name, err := range map[string]error{"serve": opened, "undo": undo, "the log": log, "checkpoints": signer} {
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		for _, name := range []string{secretFile, tokenFile} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s was made beside %s", name, beside)
			}
		}
	}
}
