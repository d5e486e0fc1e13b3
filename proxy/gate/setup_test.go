package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// A policy decides as a test says.
type policy func(in rego.Input) holdgate.Decision

func (p policy) Decide(_ context.Context, in rego.Input) holdgate.Decision { return p(in) }

func (policy) Taint(context.Context, rego.Input) ([]string, error) { return nil, nil }

func allow(rego.Input) holdgate.Decision {
	return holdgate.Decision{Action: holdgate.Allow, Rule: "test.allow"}
}

func deny(rego.Input) holdgate.Decision {
	return holdgate.Decision{Action: holdgate.Deny, Rule: "test.deny", Reason: "no"}
}

// asks holds a call until people have answered each of the rules.
func asks(rules ...string) policy {
	return func(in rego.Input) holdgate.Decision {
		for _, rule := range rules {
			answered := false
			for _, a := range in.Answers {
				answered = answered || a.Rule == rule
			}
			if !answered {
				return holdgate.Decision{Action: holdgate.Hold, Rule: rule}
			}
		}
		return allow(in)
	}
}

// A queue is the door of one whose people a test speaks for.
type queue struct {
	gate.Queue // what no test of this package needs

	err     error // of what is put into it
	useErr  error
	grant   *approvals.Grant
	session session
	edited  json.RawMessage

	mu       sync.Mutex
	status   approvals.AgentStatus
	changed  chan struct{}
	asked    chan approvals.HeldCall
	requests map[string]approvals.Request
	ended    map[string]chan struct{}
	used     []approvals.Use
	entered  int
	done     []string
	found    []string
	remarks  []string
}

func newQueue() *queue {
	return &queue{status: approvals.AgentStatus{State: agents.Running}, changed: make(chan struct{}),
		asked: make(chan approvals.HeldCall, 16), requests: map[string]approvals.Request{}, ended: map[string]chan struct{}{}}
}

func (q *queue) Enter(_ context.Context, _ approvals.Caller, key gate.Key) (gate.Held, error) {
	q.entered++
	if q.err != nil {
		return nil, q.err
	}
	_, err := key()
	return &held{q: q}, err
}

func (q *queue) GoesOn(context.Context, approvals.Caller, func() []string) error { return nil }

func (q *queue) Granted(context.Context, holdgate.Call, holdgate.Decision, holdgate.Digest, func() []string) (approvals.Grant, bool, error) {
	if q.grant == nil {
		return approvals.Grant{}, false, nil
	}
	return *q.grant, true, nil
}

func (*queue) Strained() error { return nil }

func (q *queue) StatusOf(string, string) (approvals.AgentStatus, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.status, q.changed
}

// stands has people let the agent go on, or not.
func (q *queue) stands(state agents.State) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.status = approvals.AgentStatus{State: state, By: "ann"}
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *queue) Track(context.Context, string, string) (gate.Session, error) { return &q.session, nil }

func (*queue) KeepBound(context.Context, approvals.Caller) error { return nil }

func (*queue) Taint(context.Context, approvals.Caller, []string, string) error { return nil }

func (*queue) Left(context.Context, approvals.Caller, string) error { return nil }

func (*queue) Gates() sessions.Gates { return sessions.Gates{} }

func (*queue) GatesNeeded(*sessions.Record) []string { return nil }

// answers has people answer the request that was asked last.
func (q *queue) answers(id string, status holdgate.Status, o holdgate.Outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.requests[id]
	r.Status, r.Outcome = status, &o
	q.requests[id] = r
	close(q.ended[id])
}

func (q *queue) approves(id string) {
	q.answers(id, holdgate.StatusApproved, holdgate.Outcome{Decision: holdgate.AnswerApprove, By: "ann"})
}

// held is an exchange in the queue.
type held struct {
	gate.Held // what no test of this package needs

	q *queue
}

func (*held) ID() string { return "exchange" }

func (*held) Digest(c holdgate.Call) (holdgate.Digest, error) {
	return holdgate.Digest("of " + string(c.Tool.Arguments)), nil
}

func (h *held) RequestApproval(_ context.Context, question approvals.HeldCall) (approvals.Request, error) {
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	if h.q.err != nil {
		return approvals.Request{}, h.q.err
	}
	id := question.Decision.Rule
	r, asked := h.q.requests[id]
	if !asked {
		r = approvals.Request{ID: id, Rule: id, Status: holdgate.StatusPending, Approvers: question.Decision.Hold.Approvers}
		h.q.requests[id], h.q.ended[id] = r, make(chan struct{})
		h.q.asked <- question
	}
	return r, nil
}

