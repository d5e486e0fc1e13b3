package mcpproxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store"
)

// getPage is a tool that reads by all that its server says of it.
func getPage(more ...string) string {
	return proxytest.Tool("get_wiki_page", "Gets a page of the wiki.", append([]string{`"inputSchema":{"type":"object","properties":{"title":{"type":"string"},"page":{"type":"integer"}}}`}, more...)...)
}

// frob is a tool of which nothing is known but what its server says.
func frob(text string) string {
	return proxytest.Tool("frob", text, `"inputSchema":{"type":"object","properties":{"level":{"type":"integer"},"note":{"type":"string"}},"additionalProperties":false}`)
}

// A readerGate has a tool server, and a model that calls one tool after the other.
type readerGate struct {
	*proxytest.Sidecar
	server *proxytest.ToolServer
	next   atomic.Pointer[[2]string]
	asked  int
}

func newReaderGate(t *testing.T, opts ...proxytest.Option) *readerGate {
	t.Helper()
	return newReaderGateWith(t, proxytest.Parts{}, opts...)
}

func newReaderGateWith(t *testing.T, p proxytest.Parts, opts ...proxytest.Option) *readerGate {
	t.Helper()
	r := &readerGate{server: &proxytest.ToolServer{}}
	model := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { proxytest.Asking(*r.next.Load()).ServeHTTP(w, req) })
	opts = append([]proxytest.Option{proxytest.WithShippedPolicy(), proxytest.WithMCPBudget(proxytest.Patience), proxytest.WithAnnAndBob(t)}, opts...)
	r.Sidecar = proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, model)}, map[string]string{"files": proxytest.NewUpstream(t, r.server) + "/mcp"}, opts...)
	return r
}

var asAnn = http.Header{"Holdgate-Token": {proxytest.AnnsToken}}

// atServer calls a tool at its server's door, as an agent that has proven who it is.
func (r *readerGate) atServer(tool, arguments string) <-chan string {
	return calling(r.Sidecar, proxytest.CallOf(tool, arguments), asAnn)
}

