package model_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

func approve(g *proxytest.Sidecar, r approvals.Request, by string) {
	g.T.Helper()
	_, err := g.Queue.Decide(g.T.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: by, Channel: "cli", Digest: r.Call.Digest})
	proxytest.Must(g.T, err)
}

// peopled has ada and bob approve, so that quorums can be reached.
func peopled(g *proxytest.Sidecar) {
	g.T.Helper()
	p, err := people.New("", []people.Person{{Name: "ada", Roles: []string{people.RoleApprove}}, {Name: "bob", Roles: []string{people.RoleApprove}}})
	proxytest.Must(g.T, err)
	proxytest.Must(g.T, g.Queue.SetPeople(g.T.Context(), p))
}

// asking posts a request and returns what will come of it.
func asking(g *proxytest.Sidecar, path, body string) <-chan string {
	got := make(chan string, 1)
	go func() { got <- proxytest.ReadAll(g.T, g.Post(g.T.Context(), path, body).Body) }()
	return got
}

// used checks that one approval was used, for a call with this digest.
func used(g *proxytest.Sidecar, digest holdgate.Digest) {
	g.T.Helper()
	all := g.Entries(audit.TypeUsed)
	if len(all) != 1 || all[0].Call.Digest != digest {
		g.T.Errorf("used: %+v, want one use of %s", all, digest)
	}
}

func bashDigest(g *proxytest.Sidecar, arguments string) holdgate.Digest {
	g.T.Helper()
	d, err := g.Config.Digester.Tool(&holdgate.Tool{Name: "Bash", Arguments: json.RawMessage(arguments)})
	proxytest.Must(g.T, err)
	return d
}

const (
	chats      = "/up/test/v1/chat/completions"
	chatPlain  = `{"model":"m","messages":[{"role":"user","content":"go"}]}`
	chatStream = `{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`
	chatCall   = `"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"gated\"}"}}]`
)

func TestPromise5WhatAPersonEditedIsWhatIsSent(t *testing.T) {
	t.Parallel()
	const other = `{"command": "ls \"x\"", "n":1.50}`
	const inText = `{\"command\": \"ls \\\"x\\\"\", \"n\":1.50}` // as it stands in a JSON string
	chat := `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,` + chatCall + `},"finish_reason":"tool_calls"}]}`
	chunk := func(delta, finish string) string {
		return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	tests := []struct {
		name, path, ask string
		up              func(*proxytest.Counter) http.Handler
		want            string
	}{
		{"Messages, streamed", proxytest.Messages, proxytest.AskStream, func(c *proxytest.Counter) http.Handler {
			return proxytest.Stream(c, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use"))
		}, `"partial_json":"` + inText + `"`},
		{"Messages, plain", proxytest.Messages, proxytest.AskPlain, func(c *proxytest.Counter) http.Handler { return proxytest.Answer(c, 200, proxytest.GatedPlain) }, `"id":"toolu_1","name":"Bash","input":` + other + `}`},
		{"Chat, streamed", chats, chatStream, func(c *proxytest.Counter) http.Handler {
			return proxytest.Stream(c, chunk(`{"role":"assistant",`+chatCall+`}`, "null"), chunk("{}", `"tool_calls"`), "data: [DONE]\n\n")
		}, `"function":{"name":"Bash","arguments":"` + inText + `"}`},
		{"Chat, plain", chats, chatPlain, func(c *proxytest.Counter) http.Handler { return proxytest.Answer(c, 200, chat) }, `"function":{"name":"Bash","arguments":"` + inText + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, tt.up(&seen))
			got := asking(g, tt.path, tt.ask)
			g.Edit(g.Pending(1)[0], "ann", other, "this is\x1b[2J enough")
			body := <-got
			if !strings.Contains(body, tt.want) || strings.Contains(body, "gated") {
				t.Errorf("the edited call did not come:\n%s", body)
			}
			if want := `(ann) approved the call to Bash with other arguments than you gave: what runs, and its result, are of the edited call, and says: this is[2J enough`; !strings.Contains(body, want) {
				t.Errorf("the agent is not told:\n%s", body)
			}
			used(g, bashDigest(g, other))
			decisions := g.Entries(audit.TypeDecision)
			if last := decisions[len(decisions)-1]; last.Call.Digest != bashDigest(g, other) || !strings.HasPrefix(last.Note, "edited in request ") {
				t.Errorf("the log's last decision is %+v", last)
			}
			g.Verified()
		})
	}
}

