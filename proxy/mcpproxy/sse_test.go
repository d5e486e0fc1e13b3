package mcpproxy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
)

func TestTheOlderTransportIsGatedOnBothRoads(t *testing.T) {
	t.Parallel()
	for _, road := range []string{"door", "forward proxy"} {
		t.Run(road, func(t *testing.T) {
			g, o, up := proxytest.NewOldMCP(t, proxytest.WithIdle(15*time.Millisecond))
			c, url := g.Client, g.URL+"/mcp/old"
			if road == "forward proxy" {
				c, url = g.Proxied(), up+"/sse"
			}
			stream, endpoint := g.OpenStream(t.Context(), c, url)
			if inside := strings.HasPrefix(endpoint, g.URL+mcpproxy.EndpointPath); inside != (road == "door") {
				t.Fatalf("the endpoint is %s", endpoint)
			}
			// What policy allows passes, and is answered on the stream.
			if status, body := g.SendMessage(c, endpoint, proxytest.ToolCall("1", "x")); status != 202 || body != "Accepted" {
				t.Errorf("status %d: %s", status, body)
			}
			proxytest.Until(t, stream, "data: "+proxytest.ToolResult+"\n")
			// What it denies is refused there.
			if status, _ := g.SendMessage(c, endpoint, proxytest.ToolCall("2", "forbidden")); status != 202 {
				t.Errorf("status %d", status)
			}
			if text := proxytest.Until(t, stream, "test.deny"); !strings.Contains(text, `"id":2,"result"`) {
				t.Errorf("got %s", text)
			}
			// What is held is accepted at once, kept in line, and then answered there.
			if status, _ := g.SendMessage(c, endpoint, proxytest.ToolCall("3", "gated")); status != 202 {
				t.Errorf("status %d", status)
			}
			proxytest.Until(t, stream, `"progressToken":"p1","progress":2,`)
			if n := len(o.Seen.All()); n != 1 {
				t.Fatalf("%d messages reached the server", n)
			}
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "fine by me")
			if text := proxytest.Until(t, stream, "\"done\""); !strings.Contains(text, "data: {") {
				t.Errorf("got %s", text)
			}
			if got := o.Seen.All(); len(got) != 2 || got[1] != proxytest.ToolCall("3", "gated") {
				t.Errorf("the server got %q", got)
			}
			g.Verified()
		})
	}
}

func TestAnOldClientThatWaitsTooLongIsToldOnItsStream(t *testing.T) {
	t.Parallel()
	g, o, _ := proxytest.NewOldMCP(t, proxytest.WithMCPBudget(50*time.Millisecond))
	stream, endpoint := g.OpenStream(t.Context(), g.Client, g.URL+"/mcp/old")
	g.SendMessage(g.Client, endpoint, proxytest.ToolCall("1", "gated"))
	proxytest.Until(t, stream, "again with the same arguments")
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	stream, endpoint = g.OpenStream(t.Context(), g.Client, g.URL+"/mcp/old") // another session
	g.SendMessage(g.Client, endpoint, proxytest.ToolCall("1", "gated"))
	proxytest.Until(t, stream, `"done"`)
	if n := len(o.Seen.All()); n != 1 {
		t.Errorf("run %d times", n)
	}
}

func TestEndpointsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	for _, names := range []string{"http://127.0.0.1:1/messages", "//elsewhere.example/messages", "http://[::1"} {
		g, o, _ := proxytest.NewOldMCP(t)
		o.Names = func(string) string { return names }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/mcp/old", nil)
		proxytest.Must(t, err)
		req.Header.Set("Accept", "text/event-stream")
		resp, err := g.Client.Do(req)
		proxytest.Must(t, err)
		if text := proxytest.ReadAll(t, resp.Body); strings.Contains(text, "endpoint") {
			t.Errorf("%s is passed on: %s", names, text)
		}
		resp.Body.Close()
		if n := len(g.Refusals()); n != 1 {
			t.Errorf("%s: %d refusals are logged", names, n)
		}
	}
	g, o, _ := proxytest.NewOldMCP(t)
	ctx, leave := context.WithCancel(t.Context())
	_, endpoint := g.OpenStream(ctx, g.Client, g.URL+"/mcp/old")
	if status, _ := g.SendMessage(g.Client, endpoint+"x", proxytest.ToolCall("1", "x")); status != 404 {
		t.Errorf("a guessed endpoint: status %d", status)
	}
	g.SendMessage(g.Client, endpoint, proxytest.ToolCall("1", "gated"))
	g.Pending(1)
	leave()
	g.Noticed()
	if status, _ := g.SendMessage(g.Client, endpoint, proxytest.ToolCall("1", "x")); status != 404 || len(o.Seen.All()) != 0 {
		t.Errorf("an endpoint of a session that has ended: status %d, %d went on", status, len(o.Seen.All()))
	}
	g.Pending(1) // what is asked stays asked
}

