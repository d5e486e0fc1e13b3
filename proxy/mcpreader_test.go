package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store"
)

// getPage is a tool that reads by all that its server says of it.
func getPage(more ...string) string {
	return toolNamed("get_wiki_page", "Gets a page of the wiki.", append([]string{`"inputSchema":{"type":"object","properties":{"title":{"type":"string"},"page":{"type":"integer"}}}`}, more...)...)
}

// frob is a tool of which nothing is known but what its server says.
func frob(text string) string {
	return toolNamed("frob", text, `"inputSchema":{"type":"object","properties":{"level":{"type":"integer"},"note":{"type":"string"}},"additionalProperties":false}`)
}

// A readerGate has a tool server, and a model that calls one tool after the other.
type readerGate struct {
	*sidecar
	server *toolServer
	next   atomic.Pointer[[2]string]
	asked  int
}

func newReaderGate(t *testing.T, opts ...gateOption) *readerGate {
	t.Helper()
	return newReaderGateWith(t, parts{}, opts...)
}

func newReaderGateWith(t *testing.T, p parts, opts ...gateOption) *readerGate {
	t.Helper()
	r := &readerGate{server: &toolServer{}}
	model := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { asking(*r.next.Load()).ServeHTTP(w, req) })
	opts = append([]gateOption{withShippedPolicy(), withMCPBudget(8 * time.Second), annAndBob(t)}, opts...)
	r.sidecar = newGateWith(t, p, map[string]string{"test": newUpstream(t, model)}, map[string]string{"files": newUpstream(t, r.server) + "/mcp"}, opts...)
	return r
}

var asAnn = http.Header{"Holdgate-Token": {annsToken}}

// atServer calls a tool at its server's door, as an agent that has proven who it is.
func (r *readerGate) atServer(tool, arguments string) <-chan string {
	return r.calling(named(tool, arguments), asAnn)
}

// inAnswer has the model call a tool, in the session "s1" of the same agent.
func (r *readerGate) inAnswer(tool, arguments string) <-chan string {
	r.t.Helper()
	r.next.Store(&[2]string{tool, arguments})
	r.asked++
	body := strings.Replace(askPlain, "go", fmt.Sprint("go ", r.asked), 1)
	body = strings.Replace(body, `"messages"`, `"tools":[{"name":"`+tool+`","description":"Gets a page, and only that.","input_schema":{"type":"object"}}],"messages"`, 1)
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+messages, strings.NewReader(body))
	must(r.t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Holdgate-Token": {annsToken}, "X-Session-Id": {"s1"}}
	got := make(chan string, 1)
	go func() {
		resp, err := r.client.Do(req)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		got <- readAll(r.t, resp.Body)
	}()
	return got
}

// passes fails the test where a call does not go on by itself.
func (r *readerGate) passes(what string, got <-chan string) {
	r.t.Helper()
	if out := <-got; !strings.Contains(out, "done") && !strings.Contains(out, `"tool_use"`) {
		r.t.Errorf("%s: %s", what, out)
	}
}

// held returns the rule that asks about a call, and denies it.
func (r *readerGate) held(got <-chan string) string {
	r.t.Helper()
	q := r.pending(1)[0]
	r.answer(q, holdgate.AnswerDeny, "")
	<-got
	return q.Rule
}

func (r *readerGate) heldBy(rule, what string, got <-chan string) {
	r.t.Helper()
	if by := r.held(got); by != rule {
		r.t.Errorf("%s: held by %s, want %s", what, by, rule)
	}
}

func TestAToolThatOnlyReadsPassesWhereItsServerHasSaidSo(t *testing.T) {
	t.Parallel()
	r := newReaderGate(t)
	r.heldBy("tools.unknown", "at the server, before it has listed the tool", r.atServer("get_wiki_page", "{}"))
	r.heldBy("tools.unknown", "in an answer, where only the agent has said what it is", r.inAnswer("mcp__files__get_wiki_page", "{}"))
	r.server.says(getPage(), frob("Gets a page."))
	r.lists(t)
	r.passes("at the server", r.atServer("get_wiki_page", `{"title":"a"}`))
	r.passes("in an answer", r.inAnswer("mcp__files__get_wiki_page", `{"title":"a"}`))
	r.passes("in an answer, by a tool for the tools of all servers", r.inAnswer("use_mcp_tool", `{"server_name":"files","tool_name":"get_wiki_page","arguments":"{\"title\":\"a\"}"}`))
	r.heldBy("tools.unknown", "a name that could be of the agent's own tool", r.inAnswer("get_wiki_page", "{}"))
	r.heldBy("tools.unknown", "a server that is not in the configuration", r.inAnswer("mcp__other__get_wiki_page", "{}"))
	r.heldBy("tools.unknown", "another tool of the server", r.atServer("frob", "{}"))
	r.heldBy("tools.unknown", "an argument that the server has not declared", r.atServer("get_wiki_page", `{"title":"a","more":"b"}`))
	r.heldBy("tools.unknown", "an argument of another type", r.atServer("get_wiki_page", `{"page":"b"}`))
	r.server.says(getPage(`"annotations":{"readOnlyHint":true}`))
	r.lists(t)
	r.heldBy("tools.changed", "at the server, with another definition", r.atServer("get_wiki_page", `{"title":"b"}`))
	r.heldBy("tools.changed", "in an answer, with another definition", r.inAnswer("mcp__files__get_wiki_page", `{"title":"b"}`))
	r.verified()
}

