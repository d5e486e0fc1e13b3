package approvals_test

import (
	"errors"
	"flag"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/storetest"
)

// A model is what must be true of a queue, in as few words as possible.
type model struct {
	b        *bench
	requests map[string]*modelRequest
	order    []string
	conns    []*modelConn
}

type modelRequest struct {
	shown    approvals.Request
	exchange string
	call     holdgate.Call
	status   holdgate.Status
	used     bool
	over     bool // its exchange has ended
	people   modelPeople
	edited   *holdgate.Call // what an edit made of it
}

type modelConn struct {
	x    *approvals.Exchange
	key  string
	used bool
}

// live reports whether a connection takes part in the exchange.
func (m *model) live(id string) bool {
	return slices.ContainsFunc(m.conns, func(c *modelConn) bool { return c.x.ID() == id })
}

func (m *model) conn(t *rapid.T) *modelConn {
	if len(m.conns) == 0 {
		t.Skip("nobody is connected")
	}
	return rapid.SampledFrom(m.conns).Draw(t, "connection")
}

func (m *model) request(t *rapid.T) *modelRequest {
	if len(m.order) == 0 {
		t.Skip("nothing was asked")
	}
	return m.requests[rapid.SampledFrom(m.order).Draw(t, "request")]
}

// Enter joins what waits and nobody is connected to, or begins anew.
func (m *model) Enter(t *rapid.T) {
	k := rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key")
	var waiting []string
	for _, r := range m.requests {
		if !r.over && !m.live(r.exchange) && r.shown.Rule == k {
			waiting = append(waiting, r.exchange)
		}
	}
	x := m.b.enter(k)
	if joined := slices.Contains(waiting, x.ID()); joined != (len(waiting) > 0) {
		t.Fatalf("joined: %v, waiting: %q", joined, waiting)
	}
	m.conns = append(m.conns, &modelConn{x: x, key: k})
}

// Ask finds the request that still stands for the call, or makes one.
func (m *model) Ask(t *rapid.T) {
	c := m.conn(t)
	call := bash(rapid.IntRange(0, 1).Draw(t, "position"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "command"))
	m.asked(t, c, call, m.b.ask(c.x, call, modelRule(c.key)))
}

// asked takes in a request that was asked for a call.
func (m *model) asked(t *rapid.T, c *modelConn, call holdgate.Call, r approvals.Request) {
	known := m.requests[r.ID]
	for _, o := range m.requests {
		same := o.exchange == c.x.ID() && o.shown.Call.Digest == r.Call.Digest && o.shown.Call.Position == r.Call.Position && o.shown.EditedFrom == r.EditedFrom
		if same && !o.used && o.status != holdgate.StatusCancelled && o != known {
			t.Fatalf("%s was asked although %s stands for it", r.ID, o.shown.ID)
		}
	}
	if known != nil {
		if known.used || known.status == holdgate.StatusCancelled || known.exchange != c.x.ID() {
			t.Fatalf("%s came again: %+v", r.ID, known)
		}
		return
	}
	m.requests[r.ID] = &modelRequest{shown: r, exchange: c.x.ID(), call: call, status: holdgate.StatusPending, people: newModelPeople(c.key)}
	m.order = append(m.order, r.ID)
}

// Cancel is a vote of nobody's.
func (m *model) Cancel(t *rapid.T) {
	r := m.request(t)
	_, err := m.b.queue.Cancel(m.b.t.Context(), r.shown.ID, "")
	m.ended(t, r, holdgate.StatusCancelled, err)
}

func (m *model) ended(t *rapid.T, r *modelRequest, status holdgate.Status, err error) {
	var ended *approvals.EndedError
	if pending := r.status == holdgate.StatusPending; pending != (err == nil) || !pending && !errors.As(err, &ended) {
		t.Fatalf("ending a request that is %s: %v", r.status, err)
	}
	if err == nil {
		r.status = status
	}
}

// Use takes what is approved in the connection's own exchange, once, and only
// as it was approved.
func (m *model) Use(t *rapid.T) {
	c, r := m.conn(t), m.request(t)
	digest := r.shown.Call.Digest
	if r.edited != nil {
		if err := c.x.Use(m.b.t.Context(), use(r.shown)); err == nil {
			t.Fatalf("%s was edited, and goes on as it was", r.shown.ID)
		}
		digest = m.digest(t, c, *r.edited)
	}
	err := c.x.Use(m.b.t.Context(), []approvals.Use{{RequestID: r.shown.ID, Digest: digest}})
	may := r.status == holdgate.StatusApproved && !r.used && !r.over && r.exchange == c.x.ID() && (r.edited == nil || r.people.quorum == 1)
	if may != (err == nil) {
		t.Fatalf("using a request that is %s, used %v, over %v, own %v: %v", r.status, r.used, r.over, r.exchange == c.x.ID(), err)
	}
	if may {
		r.used, c.used = true, true
	}
}

