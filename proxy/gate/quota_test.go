package gate

import (
	"testing"
	"time"
)

func TestABucketPacesAndThenRefuses(t *testing.T) {
	b, now := newBucket(10, time.Second), time.Now()
	for i := range 20 {
		if wait, ok := b.takeToken(now, time.Second); wait != 0 || !ok {
			t.Fatalf("call %d of the burst waits %s, %v", i, wait, ok)
		}
	}
	var last time.Duration
	for i := range 10 {
		wait, ok := b.takeToken(now, time.Second)
		if !ok || wait <= last {
			t.Fatalf("call %d behind the burst waits %s, %v; the one before %s", i, wait, ok, last)
		}
		last = wait
	}
	if _, ok := b.takeToken(now, time.Second); ok {
		t.Error("a call that would wait longer is not refused")
	}
	if wait, ok := b.takeToken(now.Add(3*time.Second), time.Second); wait != 0 || !ok {
		t.Errorf("after a rest a call waits %s, %v", wait, ok)
	}
}

// What an agent has taken counts against a new limit, too, but nobody is over a lower one
// for what was within the higher.
func TestABucketBecomesAnother(t *testing.T) {
	for name, tt := range map[string]struct{ was, taken, is, want float64 }{
		"a higher limit":                      {10, 4, 20, 16},
		"a higher one, once it is over":       {10, 12, 20, 8},
		"a lower limit":                       {10, 4, 8, 4},
		"a lower one than what was taken":     {10, 9, 5, 0},
		"a lower one, once it is over":        {10, 12, 5, -2},
		"a limit where there was none":        {0, 0, 5, 5},
		"a higher one that is over all along": {10, 40, 20, -20},
	} {
		b := newBucket(tt.was, time.Hour)
		b.spend(time.Now(), tt.taken)
		b.become(newBucket(tt.is, time.Hour))
		if b.level != tt.want || b.size != tt.is {
			t.Errorf("%s: %g of %g are left, want %g", name, b.level, b.size, tt.want)
		}
	}
}
