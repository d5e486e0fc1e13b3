package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
)

// An oldServer speaks the transport of revision 2024-11-05: GET /sse opens a
// stream, which names /messages; answers come on the stream.
type oldServer struct {
	mu      sync.Mutex
	streams map[string]chan string
	seen    counter
	names   func(session string) string // the endpoint as the server writes it
}

func (o *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.URL.Query().Get("session")
	if r.Method == http.MethodPost {
		o.mu.Lock()
		stream := o.streams[session]
		o.mu.Unlock()
		body := o.seen.saw(r)
		if stream == nil || r.URL.Path != "/messages" {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
		if strings.Contains(body, `"tools/call"`) {
			stream <- "event: message\ndata: " + toolResult + "\n\n"
		}
		return
	}
	events := make(chan string, 8)
	o.mu.Lock()
	session = itoa(len(o.streams))
	o.streams[session] = events
	o.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "event: endpoint\ndata: "+o.names(session)+"\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case e := <-events:
			_, _ = io.WriteString(w, e)
		case <-r.Context().Done():
			return
		}
	}
}

func newOldGate(t *testing.T, opts ...gateOption) (*sidecar, *oldServer, string) {
	t.Helper()
	o := &oldServer{streams: map[string]chan string{}, names: func(s string) string { return "/messages?session=" + s }}
	up := newUpstream(t, o)
	return newGateTo(t, nil, map[string]string{"old": up + "/sse"}, opts...), o, up
}

