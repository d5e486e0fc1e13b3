package approvals

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// askedQuietly is a queue with one request whose silence approves it in an hour.
func askedQuietly(t *testing.T) (*Queue, Request) {
	t.Helper()
	key := bytes.Repeat([]byte{7}, 32)
	st := teststore.Open(t, t.TempDir())
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
	t.Cleanup(func() {
		if err := errors.Join(q.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	x, err := q.Enter(t.Context(), Caller{Agent: holdgate.Agent{ID: "claude", Confinement: "strong"}, Door: "d"}, func() (holdgate.Digest, error) { return "k", nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Leave)
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash"}}
	d := holdgate.Decision{Action: holdgate.Hold, Hold: holdgate.HoldSpec{Timeout: time.Hour, OnTimeout: holdgate.TimeoutApprove}}
	r, err := x.RequestApproval(t.Context(), HeldCall{Call: c, Decision: d})
	if err != nil {
		t.Fatal(err)
	}
	q.Reaches("stage", true)
	if err := q.Told(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if r, err = q.Request(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	return q, r
}

// silenceOf is the timer's entry for the end of the request as it stood.
func silenceOf(r Request) record.Due {
	return record.Due{Key: record.DueKey(r.ExpiresAt, r.ID), At: r.ExpiresAt, ID: r.ID, What: record.DueSilence}
}

// A clock that is set forward, or a machine that slept, makes a window look
// over although nobody had the time to answer.
func TestAClockThatJumpsIsNoSilence(t *testing.T) {
	t.Parallel()
	q, r := askedQuietly(t)
	// To the clock the hour is over; not one second has passed.
	if err := q.expire(t.Context(), silenceOf(r)); err != nil {
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

// A claim that comes while a window is about to begin anew stays a claim.
func TestAWindowBeginsAnewOnlyWhereItStillIsTheSame(t *testing.T) {
	t.Parallel()
	q, r := askedQuietly(t)
	claimed, err := q.Claim(t.Context(), r.ID, "ana")
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func() error{
		"restarting": func() error { return q.restartSilence(t.Context(), silenceOf(r)) },
		"expiring":   func() error { return q.expire(t.Context(), silenceOf(r)) },
		"lapsing":    func() error { return q.lapse(t.Context(), silenceOf(r)) },
	} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if got, err := q.request(t.Context(), r.ID); err != nil || got.Claim == nil || !got.Expires.Equal(claimed.Claim.Until) {
			t.Errorf("%s a window that is no more: claim %+v, due at %s: %v", name, got.Claim, got.Expires, err)
		}
	}
}
