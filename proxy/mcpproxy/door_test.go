package mcpproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

func TestMCPThatPolicyAllowsPassesByteForByte(t *testing.T) {
	t.Parallel()
	events := "id: 7\ndata: \n\n" + "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\n" + "data: " + proxytest.ToolResult + "\n\n"
	tests := []struct {
		name, body  string
		answer      http.HandlerFunc
		status      int
		want        string
		contentType string
	}{
		{"a call answered with JSON", proxytest.ToolCall("1", "x"), proxytest.MCPJSON(200, proxytest.ToolResult), 200, proxytest.ToolResult, "application/json"},
		{"a call answered with events", proxytest.ToolCall("1", "x"), proxytest.MCPEvents(events), 200, events, "text/event-stream"},
		{"another request", `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, proxytest.MCPJSON(200, `{"tools": []}`), 200, `{"tools": []}`, "application/json"},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, "", ""},
		{"a response to the server", `{"jsonrpc":"2.0","id":3,"result":{}}`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, "", ""},
		{"a batch", "[" + proxytest.ToolCall("1", "x") + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`, proxytest.MCPJSON(200, "["+proxytest.ToolResult+"]"), 200, "[" + proxytest.ToolResult + "]", "application/json"},
		{"a session that has gone", proxytest.ToolCall("1", "x"), proxytest.MCPJSON(404, `{"error":"gone"}`), 404, `{"error":"gone"}`, "application/json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, seen := proxytest.NewMCP(t, tt.answer)
			resp := g.Call(t.Context(), tt.body, nil)
			if got := proxytest.ReadAll(t, resp.Body); got != tt.want || resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != tt.contentType {
				t.Errorf("status %d, %s:\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), got)
			}
			if got := seen.All(); len(got) != 1 || got[0] != tt.body {
				t.Errorf("the server got %q", got)
			}
			g.Verified()
		})
	}
}

func TestMCPRequestsOfOtherMethodsPass(t *testing.T) {
	t.Parallel()
	g, _ := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(204)
			return
		}
		proxytest.MCPEvents("data: {\"n\":1}\n\n")(w, r)
		<-r.Context().Done() // a stream of the server's stays open
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/mcp/files", nil)
	proxytest.Must(t, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := g.Client.Do(req)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	proxytest.Until(t, bufio.NewReader(resp.Body), `{"n":1}`)
	leave()
	req, err = http.NewRequestWithContext(t.Context(), http.MethodDelete, g.URL+"/mcp/files", nil)
	proxytest.Must(t, err)
	resp, err = g.Client.Do(req)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != 204 {
		t.Errorf("DELETE: status %d", resp.StatusCode)
	}
}

