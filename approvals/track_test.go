package approvals_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// A session's repeated calls are those of the last five minutes, and of the last
// 64 different ones.
func TestRepeatedCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, err := b.queue.Sessions.Track(t.Context(), caller.Agent.ID, caller.Session.ID)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	called := func(name string, after time.Duration, want int) {
		t.Helper()
		if same, _ := s.Called(holdgate.Digest(name), now.Add(after)); same != want {
			t.Errorf("%s after %v was made %d times, want %d", name, after, same, want)
		}
	}
	called("a", 0, 1)
	called("b", time.Minute, 1)
	called("a", 5*time.Minute, 2)
	called("a", 5*time.Minute+1, 1) // counted from its first time
	called("b", 6*time.Minute, 2)
	called("b", 6*time.Minute+1, 1)
	for i := range 62 {
		called(strconv.Itoa(i), 7*time.Minute, 1)
	}
	called("a", 7*time.Minute, 2)
	called("one more", 7*time.Minute, 1) // the 65th: the oldest is forgotten
	called("b", 7*time.Minute, 2)
	called("a", 7*time.Minute, 1)
	called("b", 7*time.Minute, 1)
	called("1", 7*time.Minute, 2)
	for i := range 10 {
		called("late", time.Hour, i+1)
	}
}