func (h *held) Await(ctx context.Context, id string) error {
	h.q.mu.Lock()
	ended := h.q.ended[id]
	h.q.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *held) Wait(_ context.Context, id string) (approvals.Request, error) {
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	return h.q.requests[id], nil
}

func (h *held) Edited(context.Context, string) (json.RawMessage, error) { return h.q.edited, nil }

func (h *held) Use(_ context.Context, uses []approvals.Use) error {
	if h.q.useErr == nil {
		h.q.used = append(h.q.used, uses...)
	}
	return h.q.useErr
}

func (h *held) Done(_ context.Context, _ bool, note string) error {
	h.q.done = append(h.q.done, note)
	return nil
}

func (*held) Leave() {}

// A session has shown nothing.
type session struct{}

func (*session) Record() *sessions.Record                             { return &sessions.Record{} }
func (*session) Setting() sessions.Setting                            { return sessions.Setting{} }
func (*session) Taint() []string                                      { return nil }
func (*session) Counts() sessions.Counts                              { return sessions.Counts{} }
func (*session) Results() sessions.Results                            { return "" }
func (*session) Ended(sessions.Results)                               {}
func (*session) Decided(holdgate.Action)                              {}
func (*session) Usage() holdgate.Usage                                { return holdgate.Usage{} }
func (*session) Used(holdgate.Usage, bool)                            {}
func (*session) Converses(bool) bool                                  { return true }
func (*session) Called(holdgate.Digest, time.Time) (same, lately int) { return 1, 1 }

// unlearned knows no tool.
type unlearned struct{}

func (unlearned) Learned(*holdgate.Tool) *holdgate.Learned { return nil }

// synced counts the writes that survive the machine, and those that survive the process
// alone until a little later.
type synced struct {
	store.Store
	now, soon int
}

func (s *synced) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.now++
	return s.Store.Update(ctx, fn)
}

func (s *synced) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	s.soon++
	return s.Store.UpdateSoon(ctx, fn)
}

// A setup is a gate between a policy and a queue, with a real log.
type setup struct {
	t    *testing.T
	st   *synced
	g    *gate.Gate
	q    *queue
	log  *audit.Log
	from gate.From
}

func newSetup(t *testing.T, p policy, change ...func(*gate.Config)) *setup {
	t.Helper()
	st := &synced{Store: teststore.Open(t, filepath.Join(t.TempDir(), "db"))}
	t.Cleanup(func() { _ = st.Close() })
	key := bytes.Repeat([]byte{7}, 32)
	log, err := audit.Open(t.Context(), st, key)
	must(t, err)
	digester, err := holdgate.NewDigester(key)
	must(t, err)
	s := &setup{t: t, st: st, q: newQueue(), log: log}
	st.now, st.soon = 0, 0
	s.from = gate.From{Caller: approvals.Caller{Agent: holdgate.Agent{ID: "ada"}, Session: holdgate.Session{ID: "one"}, Door: "test"}}
	c := gate.Config{Policy: p, Queue: s.q, Catalog: unlearned{}, Log: log, Digester: digester,
		Logger: slog.New(slog.DiscardHandler), Deciders: func() []netip.AddrPort { return nil }}
	for _, f := range change {
		f(&c)
	}
	s.g = gate.New(t.Context(), c)
	return s
}

// begin begins an exchange, and the evaluation of a call in it.
func (s *setup) begin() (*gate.Exchange, *gate.Evaluation) {
	x := s.g.Begin(s.from, func() (holdgate.Digest, error) { return "key", nil })
	return x, &gate.Evaluation{Call: s.from.Call(holdgate.Call{
		Kind: holdgate.KindToolCall, ID: "call", Tool: &holdgate.Tool{Name: "run", Arguments: []byte(`{"n":1}`)}})}
}

// asked waits until people are asked, and returns what.
func (s *setup) asked() approvals.HeldCall {
	s.t.Helper()
	select {
	case q := <-s.q.asked:
		return q
	case <-time.After(3 * time.Minute):
		s.t.Fatal("nobody was asked")
		return approvals.HeldCall{}
	}
}

// decisions are the actions and rules in the log.
func (s *setup) decisions() (list []string) {
	s.t.Helper()
	entries, err := s.log.Query(s.t.Context(), audit.Query{Type: audit.TypeDecision})
	must(s.t, err)
	for _, e := range entries {
		list = append(list, e.Decision.Action.String()+" "+e.Decision.Rule)
	}
	return list
}

// inLine waits for as long as the test lasts.
func inLine(ctx context.Context) (waiting context.Context, end func(), err error) {
	return ctx, func() {}, nil
}

var errDown = errors.New("the store is down")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
