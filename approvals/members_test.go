package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/members"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/storetest"
	"github.com/holdgate/holdgate/store/teststore"
)

// A fleet is several queues on one store, and what must be true of them.
type fleet struct {
	t        *testing.T
	limits   approvals.Limits
	members  []*fleetMember
	requests []*fleetRequest
	conns    []*fleetConn

	mu    sync.Mutex
	works []string
	ago   time.Duration // since they were heard of
}

type fleetMember struct {
	name  string
	store store.Store
	queue *approvals.Queue
	works bool // the others find it there
	runs  bool // it may run all the same
}

type fleetRequest struct {
	shown  approvals.Request
	key    string
	status holdgate.Status
	used   bool
	over   bool // its exchange has ended
}

type fleetConn struct {
	x     *approvals.Exchange
	at    *fleetMember
	key   string
	used  bool
	stale bool // its member was taken for gone
	waits map[*fleetRequest]*atomic.Bool
}

// newFleet starts a queue on each store, which are one.
func newFleet(t *testing.T, stores ...store.Store) *fleet {
	f := &fleet{t: t}
	f.begin(stores...)
	return f
}

// begin starts a queue on each store.
func (f *fleet) begin(stores ...store.Store) {
	for i, st := range stores {
		f.members = append(f.members, &fleetMember{name: string(rune('a' + i)), store: st})
		f.start(f.members[i])
	}
}

// others are the members that work, as each of them is told.
func (f *fleet) others(context.Context) (list []approvals.Other, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.works {
		list = append(list, approvals.Other{Name: name, Ago: f.ago})
	}
	return list, nil
}

func (f *fleet) found(m *fleetMember, works bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.works = works
	f.works = slices.DeleteFunc(f.works, func(name string) bool { return name == m.name })
	if works {
		f.works = append(f.works, m.name)
	}
}

