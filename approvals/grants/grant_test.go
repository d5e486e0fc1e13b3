package grants_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKeeper(t *testing.T) (*grants.Keeper, *record.Book) {
	t.Helper()
	b := recordtest.Book(t, recordtest.Store(t))
	return grants.New(b, 24*time.Hour), b
}

// call is a tool call of a proven agent's.
func call(tool, arguments string) holdgate.Call {
	return holdgate.Call{ID: "toolu_1", Kind: holdgate.KindToolCall, Agent: holdgate.Agent{ID: "ada", Proven: true, Confinement: "strong"},
		Session: holdgate.Session{ID: "s1"}, Door: "anthropic", Tool: &holdgate.Tool{Name: tool, Arguments: json.RawMessage(arguments)}}
}

// asks is a decision that holds a call in a folder.
func asks(t *testing.T, c holdgate.Call, dir string) holdgate.Decision {
	t.Helper()
	f := facts.Extract(t.Context(), c, facts.Options{Dir: dir, Home: "/home/ann", Deadline: time.Minute})
	return holdgate.Decision{Action: holdgate.Hold, Rule: "files.write", Risk: holdgate.RiskMedium, Revision: "r1", Facts: &f,
		Hold: holdgate.HoldSpec{Gate: "files", Kind: holdgate.RequestApproval, Allow: []string{grants.WayRemember}}}
}

// request is the one that such a decision makes.
func request(k *grants.Keeper, c holdgate.Call, d holdgate.Decision) record.StoredRequest {
	return record.StoredRequest{ID: "r1", Kind: d.Hold.Kind, Gate: d.Hold.Gate, Risk: d.Risk, Rule: d.Rule, Agent: c.Agent.ID, Proven: c.Agent.Proven,
		Confinement: c.Agent.Confinement, Session: c.Session.ID, Door: c.Door, Call: record.StoreCall(c, "digest"), Allow: d.Hold.Allow, Timeout: time.Hour, Similarity: k.Similarity(c, d)}
}

var (
	exactly = record.Remember{}
	ofTool  = record.Remember{Match: record.Match{Kind: record.MatchTool}}
	always  = record.Remember{Scope: record.ScopeAgent}
	fixed   = record.Remember{Match: record.Match{Kind: record.MatchPattern, Arguments: map[string]json.RawMessage{"/path": json.RawMessage(`"src/a.go"`)}}}
)