// inAnswer has the model call a tool, in the session "s1" of the same agent.
func (r *readerGate) inAnswer(tool, arguments string) <-chan string {
	r.T.Helper()
	r.next.Store(&[2]string{tool, arguments})
	r.asked++
	body := strings.Replace(proxytest.AskPlain, "go", fmt.Sprint("go ", r.asked), 1)
	body = strings.Replace(body, `"messages"`, `"tools":[{"name":"`+tool+`","description":"Gets a page, and only that.","input_schema":{"type":"object"}}],"messages"`, 1)
	req, err := http.NewRequestWithContext(r.T.Context(), http.MethodPost, r.URL+proxytest.Messages, strings.NewReader(body))
	proxytest.Must(r.T, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Holdgate-Token": {proxytest.AnnsToken}, "X-Session-Id": {"s1"}}
	got := make(chan string, 1)
	go func() {
		resp, err := r.Client.Do(req)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		got <- proxytest.ReadAll(r.T, resp.Body)
	}()
	return got
}

// passes fails the test where a call does not go on by itself.
func (r *readerGate) passes(what string, got <-chan string) {
	r.T.Helper()
	if out := <-got; !strings.Contains(out, "done") && !strings.Contains(out, `"tool_use"`) {
		r.T.Errorf("%s: %s", what, out)
	}
}

// held returns the rule that asks about a call, and denies it.
func (r *readerGate) held(got <-chan string) string {
	r.T.Helper()
	q := r.Pending(1)[0]
	answer(r.Sidecar, q, holdgate.AnswerDeny, "")
	<-got
	return q.Rule
}

func (r *readerGate) heldBy(rule, what string, got <-chan string) {
	r.T.Helper()
	if by := r.held(got); by != rule {
		r.T.Errorf("%s: held by %s, want %s", what, by, rule)
	}
}

func TestAToolThatOnlyReadsPassesWhereItsServerHasSaidSo(t *testing.T) {
	t.Parallel()
	r := newReaderGate(t)
	r.heldBy("tools.unknown", "at the server, before it has listed the tool", r.atServer("get_wiki_page", "{}"))
	r.heldBy("tools.unknown", "in an answer, where only the agent has said what it is", r.inAnswer("mcp__files__get_wiki_page", "{}"))
	r.server.Lists(getPage(), frob("Gets a page."))
	r.ListTools(t)
	r.passes("at the server", r.atServer("get_wiki_page", `{"title":"a"}`))
	r.passes("in an answer", r.inAnswer("mcp__files__get_wiki_page", `{"title":"a"}`))
	r.passes("in an answer, by a tool for the tools of all servers", r.inAnswer("use_mcp_tool", `{"server_name":"files","tool_name":"get_wiki_page","arguments":"{\"title\":\"a\"}"}`))
	r.heldBy("tools.unknown", "a name that could be of the agent's own tool", r.inAnswer("get_wiki_page", "{}"))
	r.heldBy("tools.unknown", "a server that is not in the configuration", r.inAnswer("mcp__other__get_wiki_page", "{}"))
	r.heldBy("tools.unknown", "another tool of the server", r.atServer("frob", "{}"))
	r.heldBy("tools.unknown", "an argument that the server has not declared", r.atServer("get_wiki_page", `{"title":"a","more":"b"}`))
	r.heldBy("tools.unknown", "an argument of another type", r.atServer("get_wiki_page", `{"page":"b"}`))
	r.server.Lists(getPage(`"annotations":{"readOnlyHint":true}`))
	r.ListTools(t)
	r.heldBy("tools.changed", "at the server, with another definition", r.atServer("get_wiki_page", `{"title":"b"}`))
	r.heldBy("tools.changed", "in an answer, with another definition", r.inAnswer("mcp__files__get_wiki_page", `{"title":"b"}`))
	r.Verified()
}

func TestToolsThatOnlyReadCanBeAskedAbout(t *testing.T) {
	t.Parallel()
	for rule, settings := range map[string]string{"tools.unknown": "  mcp: {readers: ask}\n", "profile.strict": "  profile: strict\n", "tools.setting": "  tools: {'files/*': ask}\n"} {
		r := newReaderGate(t, proxytest.WithSettings(t, settings))
		r.server.Lists(getPage())
		r.ListTools(t)
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
	proxytest.Must(t, r.Queue.Tools.Learn(t.Context(), "files", "ann", list))
	r.heldBy("tools.unknown", "an agent's word", r.atServer("get_wiki_page", "{}"))
	r.server.Lists(proxytest.Tool("get_wiki_page", "Gets a page of the wiki.", `"inputSchema":`+string(schema)))
	r.ListTools(t)
	r.passes("once the server itself has said it", r.atServer("get_wiki_page", "{}"))
	list[0].Description = "Gets any page."
	proxytest.Must(t, r.Queue.Tools.Learn(t.Context(), "files", "ann", list))
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
			names := &proxytest.NameServer{Answer: func(string, int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }}
			r := newReaderGate(t, proxytest.WithNames(names.Resolver(t)), func(c *proxy.Config) {
				if tt.host != "" {
					c.MCP["files"] = proxytest.ParseURL(t, strings.Replace(c.MCP["files"].String(), "127.0.0.1", tt.host, 1))
				}
			})
			r.server.Lists(getPage(tt.hints))
			r.ListTools(t)
			r.passes("an untainted session", r.atServer("get_wiki_page", `{"title":"a"}`))
			s, err := r.Queue.Sessions.Track(t.Context(), "ann", holdgate.SessionDefault)
			proxytest.Must(t, err)
			if got := strings.Join(s.Taint(), " "); (got == "untrusted") != (tt.host != "") {
				t.Errorf("what it brought made the session %q", got)
			}
			who := approvals.Caller{Agent: holdgate.Agent{ID: "ann", Proven: true}, Session: holdgate.Session{ID: holdgate.SessionDefault}}
			proxytest.Must(t, r.Queue.Sessions.Taint(t.Context(), who, []string{"untrusted", "private"}, "a test"))
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
	r.server.Lists(frob("Turns it."))
	r.ListTools(t)
	first := r.atServer("frob", `{"level":1}`)
	if q := r.Pending(1)[0]; !q.AboutTool || !strings.HasPrefix(always.Words(q), "always allow: every call of files/frob that reaches no further than this one, whatever its arguments, as long as its server says the same of it") {
		t.Errorf("about the tool: %v; %s", q.AboutTool, always.Words(q))
	}
	r.ApproveAndRemember(always)
	r.passes("the call that was approved", first)
	r.passes("another argument", r.atServer("frob", `{"note":"x"}`))
	r.passes("in an answer", r.inAnswer("mcp__files__frob", `{"level":2}`))
	r.heldBy("tools.unknown", "an argument that its server does not know", r.atServer("frob", `{"why":"x"}`))
	r.heldBy("tools.unknown", "an address that was not there", r.atServer("frob", `{"note":"https://evil.example/"}`))
	r.heldBy("tools.unknown", "a name that could be of the agent's own tool", r.inAnswer("frob", `{"level":2}`))
	r.heldBy("tools.unknown", "another agent", calling(r.Sidecar, proxytest.CallOf("frob", `{"level":1}`), http.Header{"Holdgate-Token": {proxytest.BobsToken}}))

	r.server.Lists(frob("Turns it, and more."))
	r.ListTools(t)
	got := r.atServer("frob", `{"level":1}`)
	q := r.Pending(1)[0]
	if q.Rule != "tools.changed" || q.AboutTool {
		t.Errorf("a changed definition is held by %s, about the tool: %v", q.Rule, q.AboutTool)
	}
	answer(r.Sidecar, q, holdgate.AnswerApprove, "")
	r.heldBy("tools.unknown", "what was approved was said of another definition", got)
	r.heldBy("tools.unknown", "and is not for the new one", r.atServer("frob", `{"level":1}`))
	r.server.Lists(frob("Turns it."))
	r.ListTools(t)
	r.passes("its server says what it said before", r.atServer("frob", `{"level":9}`))
	r.Verified()
}

// What was approved of the tool answers no question about what a call touches.
func TestAnApprovalOfAToolIsNoneOfWhatItTouches(t *testing.T) {
	t.Parallel()
	r := newReaderGate(t)
	r.server.Lists(proxytest.Tool("frob", "Turns it.", `"inputSchema":{"type":"object","properties":{"note":{"type":"string"},"file":{"type":"string"}}}`))
	r.ListTools(t)
	got := r.atServer("frob", `{"file":"/srv/other/a"}`)
	r.ApproveAndRemember(always)
	r.passes("the call that was approved", got)
	if by := r.held(r.atServer("frob", `{"file":"/srv/other/b"}`)); by != "files.outside" {
		t.Errorf("a file elsewhere is held by %s", by)
	}
	r.passes("no file", r.atServer("frob", `{"note":"x"}`))
}

func TestWhatIsKnownOfAToolOutlivesARestart(t *testing.T) {
	t.Parallel()
	before := newReaderGate(t)
	before.server.Lists(getPage(), frob("Turns it."))
	before.ListTools(t)
	got := before.atServer("frob", `{"level":1}`)
	before.ApproveAndRemember(always)
	before.passes("the call that was approved", got)
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	proxytest.Must(t, before.Server.Shutdown(ctx))
	proxytest.Must(t, before.Queue.Close())

	after := newReaderGateWith(t, proxytest.Parts{Store: func(own store.Store) store.Store {
		proxytest.Must(t, own.Close())
		return before.Store
	}})
	after.passes("a tool that only reads", after.atServer("get_wiki_page", `{"title":"a"}`))
	after.passes("a tool that was approved", after.atServer("frob", `{"level":2}`))
	after.server.Lists(frob("Turns it, and more."))
	after.ListTools(t)
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
	up := proxytest.NewUpstream(t, gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, nil))
	g := proxytest.NewTo(t, nil, map[string]string{"go": up}, proxytest.WithShippedPolicy(), proxytest.WithMCPBudget(proxytest.Patience))
	client := gosdk.NewClient(&gosdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: g.URL + "/mcp/go", HTTPClient: g.Client}, nil)
	proxytest.Must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	_, err = session.ListTools(t.Context(), nil)
	proxytest.Must(t, err)
	got, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "get_wiki_page", Arguments: page{Title: "a"}})
	proxytest.Must(t, err)
	if got.IsError {
		t.Errorf("a tool that only reads: %+v", got.Content[0])
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "get_output", Arguments: target{Command: "ls"}})
	}()
	answer(g, g.Pending(1)[0], holdgate.AnswerDeny, "")
	<-asked
}