func (f *fleet) start(m *fleetMember) {
	f.t.Helper()
	log, err := audit.Open(f.t.Context(), m.store, key)
	if err != nil {
		f.t.Fatal(err)
	}
	log.As(m.name)
	d, err := holdgate.NewDigester(key)
	if err != nil {
		f.t.Fatal(err)
	}
	m.queue, err = approvals.Open(context.WithoutCancel(f.t.Context()), approvals.Config{
		Store: m.store, Log: log, Digester: d, SealKey: key, People: team(f.t), Redeem: 365 * 24 * time.Hour,
		Member: m.name, Others: f.others, Limits: f.limits,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	m.runs = true
	f.found(m, true)
}

// stop is a death: nothing of the member's says goodbye.
func (f *fleet) stop(m *fleetMember) {
	if !m.runs {
		return
	}
	m.runs = false
	if err := m.queue.Close(); err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) close() {
	for _, m := range f.members {
		f.stop(m)
	}
}

func (f *fleet) enter(m *fleetMember, k string) (*fleetConn, error) {
	x, err := m.queue.Enter(f.t.Context(), caller, named(k))
	if err != nil {
		return nil, err
	}
	c := &fleetConn{x: x, at: m, key: k, waits: make(map[*fleetRequest]*atomic.Bool)}
	f.conns = append(f.conns, c)
	return c, nil
}

func (f *fleet) ask(c *fleetConn, call holdgate.Call) (approvals.Request, error) {
	d := hold(func(d *holdgate.Decision) { d.Rule, d.Hold.Timeout = c.key, 10_000*time.Hour })
	return c.x.RequestApproval(f.t.Context(), approvals.HeldCall{Call: call, Decision: d})
}

// await waits for the end of a request as a connection does.
func (f *fleet) await(c *fleetConn, r *fleetRequest) {
	if c.waits[r] != nil {
		return
	}
	woken := new(atomic.Bool)
	c.waits[r] = woken
	go func() {
		if err := c.x.Await(f.t.Context(), r.shown.ID); err == nil {
			woken.Store(true)
		}
	}()
}

// live reports whether a connection takes part in the exchange, at any member.
func (f *fleet) live(exchange string) bool {
	return slices.ContainsFunc(f.conns, func(c *fleetConn) bool { return !c.stale && c.x.ID() == exchange })
}

func (f *fleet) pending(exchange string) bool {
	return slices.ContainsFunc(f.requests, func(r *fleetRequest) bool {
		return r.shown.Exchange == exchange && r.status == holdgate.StatusPending
	})
}

func (f *fleet) over(exchange string) {
	for _, r := range f.requests {
		if r.shown.Exchange != exchange || r.over {
			continue
		}
		r.over = true
		if r.status == holdgate.StatusPending {
			r.status = holdgate.StatusCancelled
		}
	}
}

// lost takes in that nobody knows what arrived of what a connection used.
func (f *fleet) lost(c *fleetConn) {
	if c.used && !f.pending(c.x.ID()) {
		f.over(c.x.ID())
	}
}

func (f *fleet) conn(t *rapid.T) *fleetConn {
	if len(f.conns) == 0 {
		t.Skip("nobody is connected")
	}
	return rapid.SampledFrom(f.conns).Draw(t, "connection")
}

func (f *fleet) member(t *rapid.T) *fleetMember {
	m := rapid.SampledFrom(f.members).Draw(t, "member")
	if !m.runs {
		t.Skip("it is dead")
	}
	return m
}

func (f *fleet) request(t *rapid.T) *fleetRequest {
	if len(f.requests) == 0 {
		t.Skip("nothing was asked")
	}
	return rapid.SampledFrom(f.requests).Draw(t, "request")
}

// Enter joins what waits and no connection of any member takes part in.
func (f *fleet) Enter(t *rapid.T) {
	m, k := f.member(t), rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key")
	var waiting []string
	for _, r := range f.requests {
		if !r.over && r.key == k && !f.live(r.shown.Exchange) {
			waiting = append(waiting, r.shown.Exchange)
		}
	}
	c, err := f.enter(m, k)
	switch {
	case !m.works && err == nil:
		if slices.Contains(waiting, c.x.ID()) {
			t.Fatalf("a member that was taken for gone has taken up %s", c.x.ID())
		}
		c.stale = true
	case !m.works && !errors.Is(err, members.ErrGone), m.works && err != nil:
		t.Fatal(err)
	case m.works:
		if joined := slices.Contains(waiting, c.x.ID()); joined != (len(waiting) > 0) {
			t.Fatalf("joined: %v, waiting: %q", joined, waiting)
		}
	}
}

// Ask finds the request that still stands for the call, whoever asked, or makes one.
func (f *fleet) Ask(t *rapid.T) {
	c := f.conn(t)
	call := bash(rapid.IntRange(0, 1).Draw(t, "position"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "command"))
	r, err := f.ask(c, call)
	if c.stale {
		if err == nil {
			t.Fatal("a member that was taken for gone has asked")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var stands *fleetRequest
	for _, o := range f.requests {
		same := o.shown.Exchange == c.x.ID() && o.shown.Call.Digest == r.Call.Digest && o.shown.Call.Position == r.Call.Position
		if same && !o.used && o.status != holdgate.StatusCancelled {
			stands = o
		}
	}
	if stands != nil && stands.shown.ID != r.ID {
		t.Fatalf("%s was asked although %s stands for it", r.ID, stands.shown.ID)
	}
	if stands == nil {
		if slices.ContainsFunc(f.requests, func(o *fleetRequest) bool { return o.shown.ID == r.ID }) {
			t.Fatalf("%s came again", r.ID)
		}
		stands = &fleetRequest{shown: r, key: c.key, status: holdgate.StatusPending}
		f.requests = append(f.requests, stands)
	}
	f.await(c, stands)
}

// Vote answers a request at any member.
func (f *fleet) Vote(t *rapid.T) {
	m, r := f.member(t), f.request(t)
	v, status := approve(r.shown, "ana"), holdgate.StatusApproved
	if rapid.Bool().Draw(t, "no") {
		v.Decision, status = holdgate.AnswerDeny, holdgate.StatusDenied
	}
	_, err := m.queue.Decide(f.t.Context(), r.shown.ID, v)
	if may := m.works && r.status == holdgate.StatusPending; may != (err == nil) {
		t.Fatalf("a vote at %s, which works %v, on a request that is %s: %v", m.name, m.works, r.status, err)
	}
	if err == nil {
		r.status = status
	}
}

// Use takes what is approved once, in its own exchange, and only with a member that
// the others find there.
func (f *fleet) Use(t *rapid.T) {
	c, r := f.conn(t), f.request(t)
	err := c.x.Use(f.t.Context(), use(r.shown))
	may := !c.stale && r.status == holdgate.StatusApproved && !r.used && !r.over && r.shown.Exchange == c.x.ID()
	if may != (err == nil) {
		t.Fatalf("using a request that is %s, used %v, over %v, own %v, stale %v: %v", r.status, r.used, r.over, r.shown.Exchange == c.x.ID(), c.stale, err)
	}
	if may {
		r.used, c.used = true, true
	}
}

// Done ends the exchange, unless nothing was used and nothing arrived.
func (f *fleet) Done(t *rapid.T) {
	c, delivered := f.conn(t), rapid.Bool().Draw(t, "delivered")
	err := c.x.Done(f.t.Context(), delivered, "")
	if !c.stale && err != nil {
		t.Fatal(err)
	}
	if !c.stale && (delivered || c.used) {
		f.over(c.x.ID())
	}
	f.disconnect(c)
}

// Leave keeps what waits for the same call, at any member.
func (f *fleet) Leave(t *rapid.T) {
	c := f.conn(t)
	f.disconnect(c)
	if !c.stale {
		f.lost(c)
	}
}

// Again has a client hang up and ask again at once.
func (f *fleet) Again(t *rapid.T) {
	c := f.conn(t)
	if c.stale || c.used || !slices.ContainsFunc(f.requests, func(r *fleetRequest) bool { return !r.over && r.shown.Exchange == c.x.ID() }) {
		t.Skip("nothing of it waits")
	}
	f.disconnect(c)
	again, err := f.enter(c.at, c.key)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.requests, func(r *fleetRequest) bool { return !r.over && r.shown.Exchange == again.x.ID() }) {
		t.Fatalf("a new exchange began, though %s waits", c.x.ID())
	}
}

func (f *fleet) disconnect(c *fleetConn) {
	f.conns = slices.DeleteFunc(f.conns, func(o *fleetConn) bool { return o == c })
	c.x.Leave()
}

// Gone has a member die, or only be taken for dead.
func (f *fleet) Gone(t *rapid.T) {
	m := f.member(t)
	if !m.works || !slices.ContainsFunc(f.members, func(o *fleetMember) bool { return o != m && o.works }) {
		t.Skip("nobody would be left")
	}
	dies := rapid.Bool().Draw(t, "dies")
	if dies {
		f.stop(m)
	}
	f.found(m, false)
	time.Sleep(3 * time.Second) // the others look
	var left []*fleetConn
	for _, c := range f.conns {
		if c.at == m {
			f.lost(c)
			c.stale = true
		}
		if c.at != m || !dies {
			left = append(left, c)
		}
	}
	f.conns = left
}

// Start has one come back.
func (f *fleet) Start(t *rapid.T) {
	m := rapid.SampledFrom(f.members).Draw(t, "member")
	if m.works {
		t.Skip("it works")
	}
	f.stop(m)
	f.conns = slices.DeleteFunc(f.conns, func(c *fleetConn) bool { return c.at == m })
	f.start(m)
}

// stored is a request's exchange as a member reads it.
func (f *fleet) stored(m *fleetMember, r *fleetRequest) (x record.StoredExchange) {
	err := m.store.View(f.t.Context(), func(tx store.Tx) error { return record.Read(tx, record.PrefixExchange+r.shown.Exchange, &x) })
	if err != nil {
		f.t.Fatal(err)
	}
	return x
}

// Check compares all members with the model, and who waits with both.
func (f *fleet) Check(t *rapid.T) {
	synctest.Wait()
	for _, r := range f.requests {
		for _, m := range f.members {
			if !m.runs {
				continue
			}
			if x := f.stored(m, r); x.State.Final() != r.over {
				t.Fatalf("the exchange of request %s is %s, which is over: %v", r.shown.ID, x.State, r.over)
			}
			if got, err := m.queue.Request(f.t.Context(), r.shown.ID); err != nil || got.Status != r.status {
				t.Fatalf("request %s is %s at %s, want %s: %v", r.shown.ID, got.Status, m.name, r.status, err)
			}
		}
	}
	for _, c := range f.conns {
		for r, woken := range c.waits {
			if ended := r.status != holdgate.StatusPending; !c.stale && woken.Load() != ended {
				t.Fatalf("who waits at %s for a request that is %s was woken: %v", c.at.name, r.status, woken.Load())
			}
		}
	}
}

func TestMembersAgreeWithTheirModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		wrap := func(s store.Store) store.Store { return s }
		if rapid.Bool().Draw(rt, "each change runs twice") {
			wrap = storetest.Twice
		}
		n := rapid.IntRange(2, 3).Draw(rt, "members")
		var failed any // rapid fails by a panic, which must not end the bubble's test
		synctest.Test(t, func(t *testing.T) {
			st := teststore.Open(t, t.TempDir())
			f := newFleet(t, slices.Repeat([]store.Store{wrap(st)}, n)...)
			defer func() {
				failed = recover()
				f.close()
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			}()
			rt.Repeat(map[string]func(*rapid.T){
				"enter": f.Enter, "enter too": f.Enter, "ask": f.Ask, "ask too": f.Ask, "vote": f.Vote, "vote too": f.Vote,
				"use": f.Use, "use too": f.Use, "done": f.Done, "leave": f.Leave, "again": f.Again, "gone": f.Gone, "start": f.Start, "": f.Check,
			})
		})
		if failed != nil {
			panic(failed)
		}
	})
}