// What was answered about one call, and what comes close to it.
func TestWhatAGrantWouldCover(t *testing.T) {
	t.Parallel()
	const written = `{"path":"src/a.go","content":"one"}`
	who := func(change func(*holdgate.Call)) holdgate.Call {
		c := call("write_file", written)
		change(&c)
		return c
	}
	writes := func(arguments string) holdgate.Call { return call("write_file", arguments) }
	for _, tt := range []struct {
		name  string
		m     record.Remember
		later holdgate.Call
		dir   string
		edit  func(*holdgate.Decision)
		want  bool
	}{
		{"the same", exactly, writes(written), "/w", nil, true},
		{"the same, written otherwise", exactly, writes(`{ "content": "one", "path": "src\/a.go" }`), "/w", nil, true},
		{"other content", exactly, writes(`{"path":"src/a.go","content":"two"}`), "/w", nil, false},
		{"in another folder", exactly, writes(written), "/other", nil, false},
		{"by another agent", exactly, who(func(c *holdgate.Call) { c.Agent.ID = "eve" }), "/w", nil, false},
		{"by its name alone", exactly, who(func(c *holdgate.Call) { c.Agent.Proven = false }), "/w", nil, false},
		{"less confined", exactly, who(func(c *holdgate.Call) { c.Agent.Confinement = "weak" }), "/w", nil, false},
		{"at another door", exactly, who(func(c *holdgate.Call) { c.Door = "openai" }), "/w", nil, true},
		{"in another session", exactly, who(func(c *holdgate.Call) { c.Session.ID = "s2" }), "/w", nil, false},
		{"in another session, for the agent", always, who(func(c *holdgate.Call) { c.Session.ID = "s2" }), "/w", nil, true},
		{"a question of another rule", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Rule = "files.delete" }, false},
		{"of another gate", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Hold.Gate = "deploy" }, false},
		{"of a higher risk", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Risk = holdgate.RiskHigh }, false},
		{"of a lower risk", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Risk = holdgate.RiskLow }, true},
		{"that wants a person each time", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Hold.Required = true }, false},
		{"that is not to be remembered", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Hold.Allow = []string{"steer"} }, false},
		{"that is denied", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Action = holdgate.Deny }, false},
		{"of which nothing is known", exactly, writes(written), "/w", func(d *holdgate.Decision) { d.Facts = nil }, false},
		{"the tool, on the same file", ofTool, writes(`{"path":"src/a.go","content":"two"}`), "/w", nil, true},
		{"the tool, outside of the folder", ofTool, writes(`{"path":"/etc/passwd","content":"one"}`), "/w", nil, false},
		{"another tool", ofTool, call("edit_file", written), "/w", nil, false},
		{"the fixed argument, and other content", fixed, writes(`{"path":"src/a.go","content":"two"}`), "/w", nil, true},
		{"the fixed argument is another", fixed, writes(`{"path":"src/b.go","content":"one"}`), "/w", nil, false},
	} {
		k, b := newKeeper(t)
		made := call("write_file", written)
		r := request(k, made, asks(t, made, "/w"))
		trial, err := k.Try(&r, b.People(), tt.m)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		d := asks(t, tt.later, tt.dir)
		if tt.edit != nil {
			tt.edit(&d)
		}
		if got := trial.Covers(tt.later, d); got != tt.want {
			t.Errorf("%s: covered: %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestWhatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	k, b := newKeeper(t)
	for _, tt := range []struct {
		name string
		c    holdgate.Call
		m    record.Remember
		edit func(*record.StoredRequest)
		says string
	}{
		{"a person is required", call("write_file", `{}`), exactly, func(r *record.StoredRequest) { r.Required = true }, "each time"},
		{"the rule does not let it", call("write_file", `{}`), exactly, func(r *record.StoredRequest) { r.Allow = nil }, "the rule does not let it"},
		{"something went wrong", call("write_file", `{}`), exactly, func(r *record.StoredRequest) { r.Rule = holdgate.RulePolicyError }, "something went wrong"},
		{"nothing is known", call("write_file", `{}`), exactly, func(r *record.StoredRequest) { r.Similarity = nil }, "nothing is known"},
		{"for too long", call("write_file", `{}`), record.Remember{For: 25 * time.Hour}, nil, "the most is"},
		{"too often", call("write_file", `{}`), record.Remember{Uses: record.MaxUses + 1}, nil, "the most is"},
		{"for whom nothing proves", call("write_file", `{}`), always, func(r *record.StoredRequest) { r.Proven = false }, "its own word"},
		{"for a task that nobody knows", call("write_file", `{}`), record.Remember{Scope: record.ScopeTask}, nil, "it is not known on which task"},
		{"for the task of a run that has ended", call("write_file", `{}`), record.Remember{Scope: record.ScopeTask}, func(r *record.StoredRequest) { r.Task, r.RunEnded = "task", &time.Time{} }, "the run that asked has ended"},
		{"any call of a tool that acts", call("Bash", `{"command":"git push"}`), ofTool, nil, "whole tool"},
		{"any call at a high risk", call("write_file", `{"path":"a","content":"b"}`), ofTool, func(r *record.StoredRequest) { r.Risk = holdgate.RiskHigh }, "the risk is high"},
		{"an argument that is not there", call("write_file", `{"content":"b"}`), fixed, nil, "no argument /path"},
		{"an argument of another value", call("write_file", `{"path":"src/b.go"}`), fixed, nil, "something else"},
		{"no argument", call("write_file", `{"path":"a"}`), record.Remember{Match: record.Match{Kind: record.MatchPattern}}, nil, "at least one"},
		{"an endpoint of what is no request", call("write_file", `{}`), record.Remember{Match: record.Match{Kind: record.MatchEndpoint}}, nil, "no HTTP request"},
	} {
		r := request(k, tt.c, asks(t, tt.c, "/w"))
		if tt.edit != nil {
			tt.edit(&r)
		}
		if _, err := k.Try(&r, b.People(), tt.m); !errors.Is(err, record.ErrRemember) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error that says %q", tt.name, err, tt.says)
		}
	}
}

// A grant answers for calls, each use counted, until it is used up, revoked, or its time
// is over.
func TestTheLifeOfAGrant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		m    record.Remember
		ends func(t *testing.T, k *grants.Keeper, id string)
	}{
		{"its uses are over", record.Remember{Uses: 2}, func(*testing.T, *grants.Keeper, string) {}},
		{"it is revoked", record.Remember{}, func(t *testing.T, k *grants.Keeper, id string) {
			if _, err := k.Revoke(t.Context(), id, "nobody"); !errors.Is(err, people.ErrNotEntitled) {
				t.Errorf("revoked by somebody who may not: %v", err)
			}
			g, err := k.Revoke(t.Context(), id, "ana")
			if err != nil || g.RevokedBy != "ana" {
				t.Errorf("revoked: %+v, %v", g, err)
			}
			if _, err := k.Revoke(t.Context(), id, "ana"); !errors.Is(err, grants.ErrNoGrant) {
				t.Errorf("revoked twice: %v", err)
			}
		}},
		{"its time is over", record.Remember{For: time.Hour}, func(*testing.T, *grants.Keeper, string) { time.Sleep(time.Hour) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k, b := newKeeper(t)
				c := call("write_file", `{"path":"src/a.go","content":"one"}`)
				d := asks(t, c, "/w")
				r := recordtest.Ask(t, b, request(k, c, d))
				r.Votes = []record.StoredVote{{Decision: holdgate.AnswerApprove, By: "ana", Channel: "cli", Assurance: "local", Digest: "digest", Remember: &tt.m}}
				id := ""
				must(t, b.Change(t.Context(), func(c *record.Change) (err error) { id, _, err = k.Make(c, r); return err }))
				for use := 1; use <= 2; use++ {
					g, ok, err := k.Granted(t.Context(), c, d, "digest", nil)
					if err != nil || !ok || g.ID != id || g.Uses != use {
						t.Fatalf("use %d: %t, %+v, %v", use, ok, g, err)
					}
				}
				tt.ends(t, k, id)
				if g, ok, err := k.Granted(t.Context(), c, d, "digest", nil); err != nil || ok {
					t.Errorf("after its end: %t, %+v, %v", ok, g, err)
				}
				if list, err := k.List(t.Context(), "ada"); err != nil || len(list) != 0 {
					t.Errorf("listed are %+v, %v", list, err)
				}
			})
		})
	}
}