// stream opens the stream of an older server, and returns the endpoint that it
// names.
func (g *sidecar) stream(ctx context.Context, c *http.Client, url string) (*bufio.Reader, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(g.t, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.Do(req)
	must(g.t, err)
	g.t.Cleanup(func() { resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	first := until(g.t, r, "data: ")
	endpoint := strings.TrimSpace(first[strings.LastIndex(first, "data: ")+len("data: "):])
	u, err := req.URL.Parse(endpoint)
	must(g.t, err)
	return r, u.String()
}

func (g *sidecar) message(c *http.Client, url, body string) (int, string) {
	g.t.Helper()
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	must(g.t, err)
	defer resp.Body.Close()
	return resp.StatusCode, readAll(g.t, resp.Body)
}

func TestTheOlderTransportIsGatedOnBothRoads(t *testing.T) {
	t.Parallel()
	for _, road := range []string{"door", "forward proxy"} {
		t.Run(road, func(t *testing.T) {
			g, o, up := newOldGate(t, withIdle(15*time.Millisecond))
			c, url := g.client, g.url+"/mcp/old"
			if road == "forward proxy" {
				c, url = g.proxied(), up+"/sse"
			}
			stream, endpoint := g.stream(t.Context(), c, url)
			if inside := strings.HasPrefix(endpoint, g.url+mcpproxy.EndpointPath); inside != (road == "door") {
				t.Fatalf("the endpoint is %s", endpoint)
			}
			// What policy allows passes, and is answered on the stream.
			if status, body := g.message(c, endpoint, toolCall("1", "x")); status != 202 || body != "Accepted" {
				t.Errorf("status %d: %s", status, body)
			}
			until(t, stream, "data: "+toolResult+"\n")
			// What it denies is refused there.
			if status, _ := g.message(c, endpoint, toolCall("2", "forbidden")); status != 202 {
				t.Errorf("status %d", status)
			}
			if text := until(t, stream, "test.deny"); !strings.Contains(text, `"id":2,"result"`) {
				t.Errorf("got %s", text)
			}
			// What is held is accepted at once, kept in line, and then answered there.
			if status, _ := g.message(c, endpoint, toolCall("3", "gated")); status != 202 {
				t.Errorf("status %d", status)
			}
			until(t, stream, `"progressToken":"p1","progress":2,`)
			if n := len(o.seen.all()); n != 1 {
				t.Fatalf("%d messages reached the server", n)
			}
			g.decide(g.pending(1)[0], holdgate.AnswerApprove, "fine by me")
			if text := until(t, stream, "\"done\""); !strings.Contains(text, "data: {") {
				t.Errorf("got %s", text)
			}
			if got := o.seen.all(); len(got) != 2 || got[1] != toolCall("3", "gated") {
				t.Errorf("the server got %q", got)
			}
			g.verified()
		})
	}
}

func TestAnOldClientThatWaitsTooLongIsToldOnItsStream(t *testing.T) {
	t.Parallel()
	g, o, _ := newOldGate(t, withMCPBudget(50*time.Millisecond))
	stream, endpoint := g.stream(t.Context(), g.client, g.url+"/mcp/old")
	g.message(g.client, endpoint, toolCall("1", "gated"))
	until(t, stream, "again with the same arguments")
	g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
	stream, endpoint = g.stream(t.Context(), g.client, g.url+"/mcp/old") // another session
	g.message(g.client, endpoint, toolCall("1", "gated"))
	until(t, stream, `"done"`)
	if n := len(o.seen.all()); n != 1 {
		t.Errorf("run %d times", n)
	}
}

func TestEndpointsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	for _, names := range []string{"http://127.0.0.1:1/messages", "//elsewhere.example/messages", "http://[::1"} {
		g, o, _ := newOldGate(t)
		o.names = func(string) string { return names }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/mcp/old", nil)
		must(t, err)
		req.Header.Set("Accept", "text/event-stream")
		resp, err := g.client.Do(req)
		must(t, err)
		if text := readAll(t, resp.Body); strings.Contains(text, "endpoint") {
			t.Errorf("%s is passed on: %s", names, text)
		}
		resp.Body.Close()
		if n := len(g.refusals()); n != 1 {
			t.Errorf("%s: %d refusals are logged", names, n)
		}
	}
	g, o, _ := newOldGate(t)
	ctx, leave := context.WithCancel(t.Context())
	_, endpoint := g.stream(ctx, g.client, g.url+"/mcp/old")
	if status, _ := g.message(g.client, endpoint+"x", toolCall("1", "x")); status != 404 {
		t.Errorf("a guessed endpoint: status %d", status)
	}
	g.message(g.client, endpoint, toolCall("1", "gated"))
	g.pending(1)
	leave()
	g.noticed()
	if status, _ := g.message(g.client, endpoint, toolCall("1", "x")); status != 404 || len(o.seen.all()) != 0 {
		t.Errorf("an endpoint of a session that has ended: status %d, %d went on", status, len(o.seen.all()))
	}
	g.pending(1) // what is asked stays asked
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
		{"a request", sampling, true, "id: 3\ndata: \n\ndata: " + toolResult + "\n\n"},
		{"an input request", wantsIn, false, `"isError":true`},
		{"a request in a batch", "[" + toolResult + "," + sampling + "]", true, "data: [" + toolResult + "]\n\n"},
	}
	for _, tt := range tests {
		for _, ends := range []string{"denied", "held and denied", "held and approved"} {
			t.Run(tt.name+", "+ends, func(t *testing.T) {
				action := "hold"
				if ends == "denied" {
					action = "deny"
				}
				var seen counter
				up := newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(seen.saw(r), `"tools/call"`) {
						answerEvents("id: 3\ndata: "+tt.ask+"\n\n", "data: "+toolResult+"\n\n")(w, r)
					}
				}))
				g := newGateTo(t, nil, map[string]string{"files": up}, withPolicy(t, askPolicy(action)))
				got := g.calling(toolCall("1", "x"), nil)
				switch ends {
				case "held and denied":
					g.decide(g.pending(1)[0], holdgate.AnswerDeny, "no")
				case "held and approved":
					g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
				}
				text := <-got
				if ends == "held and approved" {
					if !strings.HasPrefix(text, "id: 3\ndata: "+tt.ask+"\n\n") || len(seen.all()) != 1 {
						t.Errorf("got %s; the server got %q", text, seen.all())
					}
					return
				}
				if strings.Contains(text, `createMessage","`) || !strings.Contains(text, tt.rest) {
					t.Errorf("got %s", text)
				}
				if told := len(seen.all()) == 2 && strings.Contains(seen.all()[1], `{"jsonrpc":"2.0","id":7,"error"`); told != tt.told {
					t.Errorf("the server got %q", seen.all())
				}
				g.verified()
			})
		}
	}
}

