package approvals

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/badger"
)

// A clock that is set forward, or a machine that slept, makes a window look
// over although nobody had the time to answer.
func TestAClockThatJumpsIsNoSilence(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	st, err := badger.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), st, key)
	if err != nil {
		t.Fatal(err)
	}
	digester, err := holdgate.NewDigester(key)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Open(t.Context(), Config{Store: st, Log: log, Digester: digester, SealKey: key})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(q.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	}()
	x, err := q.Enter(t.Context(), Caller{Door: "d"}, func() (holdgate.Digest, error) { return "k", nil })
	if err != nil {
		t.Fatal(err)
	}
	defer x.Leave()
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash"}}
	d := holdgate.Decision{Action: holdgate.Hold, Hold: holdgate.HoldSpec{Timeout: time.Hour, OnTimeout: holdgate.TimeoutApprove}}
	r, err := x.Ask(t.Context(), Question{Call: c, Decision: d})
	if err != nil {
		t.Fatal(err)
	}
	// To the clock the hour is over; not one second has passed.
	end := due{key: dueKey(r.ExpiresAt, r.ID), at: r.ExpiresAt, id: r.ID, what: dueSilence}
	if err := q.expire(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	got, err := q.Request(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != holdgate.StatusPending || !got.ExpiresAt.After(r.ExpiresAt) {
		t.Errorf("it is %s until %s, was until %s", got.Status, got.ExpiresAt, r.ExpiresAt)
	}
}
