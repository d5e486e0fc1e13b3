package approvals_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// writeStateVariable names the file into which TestWriteAState writes everything
// that a queue stores.
//
//	HOLDGATE_WRITE_STATE=testdata/state-2.json go test ./approvals -run TestWriteAState
//
// A file that is there stays as it is: every later version has to open it.
const writeStateVariable = "HOLDGATE_WRITE_STATE"

// A state is what a queue has stored, and what it shows of that once it is opened
// again. Its times are those of a bubble, so that it never grows old.
type state struct {
	Written time.Time                  `json:"written"`
	Stored  []storedPair               `json:"stored"`
	Seen    map[string]json.RawMessage `json:"seen"`
	Names   map[string]string          `json:"names"` // ids by what the test calls them
}

type storedPair struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

var olderCaller = map[string]approvals.Caller{
	"other": {Agent: holdgate.Agent{ID: "claude", Proven: true, Confinement: "strong"}, Session: holdgate.Session{ID: "s2"}, Door: "anthropic"},
	"loose": {Agent: holdgate.Agent{ID: "loose"}, Session: holdgate.Session{ID: "default"}, Door: "openai"},
	"owned": {Agent: holdgate.Agent{ID: "owned", Proven: true, Labels: map[string]string{record.LabelOwner: "ana"}}, Session: holdgate.Session{ID: "s4"}, Door: "anthropic"},
}

// olderAnswer is the sealed answer that is redeemed.
var olderAnswer = approvals.Answer{Status: 200, Body: bytes.Repeat([]byte("what the model said; "), 100), Streamed: true}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// of takes part in an exchange for another caller.
func (b *bench) of(who approvals.Caller, k string) *approvals.Exchange {
	b.t.Helper()
	x, err := b.queue.Enter(b.t.Context(), who, named(k))
	b.must(err)
	return x
}

// fillState does all that leaves something in the store.
func (b *bench) fillState() (names map[string]string) {
	b.t.Helper()
	ctx, q := b.t.Context(), b.queue
	names = map[string]string{}
	b.fillGrants(names)
	b.fillRequests(names)
	b.fillSessions(names)
	b.must(q.Refusals.Keep(ctx, caller, "account", [][]byte{[]byte("refused one"), []byte("refused two")}))
	b.must(q.Find(ctx, caller, &audit.Call{Kind: holdgate.KindHTTPRequest, HTTP: "GET example.com/"}, "it went around"))
	b.must(q.Announce(ctx, record.EventPolicy, audit.Entry{Type: audit.TypePolicy, Note: "another policy"}, nil))
	for i, s := range []tasks.State{tasks.Held, tasks.Asks, tasks.Done, tasks.Theirs} {
		id := "task-" + string(s)
		_, err := q.Tasks.Add(ctx, tasks.Task{ID: id, Owner: "client", State: tasks.Held, Exchange: "e", Call: []byte("the call"), Expires: time.Now().Add(time.Duration(i+1) * time.Hour)})
		b.must(err)
		_, err = q.Tasks.Change(ctx, id, func(t *tasks.Task) error {
			if t.State = s; s != tasks.Held {
				t.Answer, t.Theirs, t.Round = []byte("the answer of "+id), "theirs", i
			}
			return nil
		})
		b.must(err)
	}
	fed, stop := context.WithCancel(ctx)
	n := 0
	err := q.Feed(fed, "webhook", func(approvals.Event) error {
		if n++; n == 3 {
			stop()
			return errCut
		}
		return nil
	})
	if !errors.Is(err, errCut) {
		b.t.Fatal(err)
	}
	b.must(q.SetDelivery(ctx, "webhook", approvals.Delivery{Request: names["voted"], Told: time.Now(), Shown: "a form"}))
	for agent, a := range map[string]agents.Action{"nightly": agents.Pause, "rogue": agents.Stop} {
		q.Agents.Expect(holdgate.Agent{ID: agent})
		_, err := q.Agents.Intervene(ctx, agent, agents.Intervention{Action: a, By: "ana", Reason: "until monday"})
		b.must(err)
	}
	return names
}

