package approvals_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

func editing(d *holdgate.Decision) { d.Hold.Allow = []string{"steer", "edit"} }

func edit(r approvals.Request, by, args string) approvals.Vote {
	v := approve(r, by)
	v.Decision, v.Arguments = holdgate.AnswerEdit, json.RawMessage(args)
	return v
}

// editedTo is the call with other arguments, and its digest.
func (b *bench) editedTo(x *approvals.Exchange, c holdgate.Call, args json.RawMessage) (holdgate.Call, holdgate.Digest) {
	b.t.Helper()
	tool := *c.Tool
	tool.Arguments = args
	c.Tool = &tool
	digest, err := x.Digest(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return c, digest
}

func TestAnEditLetsTheEditedCallGoOnAndNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	c := bash(0, "rm -rf /")
	r := b.ask(x, c, hold(editing))
	if !slices.Contains(r.Allow, "edit") {
		t.Fatalf("allowed: %q", r.Allow)
	}
	const args = `{ "command": "rm -rf build", "n": 1.50 }`
	got := b.decide(r, edit(r, "ana", "\n "+args+"\n"))
	o := got.Outcome
	if got.Status != holdgate.StatusApproved || !got.Answered() || o.Decision != holdgate.AnswerEdit || o.By != "ana" || string(o.Arguments) != args || string(got.Votes[0].Arguments) != args {
		t.Errorf("%s: %+v %+v", got.Status, o, got.Votes)
	}
	if string(got.Call.Tool.Arguments) != `{"command":"rm -rf /"}` {
		t.Errorf("what the agent asked for is shown as %s", got.Call.Tool.Arguments)
	}
	x.Leave()
	b.reopen()
	x = b.enter("k")
	defer x.Leave()
	edited, err := x.Edited(t.Context(), r.ID)
	if err != nil || string(edited) != args {
		t.Fatalf("edited to %s: %v", edited, err)
	}
	_, digest := b.editedTo(x, c, edited)
	if err := x.Use(t.Context(), use(r)); !errors.Is(err, approvals.ErrDigest) {
		t.Errorf("the call as the agent asked for it goes on: %v", err)
	}
	if err := x.Use(t.Context(), []approvals.Use{{RequestID: r.ID, Digest: digest}}); err != nil {
		t.Fatal(err)
	}
	entries, err := b.log.Query(t.Context(), audit.Query{RequestID: r.ID})
	if err != nil {
		t.Fatal(err)
	}
	if used := entries[len(entries)-1]; used.Type != audit.TypeUsed || used.Call.Digest != digest {
		t.Errorf("the log says %s of %s", used.Type, used.Call.Digest)
	}
	if ended := entries[len(entries)-2]; !bytes.Contains(ended.Outcome.Arguments, []byte("rm -rf build")) {
		t.Errorf("the log keeps %s", ended.Outcome.Arguments)
	}
	if err := x.Done(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Edited(t.Context(), r.ID); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("what was sent is still there: %v", err)
	}
}

