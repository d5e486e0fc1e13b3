package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

// An mcpServer answers POSTs with answer, and remembers what it was sent.
func newMCPGate(t *testing.T, answer http.HandlerFunc, opts ...gateOption) (*sidecar, *counter) {
	t.Helper()
	var seen counter
	up := newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		answer(w, r)
	}))
	return newGateTo(t, nil, map[string]string{"files": up + "/mcp"}, opts...), &seen
}

func withMCPBudget(d time.Duration) gateOption { return func(c *proxy.Config) { c.Limits.MCP = d } }

func toolCall(id, what string) string {
	return `{"jsonrpc":"2.0", "id":` + id + `,"method":"tools/call","params":{"name":"remove","arguments":{"path":"` + what + `"},"_meta":{"progressToken":"p1"}}}`
}

const toolResult = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}] }}`

func answerJSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func answerEvents(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// call sends a message as clients of Streamable HTTP do.
func (g *sidecar) call(ctx context.Context, body string, header http.Header) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/mcp/files", strings.NewReader(body))
	must(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := g.client.Do(req)
	must(g.t, err)
	g.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestMCPThatPolicyAllowsPassesByteForByte(t *testing.T) {
	t.Parallel()
	events := "id: 7\ndata: \n\n" + "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\n" + "data: " + toolResult + "\n\n"
	tests := []struct {
		name, body  string
		answer      http.HandlerFunc
		status      int
		want        string
		contentType string
	}{
		{"a call answered with JSON", toolCall("1", "x"), answerJSON(200, toolResult), 200, toolResult, "application/json"},
		{"a call answered with events", toolCall("1", "x"), answerEvents(events), 200, events, "text/event-stream"},
		{"another request", `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, answerJSON(200, `{"tools": []}`), 200, `{"tools": []}`, "application/json"},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, "", ""},
		{"a response to the server", `{"jsonrpc":"2.0","id":3,"result":{}}`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, "", ""},
		{"a batch", "[" + toolCall("1", "x") + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`, answerJSON(200, "["+toolResult+"]"), 200, "[" + toolResult + "]", "application/json"},
		{"a session that has gone", toolCall("1", "x"), answerJSON(404, `{"error":"gone"}`), 404, `{"error":"gone"}`, "application/json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, seen := newMCPGate(t, tt.answer)
			resp := g.call(t.Context(), tt.body, nil)
			if got := readAll(t, resp.Body); got != tt.want || resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != tt.contentType {
				t.Errorf("status %d, %s:\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), got)
			}
			if got := seen.all(); len(got) != 1 || got[0] != tt.body {
				t.Errorf("the server got %q", got)
			}
			g.verified()
		})
	}
}

func TestMCPRequestsOfOtherMethodsPass(t *testing.T) {
	t.Parallel()
	g, _ := newMCPGate(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(204)
			return
		}
		answerEvents("data: {\"n\":1}\n\n")(w, r)
		<-r.Context().Done() // a stream of the server's stays open
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/mcp/files", nil)
	must(t, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := g.client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	until(t, bufio.NewReader(resp.Body), `{"n":1}`)
	leave()
	req, err = http.NewRequestWithContext(t.Context(), http.MethodDelete, g.url+"/mcp/files", nil)
	must(t, err)
	resp, err = g.client.Do(req)
	must(t, err)
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
		{"with JSON", answerJSON(200, toolResult), "event: message\ndata: " + toolResult + "\n\n"},
		{"with events", answerEvents("id: 7\ndata: \n\n", "data: "+toolResult+"\n\n"), "id: 7\ndata: \n\ndata: " + toolResult + "\n\n"},
		{"with JSON of several lines", answerJSON(200, "{\"jsonrpc\":\"2.0\",\r\n\"id\":1,\n\"result\":{}}"), "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\ndata: \"result\":{}}\n\n"},
		{"with an error's status", answerJSON(500, "it broke"), `"isError":true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, seen := newMCPGate(t, tt.answer, withIdle(15*time.Millisecond))
			resp := g.call(t.Context(), toolCall("1", "gated"), http.Header{"Mcp-Session-Id": {"s1"}}) // returns with the headers
			if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" || resp.Header.Get("Mcp-Session-Id") != "s1" {
				t.Errorf("headers: %v", resp.Header)
			}
			r := bufio.NewReader(resp.Body)
			got := ""
			for n := 1; n <= 3; n++ {
				got += until(t, r, fmt.Sprintf(`"progressToken":"p1","progress":%d,`, n))
				got += until(t, r, ": waiting\n")
			}
			if len(seen.all()) != 0 {
				t.Fatal("the call went on before it was approved")
			}
			g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
			if rest := readAll(t, r); !strings.Contains(rest, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", rest, tt.want)
			}
			if got := seen.all(); len(got) != 1 || got[0] != toolCall("1", "gated") {
				t.Errorf("the server got %q", got)
			}
			if n := len(g.entries(audit.TypeUsed)); n != 1 {
				t.Errorf("%d approvals were used", n)
			}
			g.verified()
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
				g, seen := newMCPGate(t, answerJSON(200, toolResult))
				got := make(chan string, 1)
				go func() {
					resp := g.call(t.Context(), toolCall("1", tt.what), http.Header{"Accept": {accept}})
					b, _ := io.ReadAll(resp.Body)
					got <- resp.Header.Get("Content-Type") + "\n" + string(b)
				}()
				events := tt.answer != "" && strings.Contains(accept, "event")
				if tt.answer != "" {
					g.decide(g.pending(1)[0], tt.answer, tt.text)
				}
				body := <-got
				for _, w := range append(tt.want, noticeWord, `"isError":true`, `"resultType":"complete"`, `"id":1`) {
					if !strings.Contains(body, w) {
						t.Errorf("%q is not in the refusal:\n%s", w, body)
					}
				}
				if strings.HasPrefix(body, "text/event-stream") != events {
					t.Errorf("the client got:\n%s", body)
				}
				if len(seen.all()) != 0 {
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
			g, seen := newMCPGate(t, answerJSON(200, toolResult), withMCPBudget(60*time.Millisecond))
			h := http.Header{"Accept": {accept}}
			body := readAll(t, g.call(t.Context(), toolCall("1", "gated"), h).Body)
			req := g.pending(1)[0]
			if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, req.ID) || !strings.Contains(body, "again") {
				t.Fatalf("the client is not told what to do:\n%s", body)
			}
			g.decide(req, holdgate.AnswerApprove, "")
			again := strings.Replace(toolCall("2", "gated"), `"p1"`, `"p2"`, 1) // another id, another token: the same call
			body = readAll(t, g.call(t.Context(), again, h).Body)
			for strings.Contains(body, req.ID) { // it waits no longer than before, where the store is slow too
				body = readAll(t, g.call(t.Context(), again, h).Body)
			}
			if !strings.Contains(body, `"done"`) {
				t.Errorf("got:\n%s", body)
			}
			if len(seen.all()) != 1 || len(g.entries(audit.TypeOutcome)) != 1 {
				t.Errorf("run %d times, asked %d times", len(seen.all()), len(g.entries(audit.TypeOutcome)))
			}
			// Once run it is a new call.
			if body := readAll(t, g.call(t.Context(), toolCall("3", "gated"), h).Body); !strings.Contains(body, g.pending(1)[0].ID) || len(seen.all()) != 1 {
				t.Errorf("an approval was used twice:\n%s", body)
			}
		})
	}
}

func TestABatchIsSentOnWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, "["+toolResult+`,{"jsonrpc":"2.0","id":2,"result":{}}]`))
	batch := func(what string) string {
		return "[" + toolCall("1", what) + `,{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`
	}
	body := readAll(t, g.call(t.Context(), batch("forbidden"), nil).Body)
	if len(seen.all()) != 0 || !strings.Contains(body, "test.deny") || !strings.Contains(body, `"id":2,"error"`) || body[0] != '[' {
		t.Errorf("sent on %d times:\n%s", len(seen.all()), body)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(g.call(t.Context(), batch("gated"), nil).Body)
		got <- string(b)
	}()
	g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
	if body := <-got; !strings.Contains(body, "data: "+toolResult) || !strings.Contains(body, `data: {"jsonrpc":"2.0","id":2`) || len(seen.all()) != 1 {
		t.Errorf("sent on %d times:\n%s", len(seen.all()), body)
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
		{"a header that names another tool", toolCall("1", "x"), http.Header{"Mcp-Name": {"list"}}, 400, "-32020"},
		{"a header that names another method", toolCall("1", "x"), http.Header{"Mcp-Method": {"tools/list"}}, 400, "-32020"},
		{"two headers", toolCall("1", "x"), http.Header{"Mcp-Name": {"remove", "list"}}, 400, "-32020"},
		{"an unknown member in the envelope", `{"jsonrpc":"2.0","id":1,"Method":"x","method":"tools/list"}`, nil, 400, "-3"},
		{"an empty batch", `[]`, nil, 400, "-32600"},
		{"no JSON-RPC", `{"id":1,"method":"tools/list"}`, nil, 400, "-32600"},
		{"a call without a tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}`, nil, 400, "-32600"},
		{"JSON that is cut", `{"jsonrpc":"2.0"`, nil, 400, "-32700"},
	}
	g, seen := newMCPGate(t, answerJSON(200, toolResult))
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := g.call(t.Context(), tt.body, tt.header)
			if body := readAll(t, resp.Body); resp.StatusCode != tt.status || !strings.Contains(body, `"code":`+tt.code) {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			if n := len(g.refusals()); n != i+1 {
				t.Errorf("%d refusals are logged, want %d", n, i+1)
			}
		})
	}
	if n := len(seen.all()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
	if resp := g.call(t.Context(), toolCall("1", "x"), http.Header{"Mcp-Name": {"=?base64?cmVtb3Zl?="}, "Mcp-Method": {"tools/call"}}); resp.StatusCode != 200 {
		t.Errorf("headers that agree: status %d", resp.StatusCode)
	}
}