// fillGrants fills what people have said once and for all, and of tools.
func (b *bench) fillGrants(names map[string]string) {
	b.t.Helper()
	ctx, q := b.t.Context(), b.queue
	b.must(q.Tools.Learn(ctx, "files", "", []holdgate.Definition{says("read", "one"), says("write", "why")}))
	b.must(q.Tools.Learn(ctx, "files", "", []holdgate.Definition{says("read", "one"), says("write", "something else")}))
	b.must(q.Tools.Learn(ctx, "named", "claude", []holdgate.Definition{says("x", "an agent's word")}))
	b.must(q.Tools.LearnUnread(ctx, "named", "claude", "it is no JSON"))
	names["learned"] = b.learned().ID
	c := page("/srv/other/a.html", "x")
	b.approved(c, taught(c), "ben") // the first lesson of another
	for name, m := range map[string]approvals.Remember{"exact": exactly(), "tool": byAgent(ofTool()), "pattern": fixing("/path", `"src/p.go"`)} {
		c := call("write_file", args{"path": "src/" + name[:1] + ".go", "content": name})
		names[name] = b.granted(c, seen(c, dir), m).ID
	}
	c = call("write_file", args{"path": "src/e.go", "content": "exact"})
	if !b.released(c, seen(c, dir)) {
		b.t.Error("no grant answers")
	}
	c = searching(1, holdgate.ServerTool{Type: "web_search", Name: "search"})
	r := b.asks(c, seen(c, dir, once))
	names["once"] = b.decide(r, approve(r, "ana")).Outcome.Grant
	c = call("mail", args{"to": "a@example.com"})
	revoked, err := q.Grants.Revoke(ctx, b.granted(c, seen(c, dir), exactly()).ID, "ben")
	b.must(err)
	names["revoked"] = revoked.ID
}

// fillRequests fills exchanges and requests in all their states.
func (b *bench) fillRequests(names map[string]string) {
	b.t.Helper()
	ctx, q := b.t.Context(), b.queue
	x := b.enter("redeemed")
	r := b.ask(x, bash(0, "make redeemed"), hold())
	b.must(x.Keep(ctx, olderAnswer))
	x.Leave()
	b.decide(r, approve(r, "ana"))
	names["redeemed"] = r.ID

	x = b.enter("edited")
	r = b.ask(x, bash(0, "rm -rf /"), hold(editing))
	b.decide(r, edit(r, "ana", `{"command":"rm -rf build"}`))
	x.Leave()
	names["edited"] = r.ID

	x = b.enter("many")
	for name, v := range map[string]approvals.Vote{"denied": deny("ana"), "steered": steer("ben", "do less")} {
		r := b.ask(x, bash(len(name), "echo "+name), hold())
		b.decide(r, v)
		names[name] = r.ID
	}
	r = b.ask(x, bash(20, "which way"), hold(choice))
	b.decide(r, choose(r, "ana", r.Options[0].ID))
	r = b.ask(x, bash(21, "never mind"), hold())
	_, err := q.Cancel(ctx, r.ID, "nobody needs it")
	b.must(err)
	result := bash(22, "curl x")
	result.Result = &holdgate.Result{Body: []byte(`{"text":"ignore all"}`), Text: "ignore all"}
	names["result"] = b.ask(x, result, hold()).ID
	r = b.ask(x, bash(23, "both"), hold(quorum(2)))
	b.decide(r, approve(r, "ana"))
	names["voted"] = r.ID
	r = b.ask(x, bash(24, "ben's"), hold(approvers(holdgate.Approvers{Users: []string{"ben"}, Escalate: []holdgate.Escalation{{After: 2 * time.Hour, Users: []string{"ana"}}}})))
	_, err = q.Delegate(ctx, r.ID, "ben", "eve", "on holiday")
	b.must(err)
	names["delegated"] = r.ID
	r = b.ask(x, bash(25, "let me see"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = 12 * time.Hour }))
	_, err = q.Claim(ctx, r.ID, "eve")
	b.must(err)
	names["claimed"] = r.ID
	names["silent"] = b.ask(x, bash(26, "harmless"), hold(silence(20*time.Minute))).ID
	x.Leave()
	owned := b.of(olderCaller["owned"], "owned")
	names["owned"] = b.ask(owned, bash(0, "mine"), hold(approvers(holdgate.Approvers{FourEyes: true}))).ID
	owned.Leave()
	loose := b.of(olderCaller["loose"], "loose")
	names["loud"] = b.ask(loose, bash(0, "loud"), hold(silence(time.Hour), func(d *holdgate.Decision) {
		d.Hold.Required, d.Hold.Message, d.Also = true, "look", []holdgate.Finding{{Rule: "another", Reason: "too", Risk: holdgate.RiskLow}}
	})).ID
	loose.Leave()

	names["lent"] = b.lend("lent", bash(0, "twin"), b.byAna, hold()).ID
	x = b.enter("under way") // for as long as the process lives
	r = b.ask(x, bash(0, "make install"), hold())
	b.decide(r, approve(r, "ana"))
	b.must(x.Use(ctx, use(r)))
	names["under way"] = r.ID
}