func TestAHeldToolCallIsKeptInLineAndThenAnswered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"with JSON", proxytest.MCPJSON(200, proxytest.ToolResult), "event: message\ndata: " + proxytest.ToolResult + "\n\n"},
		{"with events", proxytest.MCPEvents("id: 7\ndata: \n\n", "data: "+proxytest.ToolResult+"\n\n"), "id: 7\ndata: \n\ndata: " + proxytest.ToolResult + "\n\n"},
		{"with JSON of several lines", proxytest.MCPJSON(200, "{\"jsonrpc\":\"2.0\",\r\n\"id\":1,\n\"result\":{}}"), "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\ndata: \"result\":{}}\n\n"},
		{"with an error's status", proxytest.MCPJSON(500, "it broke"), `"isError":true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, seen := proxytest.NewMCP(t, tt.answer, proxytest.WithIdle(15*time.Millisecond))
			resp := g.Call(t.Context(), proxytest.ToolCall("1", "gated"), http.Header{"Mcp-Session-Id": {"s1"}}) // returns with the headers
			if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" || resp.Header.Get("Mcp-Session-Id") != "s1" {
				t.Errorf("headers: %v", resp.Header)
			}
			r := bufio.NewReader(resp.Body)
			got := ""
			for n := 1; n <= 3; n++ {
				got += proxytest.Until(t, r, fmt.Sprintf(`"progressToken":"p1","progress":%d,`, n))
				got += proxytest.Until(t, r, ": waiting\n")
			}
			if len(seen.All()) != 0 {
				t.Fatal("the call went on before it was approved")
			}
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if rest := proxytest.ReadAll(t, r); !strings.Contains(rest, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", rest, tt.want)
			}
			if got := seen.All(); len(got) != 1 || got[0] != proxytest.ToolCall("1", "gated") {
				t.Errorf("the server got %q", got)
			}
			if n := len(g.Entries(audit.TypeUsed)); n != 1 {
				t.Errorf("%d approvals were used", n)
			}
			g.Verified()
		})
	}
}

func TestARefusedToolCallIsAResultThatTheModelCanRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, what string
		answer     holdgate.Answer
		text       string
		want       []string
	}{
		{"policy denies", "forbidden", "", "", []string{"test.deny"}},
		{"a person denies", "gated", holdgate.AnswerDeny, "not today", []string{"ann", "not today"}},
		{"a person steers", "gated", holdgate.AnswerSteer, "use the archive", []string{"ann", "use the archive"}},
	}
	for _, tt := range tests {
		for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
			t.Run(tt.name+", "+accept, func(t *testing.T) {
				g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
				got := make(chan string, 1)
				go func() {
					resp := g.Call(t.Context(), proxytest.ToolCall("1", tt.what), http.Header{"Accept": {accept}})
					b, _ := io.ReadAll(resp.Body)
					got <- resp.Header.Get("Content-Type") + "\n" + string(b)
				}()
				events := tt.answer != "" && strings.Contains(accept, "event")
				if tt.answer != "" {
					g.Decide(g.Pending(1)[0], tt.answer, tt.text)
				}
				body := <-got
				for _, w := range append(tt.want, proxytest.NoticeWord, `"isError":true`, `"resultType":"complete"`, `"id":1`) {
					if !strings.Contains(body, w) {
						t.Errorf("%q is not in the refusal:\n%s", w, body)
					}
				}
				if strings.HasPrefix(body, "text/event-stream") != events {
					t.Errorf("the client got:\n%s", body)
				}
				if len(seen.All()) != 0 {
					t.Error("the call went on")
				}
			})
		}
	}
}

func TestAToolCallThatWaitsTooLongIsPickedUpByTheSameCall(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
		t.Run(accept, func(t *testing.T) {
			g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult), proxytest.WithMCPBudget(60*time.Millisecond))
			h := http.Header{"Accept": {accept}}
			body := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "gated"), h).Body)
			req := g.Pending(1)[0]
			if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, req.ID) || !strings.Contains(body, "again") {
				t.Fatalf("the client is not told what to do:\n%s", body)
			}
			g.Decide(req, holdgate.AnswerApprove, "")
			again := strings.Replace(proxytest.ToolCall("2", "gated"), `"p1"`, `"p2"`, 1) // another id, another token: the same call
			body = proxytest.ReadAll(t, g.Call(t.Context(), again, h).Body)
			for strings.Contains(body, req.ID) { // it waits no longer than before, where the store is slow too
				body = proxytest.ReadAll(t, g.Call(t.Context(), again, h).Body)
			}
			if !strings.Contains(body, `"done"`) {
				t.Errorf("got:\n%s", body)
			}
			if len(seen.All()) != 1 || len(g.Entries(audit.TypeOutcome)) != 1 {
				t.Errorf("run %d times, asked %d times", len(seen.All()), len(g.Entries(audit.TypeOutcome)))
			}
			// Once run it is a new call.
			if body := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("3", "gated"), h).Body); !strings.Contains(body, g.Pending(1)[0].ID) || len(seen.All()) != 1 {
				t.Errorf("an approval was used twice:\n%s", body)
			}
		})
	}
}

func TestABatchIsSentOnWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, "["+proxytest.ToolResult+`,{"jsonrpc":"2.0","id":2,"result":{}}]`))
	batch := func(what string) string {
		return "[" + proxytest.ToolCall("1", what) + `,{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`
	}
	body := proxytest.ReadAll(t, g.Call(t.Context(), batch("forbidden"), nil).Body)
	if len(seen.All()) != 0 || !strings.Contains(body, "test.deny") || !strings.Contains(body, `"id":2,"error"`) || body[0] != '[' {
		t.Errorf("sent on %d times:\n%s", len(seen.All()), body)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(g.Call(t.Context(), batch("gated"), nil).Body)
		got <- string(b)
	}()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if body := <-got; !strings.Contains(body, "data: "+proxytest.ToolResult) || !strings.Contains(body, `data: {"jsonrpc":"2.0","id":2`) || len(seen.All()) != 1 {
		t.Errorf("sent on %d times:\n%s", len(seen.All()), body)
	}
}

func TestMCPThatIsAmbiguousIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		header     http.Header
		status     int
		code       string
	}{
		{"a header that names another tool", proxytest.ToolCall("1", "x"), http.Header{"Mcp-Name": {"list"}}, 400, "-32020"},
		{"a header that names another method", proxytest.ToolCall("1", "x"), http.Header{"Mcp-Method": {"tools/list"}}, 400, "-32020"},
		{"two headers", proxytest.ToolCall("1", "x"), http.Header{"Mcp-Name": {"remove", "list"}}, 400, "-32020"},
		{"an unknown member in the envelope", `{"jsonrpc":"2.0","id":1,"Method":"x","method":"tools/list"}`, nil, 400, "-3"},
		{"an empty batch", `[]`, nil, 400, "-32600"},
		{"no JSON-RPC", `{"id":1,"method":"tools/list"}`, nil, 400, "-32600"},
		{"a call without a tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}`, nil, 400, "-32600"},
		{"JSON that is cut", `{"jsonrpc":"2.0"`, nil, 400, "-32700"},
	}
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := g.Call(t.Context(), tt.body, tt.header)
			if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != tt.status || !strings.Contains(body, `"code":`+tt.code) {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			if n := len(g.Refusals()); n != i+1 {
				t.Errorf("%d refusals are logged, want %d", n, i+1)
			}
		})
	}
	if n := len(seen.All()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
	if resp := g.Call(t.Context(), proxytest.ToolCall("1", "x"), http.Header{"Mcp-Name": {"=?base64?cmVtb3Zl?="}, "Mcp-Method": {"tools/call"}}); resp.StatusCode != 200 {
		t.Errorf("headers that agree: status %d", resp.StatusCode)
	}
}

