package approvals_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// A bench is a queue over a store on disk that can be closed and opened again.
type bench struct {
	t      *testing.T
	dir    string
	wrap   func(store.Store) store.Store
	edit   func(*approvals.Config)
	store  store.Store
	log    *audit.Log
	queue  *approvals.Queue
	people *people.People
}

var key = bytes.Repeat([]byte{7}, 32)

func newBench(t *testing.T, wrap ...func(store.Store) store.Store) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), people: team(t)}
	if len(wrap) > 0 {
		b.wrap = wrap[0]
	}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *bench) open() {
	b.t.Helper()
	ctx := context.Background()
	b.store = teststore.Open(b.t, b.dir)
	if b.wrap != nil {
		b.store = b.wrap(b.store)
	}
	var err error
	if b.log, err = audit.Open(ctx, b.store, key); err != nil {
		b.t.Fatal(err)
	}
	d, err := holdgate.NewDigester(key)
	if err != nil {
		b.t.Fatal(err)
	}
	c := approvals.Config{Store: b.store, Log: b.log, Digester: d, SealKey: key, People: b.people}
	if b.edit != nil {
		b.edit(&c)
	}
	if b.queue, err = approvals.Open(ctx, c); err != nil {
		b.t.Fatal(err)
	}
	b.queue.Reaches("stage", true)
}

func (b *bench) close() {
	if b.store == nil {
		return
	}
	if err := b.queue.Close(); err != nil {
		b.t.Error(err)
	}
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
	b.store = nil
}

// reopen is what a restart does.
func (b *bench) reopen() {
	b.t.Helper()
	b.close()
	b.open()
}

// team are the people of most tests.
func team(t *testing.T) *people.People {
	t.Helper()
	var all []people.Person
	for _, name := range []string{"ana", "ben", "eve"} {
		all = append(all, people.Person{Name: name, Roles: []string{people.RoleApprove, people.RoleOperate}})
	}
	p, err := people.New("root", all)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var caller = approvals.Caller{
	Agent:   holdgate.Agent{ID: "claude", Proven: true, Confinement: "strong"},
	Session: holdgate.Session{ID: "s1"},
	Door:    "anthropic",
}

func named(k string) func() (holdgate.Digest, error) {
	return func() (holdgate.Digest, error) { return holdgate.Digest("key-" + k), nil }
}

// enter takes part in the exchange named k until the test is over.
func (b *bench) enter(k string) *approvals.Exchange {
	b.t.Helper()
	x, err := b.queue.Enter(b.t.Context(), caller, named(k))
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

func bash(position int, command string) holdgate.Call {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return holdgate.Call{ID: "toolu_1", Kind: holdgate.KindToolCall, Position: position, Tool: &holdgate.Tool{Name: "Bash", Arguments: args}}
}

// hold is a decision that holds; edit changes it.
func hold(edit ...func(*holdgate.Decision)) holdgate.Decision {
	d := holdgate.Decision{
		Action: holdgate.Hold, Rule: "shell.destructive", Reason: "deletes files", Risk: holdgate.RiskMedium, Revision: "r1",
		Hold: holdgate.HoldSpec{Gate: "shell", Kind: holdgate.RequestApproval, Allow: []string{"steer"}},
	}
	for _, e := range edit {
		e(&d)
	}
	return d
}

// ask asks about a call, and has a channel tell people of it where silence may
// approve it.
func (b *bench) ask(x *approvals.Exchange, c holdgate.Call, d holdgate.Decision) approvals.Request {
	b.t.Helper()
	r, err := x.RequestApproval(b.t.Context(), approvals.HeldCall{Call: c, Decision: d})
	if err != nil {
		b.t.Fatal(err)
	}
	if r.OnTimeout == "approve" {
		if err := b.queue.Told(b.t.Context(), r.ID); err != nil {
			b.t.Fatal(err)
		}
	}
	return r
}

func approve(r approvals.Request, by string) approvals.Vote {
	return approvals.Vote{Decision: holdgate.AnswerApprove, By: by, Channel: "cli", Assurance: "local", Digest: r.Call.Digest}
}

func (b *bench) decide(r approvals.Request, v approvals.Vote) approvals.Request {
	b.t.Helper()
	got, err := b.queue.Decide(b.t.Context(), r.ID, v)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func (b *bench) request(id string) approvals.Request {
	b.t.Helper()
	r, err := b.queue.Request(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func use(rs ...approvals.Request) []approvals.Use {
	var uses []approvals.Use
	for _, r := range rs {
		uses = append(uses, approvals.Use{RequestID: r.ID, Digest: r.Call.Digest})
	}
	return uses
}

// audited lists the types of the log's entries about a request, with notes.
func (b *bench) audited(request string) []string {
	b.t.Helper()
	entries, err := b.log.Query(b.t.Context(), audit.Query{RequestID: request})
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		s := string(e.Type)
		if e.Note != "" {
			s += ": " + e.Note
		}
		got = append(got, s)
	}
	return got
}

// eachValue calls fn for everything that the store holds.
func (b *bench) eachValue(fn func(key string, value []byte)) {
	b.t.Helper()
	err := b.store.View(b.t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			fn(p.Key, p.Value)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// newBenchB is a queue to measure.
func newBenchB(b *testing.B) *approvals.Queue {
	b.Helper()
	st := teststore.Open(b, b.TempDir())
	log, err := audit.Open(b.Context(), st, key)
	if err != nil {
		b.Fatal(err)
	}
	d, err := holdgate.NewDigester(key)
	if err != nil {
		b.Fatal(err)
	}
	q, err := approvals.Open(b.Context(), approvals.Config{Store: st, Log: log, Digester: d, SealKey: key})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(q.Close(), st.Close()); err != nil {
			b.Error(err)
		}
	})
	return q
}