// What policy redacts of an edit is on disk only sealed, and not at all once
// the exchange is over.
func TestAnEditKeepsNoSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	c := bash(0, "login")
	r := b.ask(x, c, hold(editing, func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/password"} }))
	const secret = "hunter2hunter2"
	got := b.decide(r, edit(r, "ana", `{"command":"login","password":"`+secret+`"}`))
	if want := `{"command":"login","password":"[redacted]"}`; string(got.Outcome.Arguments) != want || string(got.Votes[0].Arguments) != want {
		t.Errorf("shown: %s and %s", got.Outcome.Arguments, got.Votes[0].Arguments)
	}
	edited, err := x.Edited(t.Context(), r.ID)
	if err != nil || !bytes.Contains(edited, []byte(secret)) {
		t.Fatalf("edited to %s: %v", edited, err)
	}
	sealed := ""
	b.eachValue(func(key string, value []byte) {
		if bytes.Contains(value, []byte(secret)) {
			t.Errorf("%s holds the secret", key)
		}
		if strings.HasPrefix(key, "edited/") {
			sealed = key
		}
	})
	if sealed == "" {
		t.Error("nothing is sealed")
	}
	_, digest := b.editedTo(x, c, edited)
	if err := errors.Join(x.Use(t.Context(), []approvals.Use{{RequestID: r.ID, Digest: digest}}), x.Done(t.Context(), false, "")); err != nil {
		t.Fatal(err)
	}
	b.eachValue(func(key string, _ []byte) {
		if key == sealed {
			t.Errorf("%s is still there", key)
		}
	})
}

// What policy redacts of the edited call alone is hidden too, and everything
// where policy cannot say.
func TestAnEditBringsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "ghp_hunter2hunter2"
	tests := []struct {
		name, args, want string
		fails            bool
	}{
		{"found", `{"command":"curl -H ` + secret + `","n":1}`, `{"command":"[redacted]","n":1}`, false},
		{"beside what was hidden", `{"command":"` + secret + `","password":"` + secret + `"}`, `{"command":"[redacted]","password":"[redacted]"}`, false},
		{"policy fails", `{"command":"` + secret + `","n":1}`, `"[redacted]"`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.close()
			var asked []holdgate.Call
			b.edit = func(c *approvals.Config) {
				c.Redactions = func(_ context.Context, c holdgate.Call) ([]string, error) {
					asked = append(asked, c)
					if tt.fails {
						return nil, errors.New("no policy")
					}
					return []string{"/tool/arguments/command"}, nil
				}
			}
			b.open()
			x := b.enter("k")
			defer x.Leave()
			r := b.ask(x, bash(0, "curl"), hold(editing, func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/password"} }))
			got := b.decide(r, edit(r, "ana", tt.args))
			if string(got.Outcome.Arguments) != tt.want || string(got.Votes[0].Arguments) != tt.want {
				t.Errorf("shown: %s and %s, want %s", got.Outcome.Arguments, got.Votes[0].Arguments, tt.want)
			}
			encoded := base64.StdEncoding.EncodeToString([]byte(tt.args)) // as a record keeps bytes
			b.eachValue(func(key string, value []byte) {
				if bytes.Contains(value, []byte(secret)) || bytes.Contains(value, []byte(encoded)) {
					t.Errorf("%s holds the secret", key)
				}
			})
			if edited, err := x.Edited(t.Context(), r.ID); err != nil || string(edited) != tt.args {
				t.Errorf("edited to %s: %v", edited, err)
			}
			if len(asked) != 1 {
				t.Fatalf("policy was asked %d times", len(asked))
			}
			c := asked[0]
			if c.Kind != holdgate.KindToolCall || c.Door != caller.Door || c.Session != caller.Session || c.Agent.ID != caller.Agent.ID ||
				c.Agent.Proven != caller.Agent.Proven || c.Tool.Name != "Bash" || string(c.Tool.Arguments) != tt.args {
				t.Errorf("policy was asked about %+v %+v", c, c.Tool)
			}
		})
	}
}

func TestWhatCannotBeEdited(t *testing.T) {
	t.Parallel()
	raw := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", ArgumentsRaw: "[1]"}}
	model := holdgate.Call{Kind: holdgate.KindModelRequest, Model: &holdgate.Model{Name: "m"}}
	tests := []struct {
		name string
		c    holdgate.Call
		d    holdgate.Decision
		args string
		err  error
		says string
	}{
		{"what the rule does not allow", bash(0, "a"), hold(), `{}`, approvals.ErrAnswer, "cannot be edited"},
		{"what is no tool call", model, hold(editing), `{}`, approvals.ErrAnswer, "cannot be edited"},
		{"arguments that are no object", raw, hold(editing), `{}`, approvals.ErrAnswer, "cannot be edited"},
		{"a choice", bash(0, "a"), hold(choice, editing), `{}`, approvals.ErrAnswer, "cannot be edited"},
		{"a call of which something is hidden", bash(0, "a"), hold(editing, func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/command"} }), `{}`, approvals.ErrAnswer, "cannot be edited"},
		{"to what it is", bash(0, "a"), hold(editing), ` {"command" : "a"}`, approvals.ErrAnswer, "no edit"},
		{"to nothing", bash(0, "a"), hold(editing), ``, approvals.ErrAnswer, "JSON object"},
		{"to a list", bash(0, "a"), hold(editing), `[]`, approvals.ErrAnswer, "JSON object"},
		{"to what repeats a key", bash(0, "a"), hold(editing), `{"command":"a","command":"b"}`, approvals.ErrAnswer, "duplicate"},
	}
	b := newBench(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := b.enter(tt.name)
			defer x.Leave()
			r := b.ask(x, tt.c, tt.d)
			_, err := b.queue.Decide(t.Context(), r.ID, edit(r, "ana", tt.args))
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v, %q", err, tt.err, tt.says)
			}
			if got := b.request(r.ID); got.Status != holdgate.StatusPending || len(got.Votes) != 0 {
				t.Errorf("%s with %d votes", got.Status, len(got.Votes))
			}
		})
	}
}

func TestAnEditNeedsWhatAnApprovalNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "a"), hold(editing, func(d *holdgate.Decision) {
		d.Hold.Approvers = holdgate.Approvers{Users: []string{"ada"}, Assurance: "interactive"}
	}))
	good := edit(r, "ada", `{"command":"b"}`)
	for name, spoil := range map[string]func(*approvals.Vote){
		"a digest":     func(v *approvals.Vote) { v.Digest = "" },
		"a right":      func(v *approvals.Vote) { v.By = "bob" },
		"an assurance": func(v *approvals.Vote) { v.Assurance = "text" },
	} {
		v := good
		spoil(&v)
		if _, err := b.queue.Decide(t.Context(), r.ID, v); !errors.Is(err, approvals.ErrDigest) && !errors.Is(err, people.ErrNotEntitled) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if got := b.decide(r, good); got.Status != holdgate.StatusApproved {
		t.Errorf("it is %s", got.Status)
	}
}

// An edit is judged later, when its risk may be another: who gives it is confirmed first,
// whatever the risk of what is edited.
func TestWhoEditsIsConfirmed(t *testing.T) {
	t.Parallel()
	gone := errors.New("their groups give no role any more")
	b := newBench(t)
	b.edit = func(c *approvals.Config) { c.Confirm = func(context.Context, string) error { return gone } }
	b.reopen()
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "rm a.txt"), hold(editing, func(d *holdgate.Decision) { d.Risk = holdgate.RiskLow }))
	if _, err := b.queue.Decide(t.Context(), r.ID, edit(r, "ana", `{"command":"rm -rf /"}`)); !errors.Is(err, gone) {
		t.Errorf("an edit of low risk: %v", err)
	}
	if got := b.decide(r, approve(r, "ana")); got.Status != holdgate.StatusApproved {
		t.Errorf("an approval of low risk asks nobody: it is %s", got.Status)
	}
}

// What policy says of an edit is for those who may make it: others are told why they may not.
func TestPolicyIsAskedAboutEditsOfThoseWhoMayEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	judged := 0
	b.edit = func(c *approvals.Config) {
		c.Judge = func(_ context.Context, c holdgate.Call, _ approvals.Answered) holdgate.Decision {
			if judged++; strings.Contains(string(c.Tool.Arguments), "ledger") {
				return holdgate.Decision{Action: holdgate.Deny, Rule: "custom.ledger", Reason: "nobody may touch it"}
			}
			return holdgate.Decision{Action: holdgate.Hold}
		}
	}
	b.reopen()
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "rm a.txt"), hold(editing, func(d *holdgate.Decision) { d.Hold.Approvers.Users = []string{"ben"} }))
	const refused = `{"command":"rm ledger"}`
	stale := edit(r, "ben", refused)
	stale.Digest = "another"
	for _, tt := range []struct {
		name   string
		vote   approvals.Vote
		want   error
		judged bool
	}{
		{"somebody who may not", edit(r, "ana", refused), people.ErrNotEntitled, false},
		{"somebody unknown", edit(r, "mallory", refused), people.ErrNotEntitled, false},
		{"of another call", stale, approvals.ErrDigest, false},
		{"somebody who may", edit(r, "ben", refused), approvals.ErrEditRefused, true},
	} {
		judged = 0
		_, err := b.queue.Decide(t.Context(), r.ID, tt.vote)
		if !errors.Is(err, tt.want) || strings.Contains(err.Error(), "custom.ledger") != tt.judged || (judged > 0) != tt.judged {
			t.Errorf("%s: %v, and policy was asked %d times", tt.name, err, judged)
		}
		if got := b.request(r.ID); got.Status != holdgate.StatusPending || len(got.Votes) > 0 {
			t.Errorf("%s: the request is %s with %d votes", tt.name, got.Status, len(got.Votes))
		}
	}
}