func TestPolicySeesEveryMethodOfMCP(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult), proxytest.WithPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.resource"} if {
	input.kind == "mcp_request"
	input.mcp.method == "resources/read"
	input.mcp.name == "file:///etc/passwd"
}
`))
	body := proxytest.ReadAll(t, g.Call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, nil).Body)
	if !strings.Contains(body, "test.resource") || !strings.Contains(body, `"error"`) || len(seen.All()) != 0 {
		t.Errorf("sent on %d times: %s", len(seen.All()), body)
	}
	if resp := g.Call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`, nil); resp.StatusCode != 200 || len(seen.All()) != 1 {
		t.Errorf("status %d, sent on %d times", resp.StatusCode, len(seen.All()))
	}
}

// A sign of life that fell between the halves of an event would end it early.
func TestSignsOfLifeBreakNoEventOfTheServer(t *testing.T) {
	t.Parallel()
	second := make(chan struct{})
	g, _ := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
		proxytest.MCPEvents("event: message\ndata: {\"jsonrpc\":\"2.0\",\n")(w, r)
		<-second
		_, _ = io.WriteString(w, "data: \"id\":1,\"result\":{}}\n\n")
	}, proxytest.WithIdle(10*time.Millisecond))
	r := bufio.NewReader(g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil).Body)
	proxytest.Until(t, r, ": waiting\n\n: waiting\n\n") // the first half has come to Holdgate by now, or comes later: both must do
	close(second)
	if rest := proxytest.ReadAll(t, r); !strings.HasSuffix(rest, "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n") {
		t.Errorf("the event was broken:\n%s", rest)
	}
}

func TestAClientThatLeavesAToolCallIsNoticed(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
	ctx, leave := context.WithCancel(t.Context())
	g.Call(ctx, proxytest.ToolCall("1", "gated"), nil)
	req := g.Pending(1)[0]
	leave()
	g.Noticed()
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(g.Call(t.Context(), proxytest.ToolCall("1", "gated"), nil).Body)
		got <- string(b)
	}()
	g.Decide(req, holdgate.AnswerApprove, "")
	if body := <-got; !strings.Contains(body, `"done"`) || len(seen.All()) != 1 {
		t.Errorf("run %d times:\n%s", len(seen.All()), body)
	}
}