// editPolicy looks at what a person has made of the call.
const editPolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "edit.allow"}

command := object.get(input, ["tool", "arguments", "command"], "")

quorum := 2 if contains(command, "grave")

quorum := 1 if not contains(command, "grave")

decision := {"action": "deny", "rule": "edit.deny", "reason": "nobody may do that"} if {
	contains(command, "forbidden")
	input.edited
} else := {"action": "hold", "rule": "edit.other", "reason": "another question", "hold": {"allow": ["steer", "edit"]}} if {
	contains(command, "other")
	not answered("edit.other")
} else := {"action": "hold", "rule": "edit.hold", "reason": "it says gated", "hold": {"allow": ["steer", "edit"], "approvers": {"quorum": quorum}}} if {
	contains(command, "gated")
	not answered("edit.hold")
}

answered(rule) if {
	some a in input.answers
	a.rule == rule
}
`

func bash(command string) string { return `{"command":"` + command + `"}` }

func TestAnEditedCallIsDecidedAgain(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, command string) (*proxytest.Sidecar, <-chan string) {
		g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", command), proxytest.MessageEnd("tool_use")), proxytest.WithPolicy(t, editPolicy))
		peopled(g)
		return g, asking(g, proxytest.Messages, proxytest.AskStream)
	}
	t.Run("a denial of what was made of it wins", func(t *testing.T) {
		g, got := begin(t, "gated")
		g.Edit(g.Pending(1)[0], "ada", bash("gated forbidden"), "")
		if body := <-got; strings.Contains(body, "toolu_1") || !strings.Contains(body, "edit.deny") {
			t.Errorf("the call went on:\n%s", body)
		}
		if n := len(g.Entries(audit.TypeUsed)); n != 0 {
			t.Errorf("%d approvals were used, want none", n)
		}
	})
	t.Run("its editor has answered the question that was asked", func(t *testing.T) {
		g, got := begin(t, "gated")
		g.Edit(g.Pending(1)[0], "ada", bash("gated less"), "")
		if body := <-got; !strings.Contains(body, "gated less") {
			t.Errorf("the edited call did not come:\n%s", body)
		}
		used(g, bashDigest(g, bash("gated less")))
	})
	t.Run("another question that it raises is asked, and earlier answers are void", func(t *testing.T) {
		g, got := begin(t, "other gated")
		first := g.Pending(1)[0]
		approve(g, first, "ada")
		second := g.Pending(1)[0]
		g.Edit(second, "ada", bash("other gated less"), "")
		third := g.Pending(1)[0]
		if first.Rule != "edit.other" || second.Rule != "edit.hold" || third.Rule != "edit.other" || third.EditedFrom != second.ID {
			t.Fatalf("asked under %s, %s and %s", first.Rule, second.Rule, third.Rule)
		}
		approve(g, third, "bob")
		if body := <-got; !strings.Contains(body, "other gated less") {
			t.Errorf("the edited call did not come:\n%s", body)
		}
		for _, e := range g.Entries(audit.TypeUsed) {
			if e.RequestID == first.ID || e.Call.Digest != bashDigest(g, bash("other gated less")) {
				t.Errorf("used: %+v", e)
			}
		}
	})
	t.Run("with a quorum the others are asked about what was made of it", func(t *testing.T) {
		g, got := begin(t, "gated grave")
		first := g.Pending(1)[0]
		g.Edit(first, "ada", bash("gated grave less"), "")
		second := g.Pending(1)[0]
		if second.EditedFrom != first.ID || len(second.Votes) != 1 || second.Votes[0].By != "ada" {
			t.Fatalf("asked anew with %+v", second)
		}
		approve(g, second, "bob")
		if body := <-got; !strings.Contains(body, "gated grave less") {
			t.Errorf("the edited call did not come:\n%s", body)
		}
		used(g, bashDigest(g, bash("gated grave less")))
	})
	t.Run("an editor cannot get around a quorum that only the edited call has", func(t *testing.T) {
		g, got := begin(t, "gated")
		first := g.Pending(1)[0]
		g.Edit(first, "ada", bash("gated grave"), "")
		second := g.Pending(1)[0]
		if second.Approvers.Quorum != 2 || len(second.Votes) != 1 {
			t.Fatalf("asked anew with %+v", second)
		}
		approve(g, second, "bob")
		if body := <-got; !strings.Contains(body, "gated grave") {
			t.Errorf("the edited call did not come:\n%s", body)
		}
		used(g, bashDigest(g, bash("gated grave")))
	})
}

// alsoPolicy has two rules that ask about the same call; one answer is for
// both, but for a call that is grave.
const alsoPolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "also.allow"}

command := object.get(input, ["tool", "arguments", "command"], "")

answered(rule) if {
	some a in input.answers
	rule in array.concat([a.rule], object.get(a, "also", []))
}

decision := {"action": "hold", "rule": "also.first", "reason": "one", "hold": {"allow": ["edit"]}, "also": [{"rule": "also.second", "reason": "two", "risk": "low"} | not grave]} if {
	contains(command, "gated")
	not answered("also.first")
} else := {"action": "hold", "rule": "also.second", "reason": "two", "hold": {"allow": ["edit"], "approvers": {"quorum": 2}}} if {
	contains(command, "gated")
	not answered("also.second")
}

grave if contains(command, "grave")
`