func TestPolicySeesEveryMethodOfMCP(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, toolResult), withPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.resource"} if {
	input.kind == "mcp_request"
	input.mcp.method == "resources/read"
	input.mcp.name == "file:///etc/passwd"
}
`))
	body := readAll(t, g.call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, nil).Body)
	if !strings.Contains(body, "test.resource") || !strings.Contains(body, `"error"`) || len(seen.all()) != 0 {
		t.Errorf("sent on %d times: %s", len(seen.all()), body)
	}
	if resp := g.call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`, nil); resp.StatusCode != 200 || len(seen.all()) != 1 {
		t.Errorf("status %d, sent on %d times", resp.StatusCode, len(seen.all()))
	}
}

// A sign of life that fell between the halves of an event would end it early.
func TestSignsOfLifeBreakNoEventOfTheServer(t *testing.T) {
	t.Parallel()
	second := make(chan struct{})
	g, _ := newMCPGate(t, func(w http.ResponseWriter, r *http.Request) {
		answerEvents("event: message\ndata: {\"jsonrpc\":\"2.0\",\n")(w, r)
		<-second
		_, _ = io.WriteString(w, "data: \"id\":1,\"result\":{}}\n\n")
	}, withIdle(10*time.Millisecond))
	r := bufio.NewReader(g.call(t.Context(), toolCall("1", "x"), nil).Body)
	until(t, r, ": waiting\n\n: waiting\n\n") // the first half has come to Holdgate by now, or comes later: both must do
	close(second)
	if rest := readAll(t, r); !strings.HasSuffix(rest, "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n") {
		t.Errorf("the event was broken:\n%s", rest)
	}
}

func TestAClientThatLeavesAToolCallIsNoticed(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, toolResult))
	ctx, leave := context.WithCancel(t.Context())
	g.call(ctx, toolCall("1", "gated"), nil)
	req := g.pending(1)[0]
	leave()
	g.noticed()
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(g.call(t.Context(), toolCall("1", "gated"), nil).Body)
		got <- string(b)
	}()
	g.decide(req, holdgate.AnswerApprove, "")
	if body := <-got; !strings.Contains(body, `"done"`) || len(seen.all()) != 1 {
		t.Errorf("run %d times:\n%s", len(seen.all()), body)
	}
}
