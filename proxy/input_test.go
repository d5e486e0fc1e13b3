package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// unsized hides a body's length, so that it is sent in chunks.
type unsized struct{ io.Reader }

// Promise 4: what cannot be understood, or could be understood in two ways, is
// refused whatever policy says, in the format spoken, and is in the log.
func TestRequestsThatAreNotUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	doors := []struct{ name, path, valid, shape string }{
		{"anthropic", proxytest.Messages, proxytest.AskPlain, `"type":"error"`},
		{"openai", "/up/test/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"go"}]}`, `"code":"holdgate"`},
		{"mcp", "/mcp/files", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`, `"jsonrpc":"2.0"`},
	}
	const limit = 8 << 10
	tests := []struct {
		name   string
		header http.Header
		body   func(t *testing.T, valid string) io.Reader
		status int
		rule   string
	}{
		{"JSON that is cut", nil, text(func(v string) string { return v[:len(v)-1] }), 400, holdgate.RuleMalformed},
		{"nothing", nil, text(func(string) string { return "" }), 400, holdgate.RuleMalformed},
		{"two JSON values", nil, text(func(v string) string { return v + v }), 400, holdgate.RuleMalformed},
		{"a key twice", nil, text(func(v string) string { return `{"x":1,"x":2,` + v[1:] }), 400, holdgate.RuleMalformed},
		{"keys that differ in case", nil, text(func(v string) string { return `{"xy":1,"xY":2,` + v[1:] }), 400, holdgate.RuleMalformed},
		{"a key twice, once escaped", nil, text(func(v string) string { return `{"xy":1,"\u0078y":2,` + v[1:] }), 400, holdgate.RuleMalformed},
		{"bytes that are no UTF-8", nil, text(func(v string) string { return `{"x":"` + "\xff" + `",` + v[1:] }), 400, holdgate.RuleMalformed},
		{"half a surrogate pair", nil, text(func(v string) string { return `{"x":"\ud800",` + v[1:] }), 400, holdgate.RuleMalformed},
		{"a byte order mark", nil, text(func(v string) string { return "\ufeff" + v }), 400, holdgate.RuleMalformed},
		{"129 arrays in each other", nil, text(func(v string) string {
			return `{"x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `,` + v[1:]
		}), 400, holdgate.RuleMalformed},
		{"more than the limit", nil, text(func(v string) string { return `{"x":"` + strings.Repeat("y", limit) + `",` + v[1:] }), 413, holdgate.RuleTooLarge},
		{"more than the limit, in chunks", nil, func(_ *testing.T, v string) io.Reader {
			return unsized{strings.NewReader(`{"x":"` + strings.Repeat("y", limit) + `",` + v[1:])}
		}, 413, holdgate.RuleTooLarge},
		{"a coding that nobody knows", http.Header{"Content-Encoding": {"compress"}}, text(func(v string) string { return v }), 415, holdgate.RuleMalformed},
		{"two codings in one header", http.Header{"Content-Encoding": {"gzip, gzip"}}, text(func(v string) string { return v }), 415, holdgate.RuleMalformed},
		{"two codings in two headers", http.Header{"Content-Encoding": {"identity", "gzip"}}, text(func(v string) string { return v }), 415, holdgate.RuleMalformed},
		{"a coding that is not there", http.Header{"Content-Encoding": {"gzip"}}, text(func(v string) string { return v }), 400, holdgate.RuleMalformed},
		{"a gzip bomb", http.Header{"Content-Encoding": {"gzip"}}, func(t *testing.T, v string) io.Reader {
			return bytes.NewReader(proxytest.Zipped(t, []byte(`{"x":"`+strings.Repeat("y", 4<<20)+`",`+v[1:])))
		}, 413, holdgate.RuleTooLarge},
		{"a charset other than UTF-8", http.Header{"Content-Type": {"application/json; charset=utf-16"}}, text(func(v string) string { return v }), 415, holdgate.RuleMalformed},
	}
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			var seen proxytest.Counter
			up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{}`))
			g := proxytest.NewTo(t, map[string]string{"test": up}, map[string]string{"files": up + "/mcp"}, proxytest.WithBodyLimit(limit))
			for i, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+door.path, tt.body(t, door.valid))
					proxytest.Must(t, err)
					req.Header.Set("Content-Type", "application/json")
					for k, v := range tt.header {
						req.Header[k] = v
					}
					resp, err := g.Client.Do(req)
					proxytest.Must(t, err)
					defer resp.Body.Close()
					body := proxytest.ReadAll(t, resp.Body)
					if resp.StatusCode != tt.status || !strings.Contains(body, door.shape) {
						t.Errorf("status %d, want %d with %s: %s", resp.StatusCode, tt.status, door.shape, body)
					}
					if rules := g.Refusals(); len(rules) != i+1 || rules[i] != tt.rule {
						t.Errorf("logged: %v, want %s last", rules, tt.rule)
					}
				})
			}
			if n := len(seen.All()); n != 0 {
				t.Errorf("%d requests went on", n)
			}
			if n := len(g.Entries(audit.TypeDecision)); n != 0 {
				t.Errorf("policy was asked %d times about what nobody understood", n)
			}
			g.Verified()
		})
	}
}

func text(change func(valid string) string) func(*testing.T, string) io.Reader {
	return func(_ *testing.T, valid string) io.Reader { return strings.NewReader(change(valid)) }
}

func TestWhatIsSentIsWhatWasJudged(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	var header http.Header
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		proxytest.Answer(&seen, 200, proxytest.EmptyMessage).ServeHTTP(w, r)
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+proxytest.Messages, bytes.NewReader(proxytest.Zipped(t, []byte(proxytest.AskPlain))))
	proxytest.Must(t, err)
	for k, v := range map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip", "Accept-Encoding": "gzip, br", "X-Api-Key": "k",
		"Connection": "X-Hop", "X-Hop": "1", "Proxy-Authorization": "Basic eDp5", "Expect": "100-continue"} {
		req.Header.Set(k, v)
	}
	resp, err := g.Client.Do(req)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != 200 || len(seen.All()) != 1 || seen.All()[0] != proxytest.AskPlain {
		t.Fatalf("status %d, the upstream got %q", resp.StatusCode, seen.All())
	}
	want := map[string]string{"Accept-Encoding": "identity", "Content-Encoding": "", "X-Hop": "", "Proxy-Authorization": "", "Connection": "", "Expect": "", "X-Api-Key": "k"}
	for k, v := range want {
		if got := header.Get(k); got != v {
			t.Errorf("the upstream got %s: %q, want %q", k, got, v)
		}
	}
}

// A policy that cannot answer refuses: conflicting rules are an error of the
// evaluation.
func TestAPolicyThatErrsRefuses(t *testing.T) {
	t.Parallel()
	const conflict = `package holdgate

import rego.v1

decision := {"action": "allow", "rule": "a"}

decision := {"action": "deny", "rule": n} if {
	some n in ["b", "c"]
	input.time
}
`
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, proxytest.EmptyMessage))
	g := proxytest.NewTo(t, map[string]string{"test": up}, map[string]string{"files": up}, proxytest.WithPolicy(t, conflict))
	for _, door := range []struct{ name, path, body, want string }{
		{"a model request", proxytest.Messages, proxytest.AskPlain, `"invalid_request_error"`},
		{"a tool call", "/mcp/files", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`, `"isError":true`},
		{"a plain request", "/up/test/x", `{}`, `"status":403`},
	} {
		t.Run(door.name, func(t *testing.T) {
			body := proxytest.ReadAll(t, g.Post(t.Context(), door.path, door.body).Body)
			if !strings.Contains(body, holdgate.RulePolicyError) || !strings.Contains(body, door.want) {
				t.Errorf("got %s", body)
			}
		})
	}
	if n := len(seen.All()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
	for _, e := range g.Entries(audit.TypeDecision) {
		if e.Decision.Action != holdgate.Deny || e.Decision.Rule != holdgate.RulePolicyError {
			t.Errorf("logged: %+v", e.Decision)
		}
	}
}

func TestNothingGoesOnWhileTheStoreIsClosed(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, proxytest.EmptyMessage))
	g := proxytest.NewTo(t, map[string]string{"test": up}, map[string]string{"files": up})
	proxytest.Must(t, g.Store.Close())
	for _, door := range []struct{ name, path, body, want string }{
		{"a model request", proxytest.Messages, proxytest.AskPlain, `"type":"error"`},
		{"a held model request", proxytest.Messages, strings.Replace(proxytest.AskPlain, `"m"`, `"gated"`, 1), `"type":"error"`},
		{"a tool call", "/mcp/files", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`, `"isError":true`},
		{"a held tool call", "/mcp/files", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"gated"}}}`, `"isError":true`},
		{"a plain request", "/up/test/x", `{}`, `"status":503`},
	} {
		t.Run(door.name, func(t *testing.T) {
			if body := proxytest.ReadAll(t, g.Post(t.Context(), door.path, door.body).Body); !strings.Contains(body, door.want) {
				t.Errorf("got %s", body)
			}
		})
	}
	if n := len(seen.All()); n != 0 {
		t.Errorf("%d requests went on unlogged", n)
	}
}
