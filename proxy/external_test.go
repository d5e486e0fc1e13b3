package proxy_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/extauthz"
)

// A filter is Envoy's ext_authz filter, as far as its protocol goes: go-control-plane's own client.
type filter struct {
	t *testing.T
	authv3.AuthorizationClient
	soon *atomic.Bool // it is to be answered at once
}

func newFilter(t *testing.T, g *proxytest.Sidecar) filter {
	t.Helper()
	soon := &atomic.Bool{}
	s := extauthz.New(func(w http.ResponseWriter, q extauthz.Question) bool {
		if soon.Load() {
			q.Until = time.Now()
		}
		return g.Server.CheckExternal(w, q)
	}, 1<<20, slog.New(slog.DiscardHandler))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	proxytest.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	proxytest.Must(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		proxytest.Must(t, s.Stop(context.WithoutCancel(t.Context())))
		proxytest.Must(t, <-served)
	})
	return filter{t, authv3.NewAuthorizationClient(conn), soon}
}

// request is one as Envoy describes it.
func described(method, path, body string, headers ...string) *authv3.AttributeContext_HttpRequest {
	h := map[string]string{":method": method, ":path": path, ":authority": "api.example.com", "x-envoy-auth-partial-body": "false"}
	if body != "" {
		h["content-length"] = strconv.Itoa(len(body))
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h[headers[i]] = headers[i+1]
	}
	return &authv3.AttributeContext_HttpRequest{Id: "1", Method: method, Path: path, Host: "api.example.com", Scheme: "https", Headers: h, Protocol: "HTTP/1.1", Size: int64(len(body)), Body: body}
}

// ask has the filter ask. It returns the status that the client is answered, 0 where the request goes on.
func (f filter) ask(r *authv3.AttributeContext_HttpRequest, token ...string) (int, *authv3.DeniedHttpResponse) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), proxytest.Patience)
	defer cancel()
	for _, t := range token {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+t)
	}
	resp, err := f.Check(ctx, &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: r}}})
	proxytest.Must(f.t, err)
	if resp.GetStatus().GetCode() == 0 {
		if resp.GetDeniedResponse() != nil {
			f.t.Errorf("a permit with a denial: %v", resp)
		}
		return 0, nil
	}
	d := resp.GetDeniedResponse()
	return int(d.GetStatus().GetCode()), d
}

// askSoon is ask for a filter that waits for nobody.
func (f filter) askSoon(r *authv3.AttributeContext_HttpRequest) (int, *authv3.DeniedHttpResponse) {
	f.t.Helper()
	f.soon.Store(true)
	defer f.soon.Store(false)
	return f.ask(r)
}

func header(d *authv3.DeniedHttpResponse, name string) string {
	for _, h := range d.GetHeaders() {
		if h.GetHeader().GetKey() == name {
			return h.GetHeader().GetValue()
		}
	}
	return ""
}