func TestOneAnswerIsForAllTheRulesThatWereShown(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*proxytest.Sidecar, approvals.Request, <-chan string) {
		g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")), proxytest.WithPolicy(t, alsoPolicy))
		peopled(g)
		got := asking(g, proxytest.Messages, proxytest.AskStream)
		return g, g.Pending(1)[0], got
	}
	t.Run("and no second question is asked", func(t *testing.T) {
		g, r, got := begin(t)
		approve(g, r, "ada")
		if body := <-got; !strings.Contains(body, "toolu_1") {
			t.Errorf("the call did not come:\n%s", body)
		}
		if n := len(g.Entries(audit.TypeOutcome)); n != 1 {
			t.Errorf("%d outcomes, want 1", n)
		}
	})
	t.Run("but not for one that an edit made a question of its own", func(t *testing.T) {
		g, r, got := begin(t)
		g.Edit(r, "ada", bash("gated grave"), "")
		second := g.Pending(1)[0]
		if second.Rule != "also.second" || second.Approvers.Quorum != 2 {
			t.Fatalf("asked %+v", second)
		}
		for _, name := range []string{"ada", "bob"} {
			if !slices.ContainsFunc(second.Votes, func(v approvals.Vote) bool { return v.By == name }) {
				approve(g, second, name)
			}
		}
		if body := <-got; !strings.Contains(body, "gated grave") {
			t.Errorf("the call did not come:\n%s", body)
		}
		if n := len(g.Entries(audit.TypeUsed)); n != 2 {
			t.Errorf("%d approvals were used, want 2", n)
		}
	})
}