// A server that asks something of its client, in each way that revisions have.
const (
	sampling = `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}}`
	wantsIn  = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"maxTokens":9}}},"requestState":"s"}}`
)

func askPolicy(action string) string {
	return fmt.Sprintf(`package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": %q, "rule": "test.sampling"} if {
	input.mcp.from_server
	input.mcp.method == "sampling/createMessage"
	input.mcp.params.maxTokens == 9
}
`, action)
}

func TestWhatServersAskIsJudged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ask string
		told      bool // the server gets an error for it
		rest      string
	}{
		{"a request", sampling, true, "id: 3\ndata: \n\ndata: " + proxytest.ToolResult + "\n\n"},
		{"an input request", wantsIn, false, `"isError":true`},
		{"a request in a batch", "[" + proxytest.ToolResult + "," + sampling + "]", true, "data: [" + proxytest.ToolResult + "]\n\n"},
	}
	for _, tt := range tests {
		for _, ends := range []string{"denied", "held and denied", "held and approved"} {
			t.Run(tt.name+", "+ends, func(t *testing.T) {
				action := "hold"
				if ends == "denied" {
					action = "deny"
				}
				var seen proxytest.Counter
				up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(seen.Saw(r), `"tools/call"`) {
						proxytest.MCPEvents("id: 3\ndata: "+tt.ask+"\n\n", "data: "+proxytest.ToolResult+"\n\n")(w, r)
					}
				}))
				g := proxytest.NewTo(t, nil, map[string]string{"files": up}, proxytest.WithPolicy(t, askPolicy(action)))
				got := calling(g, proxytest.ToolCall("1", "x"), nil)
				switch ends {
				case "held and denied":
					g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "no")
				case "held and approved":
					g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
				}
				text := <-got
				if ends == "held and approved" {
					if !strings.HasPrefix(text, "id: 3\ndata: "+tt.ask+"\n\n") || len(seen.All()) != 1 {
						t.Errorf("got %s; the server got %q", text, seen.All())
					}
					return
				}
				if strings.Contains(text, `createMessage","`) || !strings.Contains(text, tt.rest) {
					t.Errorf("got %s", text)
				}
				if told := len(seen.All()) == 2 && strings.Contains(seen.All()[1], `{"jsonrpc":"2.0","id":7,"error"`); told != tt.told {
					t.Errorf("the server got %q", seen.All())
				}
				g.Verified()
			})
		}
	}
}

func TestAnswersToServersAreJudged(t *testing.T) {
	t.Parallel()
	up := &proxytest.Counter{}
	g := proxytest.NewTo(t, nil, map[string]string{"files": proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(up.Saw(r), `"tools/call"`) {
			proxytest.MCPEvents("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\n", "data: "+proxytest.ToolResult+"\n\n")(w, r)
			return
		}
		w.WriteHeader(202)
	}))}, proxytest.WithPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.roots"} if {
	input.mcp.answer
	input.mcp.method == "roots/list"
	some root in input.mcp.params.roots
	startswith(root.uri, "file:///home")
}
`))
	proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil).Body)
	for _, tt := range []struct{ answer, reaches string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///srv"}]}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"file:///home"}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///home/ann"}]}}`, "test.roots"},
		{`[{"jsonrpc":"2.0","id":8,"result":{}},{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///home/ann"}]}}]`, "test.roots"},
	} {
		resp := g.Call(t.Context(), tt.answer, nil)
		got := up.All()[len(up.All())-1]
		if resp.StatusCode != 202 || tt.reaches == "" && got != tt.answer || !strings.Contains(got, tt.reaches) || strings.Contains(got, "home/ann") {
			t.Errorf("status %d, the server got %s", resp.StatusCode, got)
		}
	}
}

func TestAServersStreamThatIsAmbiguousEndsThere(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		`data: {"jsonrpc":"2.0","id":7,"method":"roots/list","method":"sampling/createMessage"}`,
		`data: {"jsonrpc":"2.0","id":7,"Method":"sampling/createMessage"}`,
		`data: {"jsonrpc":"2.0","id":1,"result":{"inputrequests":{}}}`,
		`what: {"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}`,
	} {
		g, _ := proxytest.NewMCP(t, proxytest.MCPEvents("data: {\"n\":1}\n\n", event+"\n\n", "data: "+proxytest.ToolResult+"\n\n"))
		text := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil).Body)
		if !strings.HasPrefix(text, "data: {\"n\":1}\n\n") || !strings.Contains(text, `"isError":true`) || strings.Contains(text, event) {
			t.Errorf("%s: got %s", event, text)
		}
		if n := len(g.Refusals()); n != 1 {
			t.Errorf("%d refusals are logged", n)
		}
	}
}

// In revision 2026-07-28 answers go along with the call that wants them.
func TestAnswersInACallAreJudged(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, strings.Replace(wantsIn, "sampling/createMessage", "roots/list", 1)), proxytest.WithPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.roots"} if {
	input.mcp.answer
	input.mcp.method == "roots/list"
	input.mcp.params.roots[_].uri == "file:///home/ann"
}
`))
	proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil).Body) // the server asks
	for uri, goesOn := range map[string]bool{"file:///srv": true, "file:///home/ann": false} {
		before := len(seen.All())
		call := strings.Replace(proxytest.ToolCall("2", "x"), `"params":{`, `"params":{"inputResponses":{"a":{"roots":[{"uri":"`+uri+`"}]}},`, 1)
		body := proxytest.ReadAll(t, g.Call(t.Context(), call, nil).Body)
		if went := len(seen.All()) > before; went != goesOn || strings.Contains(body, "test.roots") == goesOn || strings.Count(body, `"id"`) != 1 {
			t.Errorf("%s: it went on: %v, and the client got %s", uri, went, body)
		}
	}
}

// Some servers compress whatever was asked for.
func TestACompressedAnswerOfAnMCPServerIsReadWhole(t *testing.T) {
	t.Parallel()
	long := strings.Replace(proxytest.ToolResult, "done", strings.Repeat("done ", 1000), 1)
	for _, form := range []string{long, "data: " + long + "\n\n"} {
		g, _ := proxytest.NewMCP(t, func(w http.ResponseWriter, _ *http.Request) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = io.WriteString(z, form)
			_ = z.Close()
			typ := "application/json"
			if form != long {
				typ = "text/event-stream"
			}
			w.Header().Set("Content-Type", typ)
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
			_, _ = w.Write(b.Bytes())
		})
		if body := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil).Body); body != form {
			t.Errorf("got %.100q", body)
		}
	}
}