// fillSessions fills what is known of sessions, and messages.
func (b *bench) fillSessions(names map[string]string) {
	b.t.Helper()
	ctx, q := b.t.Context(), b.queue
	other, loose := olderCaller["other"], olderCaller["loose"]
	for _, who := range []approvals.Caller{other, loose} {
		q.Agents.Seen(who)
	}
	_, err := q.Sessions.Change(ctx, "claude", "s2", tracks.SessionChange{Setting: &sessions.Setting{Mode: sessions.ModeThreshold, Threshold: 0.8}, Alone: ptr(true)}, "ana")
	b.must(err)
	b.must(q.Sessions.Tighten(ctx, loose, sessions.Setting{Mode: sessions.ModeManual}))
	_, err = q.Sessions.Report(ctx, other, sessions.Report{Score: 0.4, Task: "t1", Source: sessions.SourceAgent, Reasons: []string{"no tests"}, Verification: &sessions.Verification{Tier: 1, Checks: []sessions.Check{{Name: "go vet"}}}, Retries: &sessions.Retries{Count: 1, Max: 3}}, true)
	b.must(err)
	b.must(q.Sessions.Taint(ctx, other, []string{"untrusted", "private"}, "a page"))
	b.must(q.Sessions.Left(ctx, other, "/w/sub"))
	a, err := q.Sessions.GateDecided(ctx, other, "before_review", holdgate.Outcome{Decision: holdgate.AnswerApprove}, true)
	b.must(err)
	names["gate"] = a.Request
	pass := func(g *holdgate.Gate, v holdgate.Answer) approvals.Request {
		x := b.of(other, "gate "+g.Type)
		defer x.Leave()
		r := b.ask(x, holdgate.Call{Kind: holdgate.KindGate, Gate: g}, hold(func(d *holdgate.Decision) { d.Hold.Gate = g.Type }))
		if v != "" {
			b.vote(r, v)
		}
		return r
	}
	pass(&holdgate.Gate{Type: "before_commit", Message: "may I?", Context: json.RawMessage(`{"n":1}`), Artifacts: []string{"plan.md"}}, holdgate.AnswerApprove)
	pass(&holdgate.Gate{Type: "design_review", Message: "is it good?"}, holdgate.AnswerSteer)
	asked, err := q.Sessions.Say(ctx, other, sessions.Message{Type: sessions.MessageQuestion, Content: "which database?"})
	b.must(err)
	names["question"] = pass(&holdgate.Gate{Type: sessions.GateQuestion, Message: "which database?", Context: tracks.About(asked.Seq)}, "").ID
	_, err = q.Sessions.Tell(ctx, sessions.Message{Agent: "claude", Session: "s2", Type: sessions.MessageGuidance, Content: "mind the lexer", From: "ana"})
	b.must(err)
	told, err := q.Sessions.Waiting(ctx, other)
	b.must(err)
	_, err = q.Sessions.Deliver(ctx, other, told, "request")
	b.must(err)
	_, err = q.Sessions.Tell(ctx, sessions.Message{Agent: "claude", Type: sessions.MessageGuidance, Content: "whoever comes next", From: "ben"})
	b.must(err)
	q.Agents.Expect(loose.Agent)
	_, err = q.Agents.Intervene(ctx, "loose", agents.Intervention{Action: agents.Redirect, By: "ana", Instruction: "do the other thing"})
	b.must(err)
	x := b.of(approvals.Caller{Agent: holdgate.Agent{ID: "halted", Proven: true}, Session: holdgate.Session{ID: "h"}, Door: "mcp"}, "diagnostics")
	score := 0.1
	r := b.ask(x, holdgate.Call{Kind: holdgate.KindGate, Gate: &holdgate.Gate{Type: sessions.GateConfidence, Score: &score}},
		hold(func(d *holdgate.Decision) { d.Hold.Gate, d.Hold.Required = sessions.GateDiagnostics, true }))
	x.Leave()
	names["halting"] = r.ID
}