// The client that asked has gone when people answer; the same request again
// gets what they made of it, and nobody is asked again.
func TestARetryGetsWhatWasMadeOfItsCall(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated grave"), proxytest.MessageEnd("tool_use")), proxytest.WithPolicy(t, editPolicy))
	peopled(g)
	leave := func() {
		ctx, cancel := context.WithCancel(t.Context())
		r := bufio.NewReader(g.Post(ctx, proxytest.Messages, proxytest.AskStream).Body)
		proxytest.Until(t, r, "message_start")
		g.Pending(1)
		cancel()
		g.Noticed()
	}
	leave()
	first := g.Pending(1)[0]
	g.Edit(first, "ada", bash("gated grave less"), "")
	leave() // the second question is asked while it is here
	second := g.Pending(1)[0]
	if second.EditedFrom != first.ID {
		t.Fatalf("asked: %+v", second)
	}
	leave() // and stays when the request comes again
	if again := g.Pending(1)[0]; again.ID != second.ID {
		t.Fatalf("request %s was asked anew as %s", second.ID, again.ID)
	}
	approve(g, second, "bob")
	body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
	if !strings.Contains(body, "gated grave less") {
		t.Errorf("the edited call did not come:\n%s", body)
	}
	if n := len(seen.All()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	used(g, bashDigest(g, bash("gated grave less")))
	g.Verified()
}

func TestEditedRefusedAndAllowedCallsOfOneAnswer(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_a", "gated one"), proxytest.MessageTool("1", "toolu_b", "ls"), proxytest.MessageTool("2", "toolu_c", "gated two"), proxytest.MessageTool("3", "toolu_d", "gated three"), proxytest.MessageEnd("tool_use")))
	got := asking(g, proxytest.Messages, proxytest.AskStream)
	for _, r := range g.Pending(3) {
		switch s := r.Briefing.Summary; {
		case strings.Contains(s, "one"):
			g.Decide(r, holdgate.AnswerDeny, "")
		case strings.Contains(s, "two"):
			g.Edit(r, "ann", bash("edited two"), "")
		default:
			g.Decide(r, holdgate.AnswerApprove, "mind the gap")
		}
	}
	body := <-got
	var order []int
	for _, word := range []string{"denied by the approver", "toolu_b", "with other arguments", "toolu_c", "edited two", "mind the gap", "toolu_d", "gated three", `"stop_reason":"tool_use"`} {
		i := strings.Index(body, word)
		if i < 0 {
			t.Fatalf("no %q in\n%s", word, body)
		}
		order = append(order, i)
	}
	if !slices.IsSorted(order) || strings.Contains(body, "toolu_a") || strings.Contains(body, "gated two") {
		t.Errorf("not in order:\n%s", body)
	}
	if !strings.Contains(body, proxytest.MessageTool("1", "toolu_b", "ls")) || !strings.Contains(body, proxytest.MessageTool("5", "toolu_d", "gated three")) {
		t.Errorf("a call that nobody changed is not what came:\n%s", body)
	}
}

func TestWhatPeopleSayReachesTheAgent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		vote approvals.Vote
		want []string
	}{
		{"an approval with a message", approvals.Vote{Decision: holdgate.AnswerApprove, Reason: "only this once"},
			[]string{"[holdgate] The approver (ann) approved the call to Bash, and says: only this once", "toolu_1"}},
		{"a denial that asks to undo", approvals.Vote{Decision: holdgate.AnswerDeny, Reason: "wrong branch", Rollback: true},
			[]string{"denied by the approver (ann): wrong branch. The approver asks you to undo what you did for this task so far, then stop and tell the user."}},
		{"a denial that ends the task", approvals.Vote{Decision: holdgate.AnswerDeny, Stop: true}, []string{"call no further tools"}},
		{"directions about artifacts", approvals.Vote{Decision: holdgate.AnswerSteer, Instructions: "keep\u202e these", Artifacts: []string{"a.txt", "b\nc"}},
			[]string{`asks for this instead: keep these\nThis is about:\n- a.txt\n- b c`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
			got := asking(g, proxytest.Messages, proxytest.AskStream)
			r := g.Pending(1)[0]
			tt.vote.By, tt.vote.Channel, tt.vote.Digest = "ann", "cli", r.Call.Digest
			_, err := g.Queue.Decide(t.Context(), r.ID, tt.vote)
			proxytest.Must(t, err)
			body := <-got
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("no %q in\n%s", want, body)
				}
			}
		})
	}
}
