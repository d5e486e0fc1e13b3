package proxytest

import (
	"testing"
	"time"
)

// Await looks again and again until it is so, and fails the test where that takes too long; is also returns what it saw.
// It looks ever less often: what is waited for has use for the processor.
func Await(t testing.TB, what string, is func() (so bool, seen any)) {
	t.Helper()
	wait, over := time.Millisecond, time.After(Patience)
	for {
		so, seen := is()
		if so {
			return
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, 50*time.Millisecond)
		case <-over:
			t.Fatalf("waited in vain for %s: %+v", what, seen)
		}
	}
}