// shownState is what the queue shows of all that it has stored.
func (b *bench) shownState() map[string]json.RawMessage {
	b.t.Helper()
	ctx, q := b.t.Context(), b.queue
	all := map[string]json.RawMessage{}
	put := func(name string, v any, err error) {
		b.t.Helper()
		b.must(err)
		raw, err := json.Marshal(v)
		b.must(err)
		all[name] = raw
	}
	list, err := q.List(ctx, approvals.Filter{})
	put("requests", list, err)
	list, err = q.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
	put("pending", list, err)
	grants, err := q.Grants.List(ctx, "")
	put("grants", grants, err)
	agents, err := q.Agents.List(ctx)
	put("agents", agents, err)
	known, err := q.Sessions.List(ctx, "")
	put("sessions", known, err)
	for _, s := range known {
		m, err := q.Sessions.Messages(ctx, s.Agent, s.ID, 0)
		put("messages of "+s.Agent+"/"+s.ID, m, err)
	}
	put("tools", b.tools(), nil)
	put("unread", q.Tools.Known().Unread("named"), nil)
	tasks, err := q.Tasks.All(ctx)
	put("tasks", tasks, err)
	for _, t := range tasks {
		one, err := q.Tasks.Get(ctx, "client", t.ID)
		put("task "+t.ID, one, err)
	}
	refused, err := q.Refusals.Of(ctx, caller, "account")
	put("refused", refused, err)
	told, err := q.Deliveries(ctx, "webhook")
	put("deliveries", told, err)
	entries, err := b.log.Query(ctx, audit.Query{})
	put("log", entries, err)
	var events []approvals.Event
	soon, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	err = q.Events(soon, 0, func(e approvals.Event) error { events = append(events, e); return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		b.t.Fatal(err)
	}
	put("events", events, nil)
	return all
}

// restore opens a queue over what was stored, a minute after it was.
func (s *state) restore(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.must(b.store.Update(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err := errors.Join(err, tx.Delete(p.Key)); err != nil {
				return err
			}
		}
		for _, p := range s.Stored {
			if err := tx.Set(p.Key, p.Value); err != nil {
				return err
			}
		}
		return nil
	}))
	time.Sleep(time.Until(s.Written.Add(time.Minute)))
	b.reopen()
	return b
}

func TestWriteAState(t *testing.T) {
	t.Parallel()
	path := os.Getenv(writeStateVariable)
	if path == "" {
		t.Skip("writes a fixture where " + writeStateVariable + " is set")
	}
	s := new(state)
	synctest.Test(t, func(t *testing.T) { *s = writtenState(t) })
	synctest.Test(t, func(t *testing.T) { s.Seen = s.restore(t).shownState() })
	raw, err := json.MarshalIndent(s, "", "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func writtenState(t *testing.T) (s state) {
	b := newBench(t)
	s.Names = b.fillState()
	synctest.Wait()
	s.Written = time.Now()
	b.eachValue(func(key string, value []byte) { s.Stored = append(s.Stored, storedPair{key, value}) })
	return s
}

// TestAnOlderStateOpens: what an earlier version wrote is shown as that showed it,
// and can be gone on with.
func TestAnOlderStateOpens(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/state-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no state was written by an earlier version: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s state
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				b := s.restore(t)
				is := b.shownState()
				for name, was := range s.Seen {
					var a, b any
					if err := errors.Join(json.Unmarshal(was, &a), json.Unmarshal(is[name], &b)); err != nil {
						t.Fatal(err)
					}
					counted := cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "similar" }) // it was counted of shapes once
					if d := cmp.Diff(a, b, counted); d != "" {
						t.Errorf("%s (-was +is):\n%s", name, d)
					}
				}
				b.goesOn(s.Names)
			})
		})
	}
}

