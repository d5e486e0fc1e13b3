package mcpproxy_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

const samplingDenied = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.sampling"} if input.mcp.method == "sampling/createMessage"

decision := {"action": "hold", "rule": "test.hold"} if {
	input.tool.arguments.path == "gated"
	not input.answers
}
`

// Fetch and others pass over a byte order mark, and readers of a stream of
// values find the second one.
func TestADocumentThatIsOneToSomeReadersOnlyIsRefused(t *testing.T) {
	t.Parallel()
	const asks = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"incomplete","inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}}`
	for _, doc := range []string{
		"\xef\xbb\xbf" + asks,
		"\xef\xbb\xbf[" + asks + "]",
		"\xff\xfe{\x00}\x00",
		"{\x00}\x00",
		proxytest.ToolResult + asks,
		proxytest.ToolResult + "\n" + asks,
		"[" + proxytest.ToolResult + "] " + asks,
	} {
		g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, doc), proxytest.WithPolicy(t, samplingDenied))
		resp := g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil)
		if text := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusBadGateway || strings.Contains(text, "inputRequests") {
			t.Errorf("%q: status %d, %s", doc, resp.StatusCode, text)
		}
	}
}

// Some readers of events end a line wherever Unicode has one end.
func TestADocumentMakesOneEventForEveryReader(t *testing.T) {
	t.Parallel()
	const ends = "\u2028\u2028data: {\"method\":\"sampling/createMessage\"}\u0085\u0085"
	doc := strings.Replace(proxytest.ToolResult, "done", strings.ReplaceAll(ends, `"`, `\"`), 1)
	g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, doc))
	done := make(chan string, 1)
	go func() { done <- proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "gated"), nil).Body) }()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	text := <-done
	if strings.ContainsAny(text, "\u2028\u0085") || !strings.Contains(text, `\u2028\u2028data: {`) || !strings.Contains(text, `\u0085`) {
		t.Errorf("got %q", text)
	}
}

// A server that drops the connection has perhaps run the call.
func TestACallIsNotSentAgainByItself(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	proxytest.Must(t, err)
	var seen proxytest.Counter
	first := true
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := seen.Saw(r)
		if strings.Contains(body, `"ping"`) && first {
			first = false
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"p","result":{}}`)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		proxytest.Must(t, err)
		_ = conn.Close()
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	g := proxytest.NewTo(t, nil, map[string]string{"files": "http://" + l.Addr().String() + "/mcp"})
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		_ = proxytest.ReadAll(t, g.Call(t.Context(), ping, nil).Body) // so that there is a connection to be used again
		before := len(seen.All())
		resp := g.Call(t.Context(), proxytest.ToolCall("1", name), http.Header{name: {"k"}})
		_ = proxytest.ReadAll(t, resp.Body)
		if n := len(seen.All()) - before; n != 1 {
			t.Errorf("%s: the call was sent %d times", name, n)
		}
		first = true
	}
}
