package app

import (
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