// goesOn does with a state what is still to be done.
func (b *bench) goesOn(names map[string]string) {
	t := b.t
	ctx, q := t.Context(), b.queue
	x := b.enter("redeemed")
	if got, ok, err := x.Kept(ctx); err != nil || !ok || !cmp.Equal(got, olderAnswer) {
		t.Errorf("kept %v of %d bytes: %v", ok, len(got.Body), err)
	}
	r := b.ask(x, bash(0, "make redeemed"), hold())
	if r.ID != names["redeemed"] || r.Status != holdgate.StatusApproved {
		t.Errorf("it is asked again: %s is %s", r.ID, r.Status)
	}
	b.must(x.Use(ctx, use(r)))
	b.must(x.Done(ctx, true, ""))
	x.Leave()
	x = b.enter("edited")
	edited, err := x.Edited(ctx, names["edited"])
	if err != nil || string(edited) != `{"command":"rm -rf build"}` {
		t.Errorf("edited to %s: %v", edited, err)
	}
	_, digest := b.editedTo(x, bash(0, "rm -rf /"), edited)
	b.must(x.Use(ctx, []approvals.Use{{RequestID: names["edited"], Digest: digest}}))
	x.Leave()
	x = b.atDoor()
	if got := b.borrow(x, twin, holdgate.RiskLow, ""); !slices.Equal(got, []string{names["lent"]}) {
		t.Errorf("borrowed %q", got)
	}
	b.must(useTwin(x, t, names["lent"]))
	x.Leave()
	for _, c := range []holdgate.Call{call("write_file", args{"path": "src/e.go", "content": "exact"}), call("write_file", args{"path": "src/new.go", "content": "tool"})} {
		if !b.released(c, seen(c, dir)) {
			t.Errorf("no grant answers for %s", c.Tool.Arguments)
		}
	}
	c := page("/srv/www/new.html", "x")
	if !b.released(c, taught(c)) {
		t.Error("what was learned is lost")
	}
	c = call("mail", args{"to": "a@example.com"})
	if b.released(c, seen(c, dir)) {
		t.Error("a revoked grant answers")
	}
	r = b.request(names["delegated"])
	if got := b.decide(r, approve(r, "eve")); got.Status != holdgate.StatusApproved {
		t.Errorf("the delegate's vote: %s", got.Status)
	}
	if _, err := q.Decide(ctx, names["voted"], approve(b.request(names["voted"]), "ana")); !errors.Is(err, approvals.ErrVoted) {
		t.Errorf("ana votes twice: %v", err)
	}
	r = b.request(names["voted"])
	b.decide(r, approve(r, "ben"))
	x = b.enter("under way") // it is unknown, and nothing is used twice
	if again := b.ask(x, bash(0, "make install"), hold()); again.ID == names["under way"] || again.Status != holdgate.StatusPending {
		t.Errorf("what was used is asked as %s (%s)", again.ID, again.Status)
	}
	x.Leave()
	if s := b.state("rogue") + b.state("nightly") + b.state("halted"); s != "stoppedpausedrunning" {
		t.Errorf("agents are %s", s)
	}
	b.vote(b.request(names["halting"]), holdgate.AnswerApprove)
	time.Sleep(time.Hour) // the claim lapses, silence approves, the lent approval is too old
	synctest.Wait()
	for name, want := range map[string]holdgate.Status{"claimed": holdgate.StatusPending, "silent": holdgate.StatusApproved, "redeemed": holdgate.StatusApproved, "result": holdgate.StatusExpired} {
		if r := b.request(names[name]); r.Status != want || r.Claim != nil {
			t.Errorf("%s is %s (%+v), want %s", name, r.Status, r.Claim, want)
		}
	}
	if n := len(b.keys("task/")); n != 3 {
		t.Errorf("%d tasks are left", n)
	}
	if head, err := b.log.Head(ctx); err != nil || head.Seq == 0 {
		t.Errorf("the log's head is %+v: %v", head, err)
	}
}

// TestWhatIsStoredHasTheFormsOfBefore: no record has another key, or another field,
// than in the latest state that was written.
func TestWhatIsStoredHasTheFormsOfBefore(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/state-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no state was written by an earlier version: %v", err)
	}
	raw, err := os.ReadFile(slices.Max(files))
	if err != nil {
		t.Fatal(err)
	}
	var was state
	if err := json.Unmarshal(raw, &was); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		is := writtenState(t)
		if d := cmp.Diff(was.forms(), is.forms()); d != "" {
			t.Errorf("records (-was +is):\n%s", d)
		}
	})
}

// forms are the fields of all records, by the first part of their keys.
func (s *state) forms() map[string][]string {
	found := map[string]map[string]bool{}
	for _, p := range s.Stored {
		kind, _, _ := strings.Cut(p.Key, "/")
		if found[kind] == nil {
			found[kind] = map[string]bool{}
		}
		var v any
		if json.Unmarshal(p.Value, &v) != nil {
			v = "bytes"
		}
		fieldsOf(found[kind], strings.Repeat("/", strings.Count(p.Key, "/")), v)
	}
	forms := map[string][]string{}
	for kind, fields := range found {
		forms[kind] = slices.Sorted(maps.Keys(fields))
	}
	return forms
}

func fieldsOf(into map[string]bool, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, o := range v {
			fieldsOf(into, at+"."+name, o)
		}
	case []any:
		for _, o := range v {
			fieldsOf(into, at+"[]", o)
		}
	default:
		into[fmt.Sprintf("%s %T", at, v)] = true
	}
}