// What a member was delivering when it died, another one calls unknown; what waits
// there it takes up.
func TestAMemberThatDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := teststore.Open(t, t.TempDir())
		f := newFleet(t, st, st)
		defer func() { f.close(); st.Close() }()
		a, b := f.members[0], f.members[1]
		asked := func(k string) (*fleetConn, *fleetRequest) {
			c, err := f.enter(a, k)
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.ask(c, bash(0, k))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.queue.Decide(t.Context(), r.ID, approve(r, "ana")); err != nil {
				t.Fatal(err)
			}
			return c, &fleetRequest{shown: r}
		}
		c, sending := asked("sending")
		if err := c.x.Use(t.Context(), use(sending.shown)); err != nil {
			t.Fatal(err)
		}
		_, waiting := asked("waiting")
		f.stop(a)
		f.found(a, false)
		time.Sleep(3 * time.Second)
		if x := f.stored(b, sending); x.State != record.StateUnknown {
			t.Errorf("what was being delivered is %s", x.State)
		}
		again, err := f.enter(b, "waiting")
		if err != nil || again.x.ID() != waiting.shown.Exchange {
			t.Fatalf("what waits was not taken up: %v", err)
		}
		if err := again.x.Use(t.Context(), use(waiting.shown)); err != nil {
			t.Error(err)
		}
		again.x.Leave()
		log, err := audit.Open(t.Context(), st, key)
		if err != nil {
			t.Fatal(err)
		}
		results, err := log.Query(t.Context(), audit.Query{RequestID: sending.shown.ID, Type: audit.TypeResult})
		if err != nil || len(results) != 1 || results[0].Note != "unknown: a ended while the call was under way" || results[0].Member != "b" {
			t.Errorf("the log says: %+v, %v", results, err)
		}
	})
}