// An edit has the risk that policy finds in the edited call itself: that its editor's answer
// settles the question does not make it less. Where policy does not see here why the call was
// held, it is not below the call's own.
func TestTheRiskOfAnEditIsThatOfTheEditedCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	found := map[string]holdgate.Risk{"rm a.txt": holdgate.RiskHigh, "rm -rf /": holdgate.RiskCritical, "rm odd": "", "make": holdgate.RiskMedium}
	b.edit = func(c *approvals.Config) {
		c.Judge = func(_ context.Context, c holdgate.Call, a approvals.Answered) holdgate.Decision {
			var args struct{ Command string }
			if err := json.Unmarshal(c.Tool.Arguments, &args); err != nil {
				t.Error(err)
			}
			risk, asks := found[args.Command]
			if !asks || a.By == "ben" {
				return holdgate.Decision{Action: holdgate.Allow}
			}
			return holdgate.Decision{Action: holdgate.Hold, Rule: a.Rule, Risk: risk}
		}
	}
	b.reopen()
	x := b.enter("k")
	defer x.Leave()
	for i, tt := range []struct {
		was  string
		of   holdgate.Risk // the request
		to   string
		want holdgate.Risk
	}{
		{"rm a.txt", holdgate.RiskHigh, "ls", holdgate.RiskLow},
		{"rm a.txt", holdgate.RiskHigh, "make", holdgate.RiskMedium},
		{"rm a.txt", holdgate.RiskHigh, "rm -rf /", holdgate.RiskCritical},
		{"make", holdgate.RiskMedium, "rm a.txt", holdgate.RiskHigh},
		{"make", holdgate.RiskMedium, "rm odd", ""},
		{"rm b.txt", holdgate.RiskHigh, "ls", holdgate.RiskHigh},         // policy lets it go on unchanged here
		{"rm a.txt", holdgate.RiskCritical, "ls", holdgate.RiskCritical}, // it finds less in it
		{"rm a.txt", "", "ls", ""},
	} {
		r := b.ask(x, bash(i, tt.was), hold(editing, func(d *holdgate.Decision) { d.Risk = tt.of }))
		got, err := b.queue.Judge(t.Context(), r.ID, "ben", json.RawMessage(`{"command":"`+tt.to+`"}`))
		if err != nil || got.Action != holdgate.Allow || got.Risk != tt.want {
			t.Errorf("%s (%s) edited to %s: %s of %q risk, want %q: %v", tt.was, tt.of, tt.to, got.Action, got.Risk, tt.want, err)
		}
	}
	r := b.ask(x, bash(99, "rm a.txt"), hold(editing, func(d *holdgate.Decision) {
		d.Risk, d.Also = holdgate.RiskHigh, []holdgate.Finding{{Rule: "tools.changed"}} // which is not seen here
	}))
	if got, err := b.queue.Judge(t.Context(), r.ID, "ben", json.RawMessage(`{"command":"ls"}`)); err != nil || got.Risk != holdgate.RiskHigh {
		t.Errorf("an edit of a call that another rule asks about too: %q risk, %v", got.Risk, err)
	}
}

// What policy says of an edit is told to nobody who may not edit the call.
func TestAVerdictIsForThoseWhoMayEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	judged := 0
	b.edit = func(c *approvals.Config) {
		c.Judge = func(context.Context, holdgate.Call, approvals.Answered) holdgate.Decision {
			judged++
			return holdgate.Decision{Action: holdgate.Hold, Rule: "custom.ledger"}
		}
	}
	b.reopen()
	x := b.enter("k")
	defer x.Leave()
	of := func(d *holdgate.Decision) { d.Hold.Approvers.Users = []string{"ben"} }
	r, unedited := b.ask(x, bash(0, "rm a.txt"), hold(editing, of)), b.ask(x, bash(1, "rm a.txt"), hold(of, func(d *holdgate.Decision) { d.Hold.Allow = []string{"steer"} }))
	for by, want := range map[string]error{"ben": nil, "ana": people.ErrNotEntitled, "mallory": people.ErrNotEntitled, "": people.ErrNotEntitled} {
		judged = 0
		got, err := b.queue.Judge(t.Context(), r.ID, by, json.RawMessage(`{"command":"rm b.txt"}`))
		if !errors.Is(err, want) || (err == nil) != (want == nil) || (got.Rule != "") != (want == nil) || (judged > 0) != (want == nil) {
			t.Errorf("%q is told %q, after %d questions: %v", by, got.Rule, judged, err)
		}
	}
	if _, err := b.queue.Judge(t.Context(), unedited.ID, "ben", json.RawMessage(`{"command":"ls"}`)); !errors.Is(err, approvals.ErrAnswer) {
		t.Errorf("of a call that cannot be edited: %v", err)
	}
}

