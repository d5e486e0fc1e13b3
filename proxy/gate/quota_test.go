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