const forbiddenTool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"forbidden"}}}`

func TestExtAuthzDecidesWhatTheFilterAsksAbout(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, nil)
	f := newFilter(t, g)
	raw := described("POST", "/v1/x", "")
	raw.Headers, raw.RawBody = nil, []byte("ok")
	raw.HeaderMap = &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: "content-length", RawValue: []byte("2")}, {Key: "x-a", RawValue: []byte("1")}, {Key: "x-a", RawValue: []byte("2")}}}
	both := described("POST", "/v1/x", "ok")
	both.RawBody = []byte("other")
	twice := described("GET", "/v1/x", "")
	twice.HeaderMap = &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: "x-a", RawValue: []byte("1")}}}
	host := described("GET", "/v1/x", "")
	host.Host = "api.example.com/evil"
	size := described("POST", "/v1/x", "", "content-length", "3")
	for name, tt := range map[string]struct {
		r      *authv3.AttributeContext_HttpRequest
		status int
		says   string
	}{
		"allowed":                     {described("GET", "/v1/users?x=1", ""), 0, ""},
		"allowed, with a body":        {described("POST", "/v1/users", `{"a":1}`), 0, ""},
		"raw":                         {raw, 0, ""},
		"denied":                      {described("GET", "/forbidden", ""), 403, "it says forbidden"},
		"cut":                         {described("POST", "/v1/x", `{"a":`, "x-envoy-auth-partial-body", "true"), 413, "cut the body"},
		"no body sent":                {size, 413, "with_request_body"},
		"more than it says":           {described("POST", "/v1/x", "abc", "content-length", "2"), 413, "with_request_body"},
		"a body of unknown length":    {described("POST", "/v1/x", ""), 411, "with_request_body"},
		"chunked, and nothing":        {described("GET", "/v1/x", "", "transfer-encoding", "chunked"), 411, "with_request_body"},
		"two bodies":                  {both, 400, "two ways"},
		"two kinds of headers":        {twice, 400, "two ways"},
		"an odd host":                 {host, 400, "ambiguous"},
		"another's path":              {described("GET", "//evil.example.com/x", ""), 400, "ambiguous"},
		"absolute":                    {described("GET", "http://evil.example.com/", ""), 400, "ambiguous"},
		"CONNECT":                     {described("CONNECT", "/", ""), 400, "not decided"},
		"a header with a line":        {described("GET", "/v1/x", "", "x-a", "1\r\nx-b: 2"), 400, "ambiguous"},
		"a tool":                      {described("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"forbidden"}}}`, "content-type", "application/json"), 403, "it says forbidden"},
		"another tool":                {described("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"fine"}}}`, "content-type", "application/json"), 0, ""},
		"a tool and another header":   {described("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`, "content-type", "application/json", "mcp-name", "other"), 400, "Mcp-Name"},
		"tools in a batch":            {described("POST", "/mcp", `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, "content-type", "application/json"), 400, "several messages"},
		"a tool with two arguments":   {described("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"forbidden"},"arguments":{}}}`, "content-type", "application/json"), 400, ""},
		"a tool, said to be coded":    {described("POST", "/mcp", forbiddenTool, "content-type", "application/json", "content-encoding", "gzip"), 400, ""},
		"a tool in an unknown coding": {described("POST", "/mcp", forbiddenTool, "content-type", "application/json", "content-encoding", "x-none"), 415, ""},
		"a tool in two codings":       {described("POST", "/mcp", forbiddenTool, "content-type", "application/json", "content-encoding", "identity, identity"), 415, ""},
		"a tool of another type":      {described("POST", "/mcp", forbiddenTool, "content-type", "application/octet-stream"), 403, "it says forbidden"},
		"a tool behind a mark":        {described("POST", "/mcp", "\ufeff"+forbiddenTool, "content-type", "application/json"), 400, ""},
		"a tool behind blanks":        {described("POST", "/mcp", strings.Repeat(" ", 2000)+forbiddenTool, "content-type", "application/json"), 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if status, d := f.ask(tt.r); status != tt.status || !strings.Contains(d.GetBody(), tt.says) {
				t.Errorf("answered %d, want %d: %s", status, tt.status, d.GetBody())
			}
		})
	}
	resp, err := f.Check(t.Context(), &authv3.CheckRequest{})
	if err == nil && resp.GetStatus().GetCode() == 0 {
		t.Error("a request without a request is permitted")
	}
}

func TestExtAuthzHoldsForAsLongAsTheFilterWaits(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, nil)
	f := newFilter(t, g)
	ask := described("POST", "/gated", `{"amount":5}`, "x-request-id", "1", "x-envoy-attempt-count", "1")
	got := make(chan int, 1)
	go func() { status, _ := f.ask(ask); got <- status }()
	r := g.Pending(1)[0]
	if r.Door != "ext_authz" || !strings.Contains(r.Call.HTTP, "api.example.com/gated") || !strings.Contains(strings.Join(r.Briefing.Details, "\n"), `"amount":5`) {
		t.Errorf("people see %+v", r)
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	if status := <-got; status != 0 {
		t.Errorf("approved while it waits: %d", status)
	}
	// Its patience ends first: the request stays, and the next attempt has the answer, once.
	status, d := f.askSoon(ask)
	if status != 503 || header(d, "Retry-After") == "" || !strings.Contains(d.GetBody(), "ask again") {
		t.Fatalf("nobody answers: %d %v", status, d)
	}
	r = g.Pending(1)[0]
	g.Decide(r, holdgate.AnswerApprove, "")
	for name, other := range map[string]*authv3.AttributeContext_HttpRequest{
		"another body":   described("POST", "/gated", `{"amount":6}`, "x-request-id", "1"),
		"another header": described("POST", "/gated", `{"amount":5}`, "x-request-id", "1", "x-tenant", "b"),
		"another query":  described("POST", "/gated?x=1", `{"amount":5}`, "x-request-id", "1"),
	} {
		if status, _ := f.askSoon(other); status != 503 {
			t.Errorf("%s: %d", name, status)
		}
	}
	again := described("POST", "/gated", `{"amount":5}`, "x-request-id", "2", "x-envoy-attempt-count", "2")
	if status, d := f.ask(again); status != 0 {
		t.Errorf("asked again: %d %s", status, d.GetBody())
	}
	if status, _ := f.askSoon(again); status != 503 {
		t.Errorf("the approval was used twice: %d", status)
	}
	g.Verified()
}

func TestExtAuthzAToolThatIsHeldIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, nil)
	f := newFilter(t, g)
	call := func(id string) *authv3.AttributeContext_HttpRequest {
		return described("POST", "/mcp", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"pay","arguments":{"to":"gated"}}}`, "content-type", "application/json")
	}
	if status, _ := f.askSoon(call("1")); status != 503 {
		t.Fatalf("asked: %d", status)
	}
	r := g.Pending(1)[0]
	if r.Call.Tool == nil || r.Call.Tool.Name != "pay" || r.Call.Tool.Server != "api.example.com" {
		t.Errorf("people see %+v", r.Call)
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	if status, d := f.ask(call("2")); status != 0 { // the same call under another id
		t.Errorf("asked again: %d %s", status, d.GetBody())
	}
}

func TestExtAuthzKnowsTheFilterByItsToken(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, nil, proxytest.WithPolicy(t, proxytest.ProvenPolicy), proxytest.WithAnnAndBob(t))
	f := newFilter(t, g)
	ask := described("GET", "/v1/x", "")
	for name, tt := range map[string]struct {
		tokens []string
		status int
	}{
		"its own": {[]string{proxytest.AnnsToken}, 0}, "none": {nil, 403}, "an unknown one": {[]string{"hgt_" + strings.Repeat("e", 64)}, 401},
		"no token of Holdgate's": {[]string{"secret"}, 401}, "two": {[]string{proxytest.AnnsToken, proxytest.BobsToken}, 401},
	} {
		if status, _ := f.ask(ask, tt.tokens...); status != tt.status {
			t.Errorf("%s: %d, want %d", name, status, tt.status)
		}
	}
	if status, _ := f.ask(described("GET", "/v1/x", "", "holdgate-token", proxytest.AnnsToken)); status == 0 {
		t.Error("a token of the request's own proves the filter")
	}
}