// Policy is told what is stored of the agent. Where it would refuse the call unchanged too, what
// it says of an edit comes of what is not known, and the edit is judged when it goes on.
func TestAnEditIsRefusedForWhatItChanges(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"owner": "ben", "team": "payments"}
	for _, tt := range []struct {
		name   string
		denies func(holdgate.Call) bool
		want   error
	}{
		{"an agent without its labels", func(c holdgate.Call) bool { return c.Agent.Labels["team"] != "payments" }, nil},
		{"an agent that nothing is proven of", func(c holdgate.Call) bool { return !c.Agent.Undo || c.Agent.Network || c.Agent.Confinement != "strong" }, nil},
		{"what is not known here", func(c holdgate.Call) bool { return c.Tool.Learned == nil }, nil},
		{"what the edit does", func(c holdgate.Call) bool { return strings.Contains(string(c.Tool.Arguments), "b.txt") }, approvals.ErrEditRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var told []holdgate.Agent
			b.edit = func(c *approvals.Config) {
				c.Judge = func(_ context.Context, c holdgate.Call, _ approvals.Answered) holdgate.Decision {
					told = append(told, c.Agent)
					if tt.denies(c) {
						return holdgate.Decision{Action: holdgate.Deny, Rule: "custom.never"}
					}
					return holdgate.Decision{Action: holdgate.Allow}
				}
			}
			b.reopen()
			who := caller
			who.Agent.Labels, who.Agent.Undo = labels, true
			x := b.of(who, "k")
			defer x.Leave()
			r := b.ask(x, bash(0, "rm a.txt"), hold(editing))
			if _, err := b.queue.Decide(t.Context(), r.ID, edit(r, "ana", `{"command":"rm b.txt"}`)); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("the edit: %v, want %v", err, tt.want)
			}
			for _, a := range told {
				if !maps.Equal(a.Labels, labels) || !a.Undo || a.Network {
					t.Errorf("policy is told of %+v", a)
				}
			}
			if len(told) == 0 {
				t.Error("policy was not asked")
			}
		})
	}
}

// askEdited asks about what a request was edited to.
func (b *bench) askEdited(x *approvals.Exchange, c holdgate.Call, d holdgate.Decision, from approvals.Request) approvals.Request {
	b.t.Helper()
	args, err := x.Edited(b.t.Context(), from.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	c, _ = b.editedTo(x, c, args)
	r, err := x.RequestApproval(b.t.Context(), approvals.HeldCall{Call: c, Decision: d, Edited: from.ID})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// Under a quorum the others have seen another call: the edit releases nothing
// by itself, and the edited call is a question in which the editor has voted.
func TestAnEditUnderAQuorumIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	c, d := bash(0, "rm -rf /"), hold(editing, quorum(2))
	first := b.ask(x, c, d)
	b.decide(first, approve(first, "ben"))
	first = b.decide(first, edit(first, "ana", `{"command":"rm -rf build"}`))
	if first.Status != holdgate.StatusApproved || first.Answered() {
		t.Fatalf("%s, answered: %v", first.Status, first.Answered())
	}
	second := b.askEdited(x, c, d, first)
	if second.ID == first.ID || second.EditedFrom != first.ID || second.Status != holdgate.StatusPending {
		t.Fatalf("%s from %q is %s", second.ID, second.EditedFrom, second.Status)
	}
	if len(second.Votes) != 1 || second.Votes[0].By != "ana" || second.Votes[0].Digest != second.Call.Digest {
		t.Errorf("votes: %+v", second.Votes)
	}
	details := strings.Join(second.Briefing.Details, "\n")
	if !strings.Contains(details, "changed by ana") || !strings.Contains(details, "  - command: rm -rf /\n  + command: rm -rf build\n") {
		t.Errorf("the briefing says:\n%s", details)
	}
	if err := x.Use(t.Context(), []approvals.Use{{RequestID: first.ID, Digest: second.Call.Digest}}); !errors.Is(err, approvals.ErrNotApproved) {
		t.Errorf("half a quorum lets the edited call go on: %v", err)
	}
	x.Leave()
	b.reopen()
	x = b.enter("k")
	defer x.Leave()
	if again := b.askEdited(x, c, d, first); again.ID != second.ID {
		t.Errorf("after a crash it is asked as %s, was %s", again.ID, second.ID)
	}
	if _, err := b.queue.Decide(t.Context(), second.ID, approve(second, "ana")); !errors.Is(err, approvals.ErrVoted) {
		t.Errorf("the editor votes twice: %v", err)
	}
	second = b.decide(second, approve(second, "ben"))
	if second.Outcome == nil || second.Outcome.By != "ana, ben" {
		t.Fatalf("%s: %+v", second.Status, second.Outcome)
	}
	if err := x.Use(t.Context(), use(second)); err != nil {
		t.Error(err)
	}
}

// Two people may change a call to and fro: each time it is a new question.
func TestAnEditBackIsANewQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	c, d := bash(0, "a"), hold(editing, quorum(2))
	r := b.ask(x, c, d)
	seen := map[string]bool{}
	for _, to := range []string{"b", "c", "b", "c"} {
		r = b.decide(r, edit(r, "ana", `{"command":"`+to+`"}`))
		r = b.askEdited(x, c, d, r)
		if seen[r.ID] || r.Status != holdgate.StatusPending {
			t.Fatalf("edited to %s it is %s, %s", to, r.ID, r.Status)
		}
		seen[r.ID] = true
	}
}

func TestWhenTheEditorsVoteCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		first  holdgate.Decision
		second holdgate.Decision
		status holdgate.Status
	}{
		{"it counts under the same rule", hold(editing), hold(editing), holdgate.StatusApproved},
		{"it does not count under another rule", hold(editing), hold(editing, func(d *holdgate.Decision) { d.Rule = "other" }), holdgate.StatusPending},
		{"it counts under another rule that was shown", hold(editing, func(d *holdgate.Decision) { d.Also = []holdgate.Finding{{Rule: "other"}} }), hold(editing, func(d *holdgate.Decision) { d.Rule = "other" }), holdgate.StatusApproved},
		{"it does not count where one more rule asks", hold(editing), hold(editing, func(d *holdgate.Decision) { d.Also = []holdgate.Finding{{Rule: "other"}} }), holdgate.StatusPending},
		{"it does not count at another gate", hold(editing), hold(editing, func(d *holdgate.Decision) { d.Hold.Gate = "other" }), holdgate.StatusPending},
		{"it does not count where the editor may not approve", hold(editing), hold(editing, approvers(holdgate.Approvers{Users: []string{"ben"}})), holdgate.StatusPending},
		{"it chooses nothing", hold(editing), hold(editing, choice), holdgate.StatusPending},
	}
	b := newBench(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := b.enter(tt.name)
			defer x.Leave()
			c := bash(0, "a")
			first := b.ask(x, c, tt.first)
			first = b.decide(first, edit(first, "ana", `{"command":"b"}`))
			second := b.askEdited(x, c, tt.second, first)
			if second.Status != tt.status || (len(second.Votes) == 1) != (tt.status == holdgate.StatusApproved) {
				t.Fatalf("%s with votes %+v", second.Status, second.Votes)
			}
			if second.Status == holdgate.StatusApproved {
				if err := x.Use(t.Context(), use(second)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestACallIsOfAnEditOnlyIfItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	y := b.enter("other")
	defer y.Leave()
	c := bash(0, "a")
	r := b.ask(x, c, hold(editing))
	plain := b.ask(x, bash(1, "a"), hold(editing))
	elsewhere := b.ask(y, c, hold(editing))
	b.decide(r, edit(r, "ana", `{"command":"b"}`))
	b.decide(plain, approve(plain, "ana"))
	b.decide(elsewhere, edit(elsewhere, "ana", `{"command":"b"}`))
	for name, q := range map[string]approvals.HeldCall{
		"other arguments":        {Call: bash(0, "c"), Edited: r.ID},
		"the original":           {Call: c, Edited: r.ID, Decision: hold(func(d *holdgate.Decision) { d.Rule = "x" })},
		"what was only approved": {Call: bash(1, "b"), Edited: plain.ID},
		"another exchange":       {Call: bash(0, "b"), Edited: elsewhere.ID},
		"nothing":                {Call: bash(0, "b"), Edited: "nothing"},
	} {
		if got, err := x.RequestApproval(t.Context(), q); err == nil {
			t.Errorf("%s: asked as %s", name, got.ID)
		}
	}
	for _, id := range []string{plain.ID, elsewhere.ID, "nothing"} {
		if args, err := x.Edited(t.Context(), id); !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("edited: %s, %v", args, err)
		}
	}
}

func TestWhatComesWithAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	other := func(d *holdgate.Decision) {
		choice(d)
		d.Hold.Options = append(d.Hold.Options, holdgate.Option{ID: "later", Label: "Do it tomorrow", Effect: "steer"}, holdgate.Option{ID: "other", Label: "Other ...", Other: true})
	}
	with := func(v approvals.Vote, edit func(*approvals.Vote)) func(approvals.Request) approvals.Vote {
		return func(r approvals.Request) approvals.Vote {
			v := v
			if v.Decision != holdgate.AnswerDeny {
				v.Digest = r.Call.Digest
			}
			edit(&v)
			return v
		}
	}
	chosen := func(id, text string) func(approvals.Request) approvals.Vote {
		return func(r approvals.Request) approvals.Vote {
			v := choose(r, "ana", id)
			v.Instructions = text
			return v
		}
	}
	tests := []struct {
		name   string
		d      holdgate.Decision
		vote   func(approvals.Request) approvals.Vote
		err    error
		status holdgate.Status
		want   holdgate.Outcome
	}{
		{"a denial asks to undo", hold(), with(deny("ana"), func(v *approvals.Vote) { v.Rollback = true }), nil, holdgate.StatusDenied, holdgate.Outcome{Decision: "deny", Reason: "no", Rollback: true}},
		{"a denial stops the agent", hold(), with(deny("ana"), func(v *approvals.Vote) { v.Stop = true }), nil, holdgate.StatusDenied, holdgate.Outcome{Decision: "deny", Reason: "no", Stop: true}},
		{"an approval undoes nothing", hold(), with(approve(approvals.Request{}, "ana"), func(v *approvals.Vote) { v.Rollback = true }), approvals.ErrAnswer, holdgate.StatusPending, holdgate.Outcome{}},
		{"an approval stops nothing", hold(), with(approve(approvals.Request{}, "ana"), func(v *approvals.Vote) { v.Stop = true }), approvals.ErrAnswer, holdgate.StatusPending, holdgate.Outcome{}},
		{"an approval has no arguments", hold(), with(approve(approvals.Request{}, "ana"), func(v *approvals.Vote) { v.Arguments = json.RawMessage(`{}`) }), approvals.ErrAnswer, holdgate.StatusPending, holdgate.Outcome{}},
		{"an approval has a message", hold(), with(approve(approvals.Request{}, "ana"), func(v *approvals.Vote) { v.Reason = "mind the cache" }), nil, holdgate.StatusApproved, holdgate.Outcome{Decision: "approve", Reason: "mind the cache"}},
		{"steering is about artifacts", hold(), with(steer("ana", "see there"), func(v *approvals.Vote) { v.Artifacts = []string{"a.go"} }), nil, holdgate.StatusSteered, holdgate.Outcome{Decision: "steer", Instructions: "see there", Artifacts: []string{"a.go"}}},
		{"an option steers", hold(other), chosen("later", ""), nil, holdgate.StatusSteered, holdgate.Outcome{Decision: "choose", Choice: "later", Instructions: "Do it tomorrow"}},
		{"an option of one's own steers", hold(other), chosen("other", " use less \n"), nil, holdgate.StatusSteered, holdgate.Outcome{Decision: "choose", Choice: "other", Instructions: "use less"}},
		{"an option of one's own needs a text", hold(other), chosen("other", " "), approvals.ErrSteerEmpty, holdgate.StatusPending, holdgate.Outcome{}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := b.ask(x, bash(i, "make"), tt.d)
			defer b.resume("ana")
			if _, err := b.queue.Decide(t.Context(), r.ID, tt.vote(r)); !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			got := b.request(r.ID)
			if got.Status != tt.status {
				t.Errorf("status %s, want %s", got.Status, tt.status)
			}
			if got.Outcome == nil {
				return
			}
			tt.want.By, tt.want.At = "ana", got.Outcome.At
			if d := diff(&tt.want, got.Outcome); d != "" {
				t.Errorf("outcome (-want +got):\n%s", d)
			}
		})
	}
}