// A Holdgate that knows no tasks does not take a grant for one for a grant for the session.
func TestAGrantForATaskAsItIsStored(t *testing.T) {
	t.Parallel()
	k, b := newKeeper(t)
	c := call("write_file", `{"path":"src/a.go"}`)
	turns := []string{"tidy up"}
	if k.Task(holdgate.SessionDefault, turns) != "" {
		t.Error("the session of all that name none has tasks")
	}
	r := request(k, c, asks(t, c, "/w"))
	r.Task = k.Task(c.Session.ID, turns)
	asked := recordtest.Ask(t, b, r)
	asked.Votes = []record.StoredVote{{Decision: holdgate.AnswerApprove, By: "ana", Channel: "cli", Assurance: "local", Digest: "digest", Remember: &record.Remember{Scope: record.ScopeTask}}}
	must(t, b.Change(t.Context(), func(c *record.Change) (err error) { _, _, err = k.Make(c, asked); return err }))
	must(t, b.Store.View(t.Context(), func(tx store.Tx) error {
		for pair, err := range tx.Scan("grant/", "") {
			if err != nil {
				return err
			}
			var g struct{ Scope, Session string }
			if err := json.Unmarshal(pair.Value, &g); err != nil || g.Scope != "task" || g.Session == c.Session.ID {
				t.Errorf("stored: %s", pair.Value)
			}
		}
		return nil
	}))
	list, err := k.List(t.Context(), "ada")
	if err != nil || len(list) != 1 || list[0].Session.ID != c.Session.ID {
		t.Errorf("listed: %+v, %v", list, err)
	}
}

// What people answer to one call is counted.
func TestAnswersToOneCallAreCounted(t *testing.T) {
	t.Parallel()
	k, b := newKeeper(t)
	c := call("write_file", `{"path":"src/a.go","content":"one"}`)
	d := asks(t, c, "/w")
	for i, end := range []struct {
		status   holdgate.Status
		decision holdgate.Answer
	}{
		{holdgate.StatusApproved, holdgate.AnswerApprove}, {holdgate.StatusDenied, holdgate.AnswerDeny}, {holdgate.StatusDenied, holdgate.AnswerTimeout},
		{holdgate.StatusSteered, holdgate.AnswerSteer}, {holdgate.StatusApproved, holdgate.AnswerEdit}, {holdgate.StatusCancelled, holdgate.AnswerCancel}, {},
	} {
		r := request(k, c, d)
		r.ID = string(rune('a' + i))
		asked := recordtest.Ask(t, b, r)
		if end.status == "" {
			continue
		}
		must(t, b.Change(t.Context(), func(c *record.Change) error {
			return c.EndRequest(asked, end.status, holdgate.Outcome{Decision: end.decision, By: "ana"}, "")
		}))
	}
	another := request(k, c, d)
	another.ID, another.Status = "z", holdgate.StatusPending
	var got *record.Similar
	must(t, b.Store.View(t.Context(), func(tx store.Tx) (err error) {
		got, err = grants.SimilarTo(tx, &another)
		return err
	}))
	if got == nil || got.Approved != 1 || got.Denied != 1 || got.Steered != 1 || got.Edited != 1 || got.LastBy != "ana" {
		t.Errorf("counted are %+v", got)
	}
}

func TestWhereAPointerLeads(t *testing.T) {
	t.Parallel()
	const arguments = `{"a":{"b":[1,{"c":"x"}],"~/":2},"d":null,"":3}`
	for pointer, want := range map[string]string{
		"/a/b/0": "1", "/a/b/1/c": `"x"`, "/d": "null", "/": "3", "/a/~0~1": "2", "/a/b": `[1,{"c":"x"}]`,
		"": "", "a": "", "/b": "", "/a/b/2": "", "/a/b/00": "", "/a/b/-1": "", "/a/b/x": "", "/d/e": "",
	} {
		got, ok := grants.Argument([]byte(arguments), pointer)
		if string(got) != want && ok || ok != (want != "") {
			t.Errorf("%q leads to %s, %t, want %s", pointer, got, ok, want)
		}
	}
	if _, ok := grants.Argument([]byte(`{"a":1,"a":2}`), "/a"); ok {
		t.Error("of a member that comes twice one was taken")
	}
}