// Two queues in two processes' stores race for one approval, of which one is taken
// for gone in the middle: one of them lets the call go on, or none.
func TestAnApprovalIsUsedByOneMember(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFleet(t, teststore.Shared(t, dir), teststore.Shared(t, dir))
	t.Cleanup(f.close)
	a, b := f.members[0], f.members[1]
	for round := range 8 {
		k := fmt.Sprint("round ", round)
		c, err := f.enter(a, k)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.ask(c, bash(0, k))
		if err != nil {
			t.Fatal(err)
		}
		woken := make(chan error, 1)
		go func() { woken <- c.x.Await(t.Context(), r.ID) }()
		if _, err := b.queue.Decide(t.Context(), r.ID, approve(r, "ana")); err != nil {
			t.Fatal(err)
		}
		if err := <-woken; err != nil {
			t.Fatal(err)
		}
		var here, there error
		var g sync.WaitGroup
		g.Go(func() { here = c.x.Use(t.Context(), use(r)) })
		g.Go(func() {
			f.found(a, false)
			there = f.takesUp(b, k, r)
		})
		g.Wait()
		if (here == nil) == (there == nil) {
			t.Errorf("round %d: used here: %v, there: %v", round, here, there)
		}
		if here != nil && !errors.Is(here, members.ErrGone) {
			t.Errorf("round %d: the use of the one that was taken for gone: %v", round, here)
		}
		f.stop(a)
		f.start(a)
	}
}

// takesUp enters an exchange until it is free, or the request in it is over, and uses
// the approval there.
func (f *fleet) takesUp(m *fleetMember, k string, r approvals.Request) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		x, err := m.queue.Enter(f.t.Context(), caller, named(k))
		if err != nil {
			return err
		}
		if x.ID() == r.Exchange {
			err := x.Use(f.t.Context(), use(r))
			return errors.Join(err, x.Done(f.t.Context(), true, ""))
		}
		x.Leave()
		var stored record.StoredExchange
		err = m.store.View(f.t.Context(), func(tx store.Tx) error { return record.Read(tx, record.PrefixExchange+r.Exchange, &stored) })
		if err != nil {
			return err
		}
		if stored.State.Final() {
			return fmt.Errorf("the exchange is %s", stored.State)
		}
	}
	return errors.New("the exchange stays with the one that is gone")
}