func TestToolsThatOnlyReadCanBeAskedAbout(t *testing.T) {
	t.Parallel()
	for rule, settings := range map[string]string{"tools.unknown": "  mcp: {readers: ask}\n", "profile.strict": "  profile: strict\n", "tools.setting": "  tools: {'files/*': ask}\n"} {
		r := newReaderGate(t, withSettings(t, settings))
		r.server.says(getPage())
		r.lists(t)
		r.heldBy(rule, settings, r.atServer("get_wiki_page", `{"title":"a"}`))
	}
}

// What an agent names on standard streams is no server of the configuration, also
// where it is called as one that comes to be there later.
func TestAServerThatAnAgentNamesIsNoConfiguredOne(t *testing.T) {
	t.Parallel()
	r := newReaderGate(t)
	schema := []byte(`{"type":"object","properties":{}}`)
	list := []holdgate.Definition{{Name: "get_wiki_page", Description: "Gets a page of the wiki.", Schema: schema}}
	must(t, r.queue.Tools.Learn(t.Context(), "files", "ann", list))
	r.heldBy("tools.unknown", "an agent's word", r.atServer("get_wiki_page", "{}"))
	r.server.says(toolNamed("get_wiki_page", "Gets a page of the wiki.", `"inputSchema":`+string(schema)))
	r.lists(t)
	r.passes("once the server itself has said it", r.atServer("get_wiki_page", "{}"))
	list[0].Description = "Gets any page."
	must(t, r.queue.Tools.Learn(t.Context(), "files", "ann", list))
	r.heldBy("tools.changed", "what an agent says later", r.atServer("get_wiki_page", "{}"))
}

func TestARemoteServerIsToldWhatItIsAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, host, hints, rule string
	}{
		{"on this machine, and it says that it passes nothing on", "", `"annotations":{"openWorldHint":false}`, ""},
		{"on this machine", "", `"annotations":{}`, "session.taint"},
		{"remote, whatever it says", "wiki.example", `"annotations":{"openWorldHint":false}`, "session.taint"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names := &nameServer{answer: func(string, int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }}
			r := newReaderGate(t, withNames(names.resolver(t)), func(c *proxy.Config) {
				if tt.host != "" {
					c.MCP["files"] = parseURL(t, strings.Replace(c.MCP["files"].String(), "127.0.0.1", tt.host, 1))
				}
			})
			r.server.says(getPage(tt.hints))
			r.lists(t)
			r.passes("an untainted session", r.atServer("get_wiki_page", `{"title":"a"}`))
			s, err := r.queue.Sessions.Track(t.Context(), "ann", holdgate.SessionDefault)
			must(t, err)
			if got := strings.Join(s.Taint(), " "); (got == "untrusted") != (tt.host != "") {
				t.Errorf("what it brought made the session %q", got)
			}
			who := approvals.Caller{Agent: holdgate.Agent{ID: "ann", Proven: true}, Session: holdgate.Session{ID: holdgate.SessionDefault}}
			must(t, r.queue.Sessions.Taint(t.Context(), who, []string{"untrusted", "private"}, "a test"))
			got := r.atServer("get_wiki_page", `{"title":"b"}`)
			if tt.rule == "" {
				r.passes("a tainted session", got)
				return
			}
			r.heldBy(tt.rule, "a tainted session", got)
		})
	}
}

var always = approvals.Remember{Match: record.Match{Kind: record.MatchTool}, Scope: record.ScopeAgent}

func TestAToolIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	r := newReaderGate(t)
	r.server.says(frob("Turns it."))
	r.lists(t)
	first := r.atServer("frob", `{"level":1}`)
	if q := r.pending(1)[0]; !q.AboutTool || !strings.HasPrefix(always.Words(q), "always allow: every call of files/frob that reaches no further than this one, whatever its arguments, as long as its server says the same of it") {
		t.Errorf("about the tool: %v; %s", q.AboutTool, always.Words(q))
	}
	r.remember(always)
	r.passes("the call that was approved", first)
	r.passes("another argument", r.atServer("frob", `{"note":"x"}`))
	r.passes("in an answer", r.inAnswer("mcp__files__frob", `{"level":2}`))
	r.heldBy("tools.unknown", "an argument that its server does not know", r.atServer("frob", `{"why":"x"}`))
	r.heldBy("tools.unknown", "an address that was not there", r.atServer("frob", `{"note":"https://evil.example/"}`))
	r.heldBy("tools.unknown", "a name that could be of the agent's own tool", r.inAnswer("frob", `{"level":2}`))
	r.heldBy("tools.unknown", "another agent", r.calling(named("frob", `{"level":1}`), http.Header{"Holdgate-Token": {bobsToken}}))

	r.server.says(frob("Turns it, and more."))
	r.lists(t)
	got := r.atServer("frob", `{"level":1}`)
	q := r.pending(1)[0]
	if q.Rule != "tools.changed" || q.AboutTool {
		t.Errorf("a changed definition is held by %s, about the tool: %v", q.Rule, q.AboutTool)
	}
	r.answer(q, holdgate.AnswerApprove, "")
	r.heldBy("tools.unknown", "what was approved was said of another definition", got)
	r.heldBy("tools.unknown", "and is not for the new one", r.atServer("frob", `{"level":1}`))
	r.server.says(frob("Turns it."))
	r.lists(t)
	r.passes("its server says what it said before", r.atServer("frob", `{"level":9}`))
	r.verified()
}

// What was approved of the tool answers no question about what a call touches.
func TestAnApprovalOfAToolIsNoneOfWhatItTouches(t *testing.T) {
	t.Parallel()
	r := newReaderGate(t)
	r.server.says(toolNamed("frob", "Turns it.", `"inputSchema":{"type":"object","properties":{"note":{"type":"string"},"file":{"type":"string"}}}`))
	r.lists(t)
	got := r.atServer("frob", `{"file":"/srv/other/a"}`)
	r.remember(always)
	r.passes("the call that was approved", got)
	if by := r.held(r.atServer("frob", `{"file":"/srv/other/b"}`)); by != "files.outside" {
		t.Errorf("a file elsewhere is held by %s", by)
	}
	r.passes("no file", r.atServer("frob", `{"note":"x"}`))
}

func TestWhatIsKnownOfAToolOutlivesARestart(t *testing.T) {
	t.Parallel()
	before := newReaderGate(t)
	before.server.says(getPage(), frob("Turns it."))
	before.lists(t)
	got := before.atServer("frob", `{"level":1}`)
	before.remember(always)
	before.passes("the call that was approved", got)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	must(t, before.s.Shutdown(ctx))
	must(t, before.queue.Close())

	after := newReaderGateWith(t, parts{store: func(own store.Store) store.Store {
		must(t, own.Close())
		return before.store
	}})
	after.passes("a tool that only reads", after.atServer("get_wiki_page", `{"title":"a"}`))
	after.passes("a tool that was approved", after.atServer("frob", `{"level":2}`))
	after.server.says(frob("Turns it, and more."))
	after.lists(t)
	after.heldBy("tools.changed", "another definition", after.atServer("frob", `{"level":2}`))
}

// A server made with the official Go SDK, whose schemas that writes.
func TestAToolOfTheOfficialSDKThatOnlyReads(t *testing.T) {
	t.Parallel()
	s := gosdk.NewServer(&gosdk.Implementation{Name: "go", Version: "1"}, nil)
	type page struct {
		Title string `json:"title"`
		Page  int    `json:"page,omitempty"`
	}
	type target struct {
		Command string `json:"command"`
	}
	done := &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: "done"}}}
	gosdk.AddTool(s, &gosdk.Tool{Name: "get_wiki_page", Description: "Gets a page."}, func(context.Context, *gosdk.CallToolRequest, page) (*gosdk.CallToolResult, any, error) {
		return done, nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "get_output", Description: "Gets what a command says."}, func(context.Context, *gosdk.CallToolRequest, target) (*gosdk.CallToolResult, any, error) {
		return done, nil, nil
	})
	up := newUpstream(t, gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, nil))
	g := newGateTo(t, nil, map[string]string{"go": up}, withShippedPolicy(), withMCPBudget(8*time.Second))
	client := gosdk.NewClient(&gosdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: g.url + "/mcp/go", HTTPClient: g.client}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	_, err = session.ListTools(t.Context(), nil)
	must(t, err)
	got, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "get_wiki_page", Arguments: page{Title: "a"}})
	must(t, err)
	if got.IsError {
		t.Errorf("a tool that only reads: %+v", got.Content[0])
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "get_output", Arguments: target{Command: "ls"}})
	}()
	g.answer(g.pending(1)[0], holdgate.AnswerDeny, "")
	<-asked
}
