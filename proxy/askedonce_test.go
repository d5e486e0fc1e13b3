package proxy_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// An onceGate is a gate between an agent, its model and two MCP servers.
type onceGate struct {
	*proxytest.Sidecar
	t      *testing.T
	answer string // the model's next
	files  proxytest.ToolServer
	notes  proxytest.ToolServer
}

func newOnceGate(t *testing.T, opts ...proxytest.Option) *onceGate {
	t.Helper()
	g := &onceGate{t: t}
	g.files.Lists(proxytest.Tool("remove", "Removes a file."), proxytest.Tool("search", "Searches."))
	g.notes.Lists(proxytest.Tool("search", "Searches, too."))
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxytest.MCPJSON(200, g.answer)(w, r) }))
	g.Sidecar = proxytest.NewTo(t, map[string]string{"test": up},
		map[string]string{"files": proxytest.NewUpstream(t, &g.files) + "/mcp", "notes": proxytest.NewUpstream(t, &g.notes) + "/mcp"},
		append([]proxytest.Option{proxytest.WithMCPBudget(proxytest.Patience)}, opts...)...)
	g.ListTools(t)
	proxytest.ReadAll(t, g.Post(t.Context(), "/mcp/notes", proxytest.ListTools).Body)
	return g
}

// approved lets the model call a tool, which ann decides, and returns the
// request.
func (g *onceGate) approved(id, tool, arguments string, vote func(*approvals.Vote)) approvals.Request {
	g.t.Helper()
	g.answer = proxytest.ModelCalls(id, tool, arguments)
	got := make(chan string, 1)
	go func() {
		got <- proxytest.ReadAll(g.t, g.Post(g.t.Context(), proxytest.Messages, proxytest.AskPlain).Body)
	}()
	r := g.Pending(1)[0]
	v := approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: r.Call.Digest}
	if vote != nil {
		vote(&v)
	}
	_, err := g.Queue.Decide(g.t.Context(), r.ID, v)
	proxytest.Must(g.t, err)
	if out := <-got; !strings.Contains(out, `"tool_use"`) {
		g.t.Fatalf("the model's call was not released: %s", out)
	}
	return r
}

// passes reports whether the call at a server's door goes on without a question
// to people; where it does not, it is denied.
func (g *onceGate) passes(server, call string) bool {
	g.t.Helper()
	got := make(chan string, 1)
	go func() { got <- proxytest.ReadAll(g.t, g.Post(g.t.Context(), "/mcp/"+server, call).Body) }()
	for {
		select {
		case out := <-got:
			return strings.Contains(out, `"done"`)
		case <-time.After(20 * time.Millisecond):
		}
		list, err := g.Queue.List(g.t.Context(), approvals.Filter{Status: holdgate.StatusPending})
		proxytest.Must(g.t, err)
		for _, r := range list {
			g.Decide(r, holdgate.AnswerDeny, "asked again")
		}
	}
}

func TestAnApprovalInAModelsAnswerPassesTheServersDoorOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mcp__files__remove", "remove", "files_remove"} {
		g := newOnceGate(t)
		r := g.approved("toolu_1", name, proxytest.RemoveGated, nil)
		if !strings.Contains(strings.Join(r.Briefing.Why, "\n"), "stands for the tool remove of the MCP server files") {
			t.Errorf("whoever approved was not told: %q", r.Briefing.Why)
		}
		// The agent writes the arguments in its own way.
		if !g.passes("files", proxytest.CallOf("remove", `{"deep": {"a":2.50,"b":1}, "path":"gated"}`)) {
			t.Errorf("%s: asked again", name)
		}
		if g.passes("files", proxytest.CallOf("remove", proxytest.RemoveGated)) {
			t.Errorf("%s: passed twice", name)
		}
		var used []string
		for _, e := range g.Entries(audit.TypeUsed) {
			if e.RequestID != r.ID {
				t.Errorf("another request was used: %+v", e)
			}
			used = append(used, e.Door)
		}
		var results []string
		for _, e := range g.Entries(audit.TypeResult) {
			if e.RequestID == r.ID {
				results = append(results, e.Door+" "+e.Note)
			}
		}
		if !cmp.Equal(used, []string{route.DoorBaseURL, route.DoorMCP}) || !cmp.Equal(results, []string{"base_url spent", "mcp spent"}) {
			t.Errorf("used at %q, with results %q", used, results)
		}
		g.Verified()
	}
}

