package approvals_test

import (
	"errors"
	"testing"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

func TestAnnouncementIsAnEventAndAnEntryOrNeither(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	entry := audit.Entry{Type: audit.TypePolicy, Note: "policy in force: other"}
	before, err := b.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	if err := b.queue.Announce(t.Context(), record.EventPolicy, entry, func(store.Tx) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if head, err := b.log.Head(t.Context()); err != nil || head != before {
		t.Errorf("what failed is in the log: %v, %v", head, err)
	}
	wrote := func(tx store.Tx) error { return tx.Set("policy/test", []byte("x")) }
	if err := b.queue.Announce(t.Context(), record.EventPolicy, entry, wrote); err != nil {
		t.Fatal(err)
	}
	err = b.queue.Events(t.Context(), 0, func(e approvals.Event) error {
		if e.Type != record.EventPolicy || e.Note != entry.Note || e.Request.ID != "" || e.Seq != before.Seq+1 {
			t.Errorf("got %+v", e)
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
}