func TestAnswersToServersAreJudged(t *testing.T) {
	t.Parallel()
	up := &counter{}
	g := newGateTo(t, nil, map[string]string{"files": newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(up.saw(r), `"tools/call"`) {
			answerEvents("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\n", "data: "+toolResult+"\n\n")(w, r)
			return
		}
		w.WriteHeader(202)
	}))}, withPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.roots"} if {
	input.mcp.answer
	input.mcp.method == "roots/list"
	some root in input.mcp.params.roots
	startswith(root.uri, "file:///home")
}
`))
	readAll(t, g.call(t.Context(), toolCall("1", "x"), nil).Body)
	for _, tt := range []struct{ answer, reaches string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///srv"}]}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"file:///home"}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///home/ann"}]}}`, "test.roots"},
		{`[{"jsonrpc":"2.0","id":8,"result":{}},{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///home/ann"}]}}]`, "test.roots"},
	} {
		resp := g.call(t.Context(), tt.answer, nil)
		got := up.all()[len(up.all())-1]
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
		g, _ := newMCPGate(t, answerEvents("data: {\"n\":1}\n\n", event+"\n\n", "data: "+toolResult+"\n\n"))
		text := readAll(t, g.call(t.Context(), toolCall("1", "x"), nil).Body)
		if !strings.HasPrefix(text, "data: {\"n\":1}\n\n") || !strings.Contains(text, `"isError":true`) || strings.Contains(text, event) {
			t.Errorf("%s: got %s", event, text)
		}
		if n := len(g.refusals()); n != 1 {
			t.Errorf("%d refusals are logged", n)
		}
	}
}

// In revision 2026-07-28 answers go along with the call that wants them.
func TestAnswersInACallAreJudged(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, strings.Replace(wantsIn, "sampling/createMessage", "roots/list", 1)), withPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.roots"} if {
	input.mcp.answer
	input.mcp.method == "roots/list"
	input.mcp.params.roots[_].uri == "file:///home/ann"
}
`))
	readAll(t, g.call(t.Context(), toolCall("1", "x"), nil).Body) // the server asks
	for uri, goesOn := range map[string]bool{"file:///srv": true, "file:///home/ann": false} {
		before := len(seen.all())
		call := strings.Replace(toolCall("2", "x"), `"params":{`, `"params":{"inputResponses":{"a":{"roots":[{"uri":"`+uri+`"}]}},`, 1)
		body := readAll(t, g.call(t.Context(), call, nil).Body)
		if went := len(seen.all()) > before; went != goesOn || strings.Contains(body, "test.roots") == goesOn || strings.Count(body, `"id"`) != 1 {
			t.Errorf("%s: it went on: %v, and the client got %s", uri, went, body)
		}
	}
}

// Some servers compress whatever was asked for.
func TestACompressedAnswerOfAnMCPServerIsReadWhole(t *testing.T) {
	t.Parallel()
	long := strings.Replace(toolResult, "done", strings.Repeat("done ", 1000), 1)
	for _, form := range []string{long, "data: " + long + "\n\n"} {
		g, _ := newMCPGate(t, func(w http.ResponseWriter, _ *http.Request) {
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
			w.Header().Set("Content-Length", itoa(b.Len()))
			_, _ = w.Write(b.Bytes())
		})
		if body := readAll(t, g.call(t.Context(), toolCall("1", "x"), nil).Body); body != form {
			t.Errorf("got %.100q", body)
		}
	}
}