func TestWhatIsNotTheVeryCallIsAskedAgain(t *testing.T) {
	t.Parallel()
	rename := func(name string) func(*onceGate) {
		return func(g *onceGate) {
			g.files.Lists(proxytest.Tool("remove", name))
			g.ListTools(g.t)
		}
	}
	tests := []struct {
		name, tool, server, call string
		vote                     func(*approvals.Vote)
		between                  func(*onceGate)
		passes                   bool
	}{
		{"the very call", "mcp__files__remove", "files", proxytest.CallOf("remove", proxytest.RemoveGated), nil, nil, true},
		{"other arguments", "mcp__files__remove", "files", proxytest.CallOf("remove", `{"path":"gated"}`), nil, nil, false},
		{"a number written otherwise", "mcp__files__remove", "files", proxytest.CallOf("remove", strings.Replace(proxytest.RemoveGated, "2.50", "2.5", 1)), nil, nil, false},
		{"another tool", "mcp__files__remove", "files", proxytest.CallOf("search", proxytest.RemoveGated), nil, nil, false},
		{"another server", "mcp__files__search", "notes", proxytest.CallOf("search", proxytest.RemoveGated), nil, nil, false},
		{"a name of no server's", "mcp__elsewhere__remove", "files", proxytest.CallOf("remove", proxytest.RemoveGated), nil, nil, false},
		{"a name that two servers have", "search", "files", proxytest.CallOf("search", proxytest.RemoveGated), nil, nil, false},
		{"a name that two servers had", "search", "files", proxytest.CallOf("search", proxytest.RemoveGated), nil, nil, false},
		{"a definition that has changed", "mcp__files__remove", "files", proxytest.CallOf("remove", proxytest.RemoveGated), nil, rename("Removes everything."), false},
		{"a definition that has changed and changed back", "mcp__files__remove", "files", proxytest.CallOf("remove", proxytest.RemoveGated), nil, func(g *onceGate) {
			rename("Removes everything.")(g)
			rename("Removes a file.")(g)
		}, true},
		{"an id of the agent's with other arguments", "mcp__files__remove", "files",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":{"path":"gated"},"_meta":{"claudecode/toolUseId":"toolu_1"}}}`, nil, nil, false},
		{"an id of the agent's that is of no call", "mcp__files__remove", "files",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":` + proxytest.RemoveGated + `,"_meta":{"claudecode/toolUseId":"toolu_9"}}}`, nil, nil, true},
		{"edited, as it was edited", "mcp__files__remove", "files", proxytest.CallOf("remove", `{"path":"gated too"}`),
			func(v *approvals.Vote) { v.Decision, v.Arguments = holdgate.AnswerEdit, []byte(`{"path":"gated too"}`) }, nil, true},
		{"edited, as it was", "mcp__files__remove", "files", proxytest.CallOf("remove", proxytest.RemoveGated),
			func(v *approvals.Vote) { v.Decision, v.Arguments = holdgate.AnswerEdit, []byte(`{"path":"gated too"}`) }, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newOnceGate(t)
			g.approved("toolu_1", tt.tool, proxytest.RemoveGated, tt.vote)
			if tt.between != nil {
				tt.between(g)
			}
			if got := g.passes(tt.server, tt.call); got != tt.passes {
				t.Errorf("passed: %v", got)
			}
		})
	}
}

// oncePolicy decides otherwise at the door of a server.
const oncePolicy = `package holdgate
import rego.v1
default decision := {"action": "allow", "rule": "test.allow"}
decision := {"action": "hold", "rule": "test.hold", "reason": "gated", "risk": "low"} if {
	input.kind == "tool_call"
	not input.tool.server
	not contains(input.tool.arguments.path, "allowed")
} else := data.door.decision if input.tool.server
`

func TestPolicyDecidesAgainAtTheServersDoor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, door string
		passes           bool
	}{
		{"the same question", "x", `{"action": "hold", "rule": "test.hold", "reason": "gated", "risk": "low"}`, true},
		{"a denial wins", "x", `{"action": "deny", "rule": "test.deny", "reason": "no"}`, false},
		{"another question", "x", `{"action": "hold", "rule": "test.other", "reason": "gated"}`, false},
		{"another gate", "x", `{"action": "hold", "rule": "test.hold", "reason": "gated", "hold": {"gate": "door"}}`, false},
		{"a higher risk", "x", `{"action": "hold", "rule": "test.hold", "reason": "gated", "risk": "high"}`, false},
		{"more approvers", "x", `{"action": "hold", "rule": "test.hold", "reason": "gated", "risk": "low", "hold": {"approvers": {"quorum": 2}}}`, false},
		{"what policy allowed in the model's answer", "allowed", `{"action": "hold", "rule": "test.hold", "reason": "gated", "risk": "low"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newOnceGate(t, proxytest.WithPolicy(t, strings.ReplaceAll(oncePolicy, "data.door.decision", tt.door)))
			arguments := `{"path":"` + tt.path + `"}`
			if tt.path == "allowed" {
				g.answer = proxytest.ModelCalls("toolu_1", "mcp__files__remove", arguments)
				proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body)
			} else {
				g.approved("toolu_1", "mcp__files__remove", arguments, nil)
			}
			if got := g.passes("files", proxytest.CallOf("remove", arguments)); got != tt.passes {
				t.Errorf("passed: %v", got)
			}
		})
	}
}
