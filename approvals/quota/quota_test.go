package quota_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/quota"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
)

// A world is a ledger that follows a book.
type world struct {
	*quota.Ledger

	t    *testing.T
	book *record.Book
	n    int
}

func newWorld(t *testing.T, l quota.Limits) *world {
	t.Helper()
	w := &world{Ledger: quota.New(func() quota.Limits { return l }), t: t, book: recordtest.Book(t, recordtest.Store(t))}
	w.Follow(w.book)
	return w
}

// asks has an agent ask in an exchange of its own, and then fails with also.
func (w *world) asks(agent string, proven bool, session string, also error) (*record.StoredRequest, error) {
	w.n++
	id := fmt.Sprint(w.n)
	r := &record.StoredRequest{Header: record.Current(), ID: "r" + id, Exchange: "x" + id, Status: holdgate.StatusPending, Agent: agent, Proven: proven, Session: session, Timeout: time.Hour}
	r.Call.Arguments = make([]byte, 100)
	return r, w.book.Change(w.t.Context(), func(c *record.Change) error {
		x := c.Begin(&record.StoredExchange{ID: r.Exchange, Agent: agent, Proven: proven, Session: session})
		if err := c.AddRequest(x, r, "", record.KeptInput{}); err != nil {
			return err
		}
		return also
	})
}

func (w *world) ends(r *record.StoredRequest) {
	w.t.Helper()
	err := w.book.Change(w.t.Context(), func(c *record.Change) error { return c.Cancel(r, "ana", "") })
	if err != nil {
		w.t.Fatal(err)
	}
}

// Each step goes on from the one before. Of those who only assert who they are all share
// one account, and one session does not keep the others from being heard.
func TestWhoMayHaveMoreWaiting(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]quota.Limits{"requests": {Pending: 8}, "bytes": {HeldBytes: 800}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, limits)
			for _, step := range []struct {
				agent   string
				proven  bool
				session string
				fits    int // so many more
			}{
				{"ada", false, "s1", 8},
				{"ada", false, "s2", 2}, // a quarter of the limit
				{"eve", false, "s1", 2},
				{"ada", true, "s1", 8}, // a proven one shares with nobody
				{"ada", true, "s2", 0},
				{"eve", true, "s1", 8},
			} {
				for range step.fits {
					if _, err := w.asks(step.agent, step.proven, step.session, nil); err != nil {
						t.Fatalf("%+v: %v", step, err)
					}
				}
				_, err := w.asks(step.agent, step.proven, step.session, nil)
				if over, ok := errors.AsType[*quota.Error](err); !ok || over.Max != int64(limits.Pending)+limits.HeldBytes || over.Have <= over.Max {
					t.Errorf("%+v: one more: %v", step, err)
				}
			}
			if n := w.Pending(); n != 28 {
				t.Errorf("%d wait", n)
			}
		})
	}
}

// What does not come to pass is given back, and so is what is over.
func TestWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quota.Limits{Pending: 1, HeldBytes: 1000})
	no := errors.New("no")
	for range 3 {
		if _, err := w.asks("ada", true, "s1", no); !errors.Is(err, no) {
			t.Fatalf("a change that fails: %v", err)
		}
	}
	r, err := w.asks("ada", true, "s1", nil)
	if err != nil {
		t.Fatalf("after changes that failed: %v", err)
	}
	w.ends(r)
	if _, err := w.asks("ada", true, "s1", nil); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	if n := w.Pending(); n != 1 {
		t.Errorf("%d wait", n)
	}
}

// An answer that is kept counts as long as its exchange does.
func TestAnAnswerGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quota.Limits{HeldBytes: 1000})
	if _, err := w.asks("ada", true, "s1", nil); err != nil { // 100 bytes
		t.Fatal(err)
	}
	grow := func(more int64) error {
		return w.book.Change(t.Context(), func(c *record.Change) error {
			x, err := c.Exchange("x1")
			if err != nil {
				return err
			}
			x.Bytes += more
			return w.Grow(c, x, more)
		})
	}
	for _, step := range []struct {
		more int64
		fits bool
	}{{800, true}, {200, false}, {100, true}, {1, false}, {-500, true}, {501, false}, {500, true}} {
		if err := grow(step.more); (err == nil) != step.fits {
			t.Errorf("%d bytes more: %v", step.more, err)
		}
	}
	err := w.book.Change(t.Context(), func(c *record.Change) error {
		x, err := c.Exchange("x1")
		if err != nil {
			return err
		}
		return c.Conclude(x, record.StateUnknown, "")
	})
	if err != nil {
		t.Fatal(err)
	}
	w.AddOpen(record.StoredOpen{Agent: "ada", Proven: true, Session: "s1", Bytes: 900})
	if _, err := w.asks("ada", true, "s1", nil); err != nil {
		t.Errorf("what is over counts on: %v", err)
	}
}