// Done ends the exchange, unless nothing was used and nothing arrived.
func (m *model) Done(t *rapid.T) {
	c := m.conn(t)
	delivered := rapid.Bool().Draw(t, "delivered")
	if err := c.x.Done(m.b.t.Context(), delivered, ""); err != nil {
		t.Fatal(err)
	}
	if delivered || c.used {
		m.over(c.x.ID())
	}
	m.disconnect(c)
}

// over ends an exchange: what is pending is cancelled.
func (m *model) over(exchange string) {
	for _, r := range m.requests {
		if r.exchange != exchange || r.over {
			continue
		}
		r.over = true
		if r.status == holdgate.StatusPending {
			r.status = holdgate.StatusCancelled
		}
	}
}

// Leave keeps what waits; what was being sent is settled by nobody but Reopen,
// so that the test need not wait for the timer.
func (m *model) Leave(t *rapid.T) {
	c := m.conn(t)
	if c.used {
		m.Reopen(t)
		return
	}
	m.disconnect(c)
}

func (m *model) disconnect(c *modelConn) {
	c.x.Leave()
	m.conns = slices.DeleteFunc(m.conns, func(o *modelConn) bool { return o == c })
}

// Reopen is a crash: connections are gone, and what was being sent is unknown.
func (m *model) Reopen(t *rapid.T) {
	for _, c := range m.conns {
		if c.used && !m.pending(c.x.ID()) {
			m.over(c.x.ID())
		}
	}
	m.conns = nil
	m.b.reopen()
}

func (m *model) pending(exchange string) bool {
	for _, r := range m.requests {
		if r.exchange == exchange && r.status == holdgate.StatusPending {
			return true
		}
	}
	return false
}

// Check compares every request with the store, and the list with both.
func (m *model) Check(t *rapid.T) {
	pending := 0
	for id, r := range m.requests {
		got := m.b.request(id)
		if got.Status != r.status {
			t.Fatalf("request %s is %s, want %s", id, got.Status, r.status)
		}
		r.people.check(t, got)
		if r.status == holdgate.StatusPending {
			pending++
		}
	}
	listed, err := m.b.queue.List(m.b.t.Context(), approvals.Filter{Status: holdgate.StatusPending})
	if err != nil || len(listed) != pending {
		t.Fatalf("listed %d pending, want %d: %v", len(listed), pending, err)
	}
	if got := m.b.queue.Pending(); got != pending {
		t.Fatalf("the queue counts %d requests that wait, want %d", got, pending)
	}
}

// modelChecks is how often the model is run where no flag says so.
const modelChecks = "12"

func TestTheQueueAgreesWithItsModel(t *testing.T) {
	t.Parallel()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(modelChecks); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		wrap := func(s store.Store) store.Store { return s }
		if rapid.Bool().Draw(rt, "each change runs twice") {
			wrap = storetest.Twice
		}
		var failed any // rapid fails by a panic, which must not end the bubble's test
		synctest.Test(t, func(t *testing.T) {
			m := &model{b: newBench(t, wrap), requests: make(map[string]*modelRequest)}
			defer func() {
				failed = recover()
				m.b.close()
			}()
			m.b.edit = func(c *approvals.Config) { c.Redeem = 365 * 24 * time.Hour } // what waits for its call is not given up
			m.b.reopen()
			rt.Repeat(map[string]func(*rapid.T){
				"enter": m.Enter, "ask": m.Ask, "cancel": m.Cancel, "use": m.Use,
				"approve": m.Approve, "deny": m.Deny, "steer": m.Steer, "edit": m.Edit, "ask edited": m.AskEdited,
				"claim": m.Claim, "unclaim": m.Unclaim, "delegate": m.Delegate, "time passes": m.Pass,
				"done": m.Done, "leave": m.Leave, "reopen": m.Reopen, "": m.Check,
			})
		})
		if failed != nil {
			panic(failed)
		}
	})
}

func BenchmarkEnterWithNothingOpen(b *testing.B) {
	q := newBenchB(b)
	for b.Loop() {
		x, err := q.Enter(b.Context(), caller, nil)
		if err != nil {
			b.Fatal(err)
		}
		x.Leave()
	}
}
