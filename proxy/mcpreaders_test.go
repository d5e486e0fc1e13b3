package proxy_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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
		toolResult + asks,
		toolResult + "\n" + asks,
		"[" + toolResult + "] " + asks,
	} {
		g, _ := newMCPGate(t, answerJSON(200, doc), withPolicy(t, samplingDenied))
		resp := g.call(t.Context(), toolCall("1", "x"), nil)
		if text := readAll(t, resp.Body); resp.StatusCode != http.StatusBadGateway || strings.Contains(text, "inputRequests") {
			t.Errorf("%q: status %d, %s", doc, resp.StatusCode, text)
		}
	}
}

// Some readers of events end a line wherever Unicode has one end.
func TestADocumentMakesOneEventForEveryReader(t *testing.T) {
	t.Parallel()
	const ends = "\u2028\u2028data: {\"method\":\"sampling/createMessage\"}\u0085\u0085"
	doc := strings.Replace(toolResult, "done", strings.ReplaceAll(ends, `"`, `\"`), 1)
	g, _ := newMCPGate(t, answerJSON(200, doc))
	done := make(chan string, 1)
	go func() { done <- readAll(t, g.call(t.Context(), toolCall("1", "gated"), nil).Body) }()
	g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
	text := <-done
	if strings.ContainsAny(text, "\u2028\u0085") || !strings.Contains(text, `\u2028\u2028data: {`) || !strings.Contains(text, `\u0085`) {
		t.Errorf("got %q", text)
	}
}

// A server that drops the connection has perhaps run the call.
func TestACallIsNotSentAgainByItself(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var seen counter
	first := true
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := seen.saw(r)
		if strings.Contains(body, `"ping"`) && first {
			first = false
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"p","result":{}}`)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		must(t, err)
		_ = conn.Close()
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	g := newGateTo(t, nil, map[string]string{"files": "http://" + l.Addr().String() + "/mcp"})
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		_ = readAll(t, g.call(t.Context(), ping, nil).Body) // so that there is a connection to be used again
		before := len(seen.all())
		resp := g.call(t.Context(), toolCall("1", name), http.Header{name: {"k"}})
		_ = readAll(t, resp.Body)
		if n := len(seen.all()) - before; n != 1 {
			t.Errorf("%s: the call was sent %d times", name, n)
		}
		first = true
	}
}
