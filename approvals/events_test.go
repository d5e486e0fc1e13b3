package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/approvals"
)

var errEnough = errors.New("enough")

// said is an event in short.
func said(e approvals.Event) string {
	return fmt.Sprintf("%s %s %s %d", e.Type, e.Request.Call.Tool.Arguments, e.Request.Status, len(e.Request.Votes))
}

// take feeds a consumer until it has n events.
func (b *bench) take(consumer string, n int) []string {
	b.t.Helper()
	var got []string
	err := b.queue.Feed(b.t.Context(), consumer, func(e approvals.Event) error {
		if got = append(got, said(e)); len(got) == n {
			return errEnough // the last event counts as not taken
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		b.t.Fatal(err)
	}
	return got
}

// events are the first n, in short.
func (b *bench) events(n int) []string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	var got []string
	err := b.queue.Events(ctx, 0, func(e approvals.Event) error {
		if got = append(got, said(e)); len(got) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		b.t.Fatalf("after %q: %v", got, err)
	}
	return got
}

func TestEventsComeInOrderAsThingsStoodThen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "a"), hold(quorum(2)))
	b.decide(r, approve(r, "ana"))
	var got []string
	var last uint64
	err := b.queue.Events(t.Context(), 0, func(e approvals.Event) error {
		if e.Seq <= last {
			t.Errorf("event %d after %d", e.Seq, last)
		}
		last = e.Seq
		got = append(got, said(e))
		switch len(got) {
		case 2: // the rest happens while somebody listens
			b.decide(r, approve(r, "ben"))
		case 4:
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	want := []string{
		`approval.requested {"command":"a"} pending 0`,
		`approval.voted {"command":"a"} pending 1`,
		`approval.voted {"command":"a"} pending 2`,
		`approval.decided {"command":"a"} approved 2`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestFeedBeginsWithWhatIsPendingAndGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	over := b.ask(x, bash(0, "over"), hold())
	b.decide(over, deny("ana"))
	first := b.ask(x, bash(1, "first"), hold())
	b.ask(x, bash(2, "second"), hold())
	want := []string{`approval.requested {"command":"first"} pending 0`, `approval.requested {"command":"second"} pending 0`}
	if diff := cmp.Diff(want, b.take("slack", 2)); diff != "" {
		t.Errorf("a new consumer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], b.take("slack", 1)); diff != "" {
		t.Errorf("what was not taken comes again (-want +got):\n%s", diff)
	}
	b.decide(first, deny("ana"))
	if diff := cmp.Diff(want[1:], b.take("slack", 1)); diff != "" {
		t.Errorf("pending ones (-want +got):\n%s", diff)
	}
	x.Leave()
	b.reopen()
	if diff := cmp.Diff(want[1:], b.take("mail", 1)); diff != "" {
		t.Errorf("another consumer (-want +got):\n%s", diff)
	}
}

func TestAnEventIsTakenOnceItsFunctionReturned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	r := b.ask(x, bash(0, "a"), hold())
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	err := b.queue.Feed(ctx, "slack", func(approvals.Event) error {
		switch taken++; taken {
		case 1:
			b.decide(r, deny("ana")) // voted and decided are still to come
		case 2:
			cancel()
		}
		return nil
	})
	if err == nil {
		t.Fatal("the feed ended without its context")
	}
	x.Leave()
	b.reopen()
	got := b.take("slack", 1)
	if len(got) != 1 || (got[0] != `approval.voted {"command":"a"} pending 1` && got[0] != `approval.decided {"command":"a"} denied 1`) {
		t.Errorf("after the restart: %q", got)
	}
}
