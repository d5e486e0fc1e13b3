package proxy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// send makes a POST with a client and reads the answer.
func (g *sidecar) send(client *http.Client, method, url, body string, header http.Header) (int, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, url, strings.NewReader(body))
	must(g.t, err)
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := client.Do(req)
	must(g.t, err)
	defer resp.Body.Close()
	return resp.StatusCode, readAll(g.t, resp.Body)
}

var typeJSON = http.Header{"Content-Type": {"application/json"}}

func TestAConfiguredMCPServerIsGatedThroughTheForwardProxy(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/mcp", "/mcp/", "//mcp", "/MCP", "/mcp;x=1", "/mcp%20", "/mcp.json", "/mcp/sub?x=1", "/x/../mcp"} {
		for _, inTunnel := range []bool{false, true} {
			name := path + ", absolute form"
			if inTunnel {
				name = path + ", in a tunnel"
			}
			t.Run(name, func(t *testing.T) {
				g, seen := newMCPGate(t, answerJSON(200, toolResult), withPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.remove"} if {
	input.tool.server == "files"
	input.door == "forward"
}
`))
				client := g.proxied()
				if inTunnel {
					client = g.tunnelled()
				}
				base := *g.s.Config().MCP["files"]
				base.Path = ""
				// Without a media type: what is known to be MCP needs none.
				status, body := g.send(client, http.MethodPost, base.String()+path, toolCall("1", "x"), nil)
				if !strings.Contains(body, "test.remove") || len(seen.all()) != 0 {
					t.Errorf("status %d, sent on %d times: %s", status, len(seen.all()), body)
				}
			})
		}
	}
}

func TestMCPOnAHostThatNobodyNamedIsGated(t *testing.T) {
	t.Parallel()
	call, batch := toolCall("1", "forbidden"), "["+toolCall("1", "x")+","+toolCall("2", "forbidden")+"]"
	events := http.Header{"Accept": {"application/json, text/event-stream"}}
	tests := []struct {
		name   string
		body   string
		header http.Header
		gated  bool
	}{
		{"a call", call, typeJSON, true},
		{"a call of a client that names no type", call, events, true},
		{"a batch", batch, typeJSON, true},
		{"a call after a byte order mark", "\xEF\xBB\xBF" + call, typeJSON, true},
		{"a call with its method spelled otherwise", strings.Replace(call, `"method"`, `"m\u0065thod"`, 1), typeJSON, true},
		{"a call in UTF-16", wide(call), typeJSON, true},
		{"a call with two methods", strings.Replace(call, `{`, `{"method":"ping",`, 1), typeJSON, true},
		{"a call in gzip", gzipped(call), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, true},
		{"another method", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, typeJSON, false},
		{"JSON of another kind", `{"a":[1,2,{"method":"tools/call"}]}`, typeJSON, false},
		{"JSON that is cut", `{"a":`, typeJSON, false},
		{"a call as text", call, http.Header{"Content-Type": {"text/plain"}}, true},
		{"a picture", call, http.Header{"Content-Type": {"image/png"}}, false},
		{"an unknown coding", "x", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"own"}}, false},
	}
	for _, tt := range tests {
		for door, forward := range map[string]bool{"base-URL": false, "forward": true} {
			if !forward && !tt.gated {
				continue // a host that serves models asks for more
			}
			t.Run(tt.name+", "+door, func(t *testing.T) {
				var seen counter
				up := newUpstream(t, plainly(&seen, 200, toolResult))
				// Named as an MCP server of another path, so that it may be dialled.
				upstreams := map[string]string{"test": up}
				if forward {
					upstreams = nil
				}
				g := newGateTo(t, upstreams, map[string]string{"other": up + "/other"})
				client, url := g.client, g.url+"/up/test/anything"
				if forward {
					client, url = g.proxied(), up+"/anything"
				}
				status, body := g.send(client, http.MethodPost, url, tt.body, tt.header)
				sent := seen.all()
				if tt.gated && (len(sent) != 0 || !strings.Contains(body, `"jsonrpc"`)) {
					t.Errorf("status %d, sent on %d times: %s", status, len(sent), body)
				}
				if !tt.gated && (len(sent) != 1 || sent[0] != tt.body || status != 200) {
					t.Errorf("status %d, sent on %q", status, sent)
				}
			})
		}
	}
}

func TestAHeldCallToAHostThatNobodyNamedIsSentOnAsItCame(t *testing.T) {
	t.Parallel()
	var seen counter
	up := newUpstream(t, plainly(&seen, 200, toolResult))
	g := newGateTo(t, nil, map[string]string{"other": up + "/other"})
	client := g.proxied()
	got := make(chan string, 1)
	go func() {
		resp, err := client.Post(up+"/anything", "application/json", strings.NewReader(toolCall("1", "gated")))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	req := g.pending(1)[0]
	if req.Call.Tool.Server != strings.TrimPrefix(up, "http://") {
		t.Errorf("the server is %q", req.Call.Tool.Server)
	}
	g.decide(req, holdgate.AnswerApprove, "")
	if body := <-got; body != toolResult || len(seen.all()) != 1 || seen.all()[0] != toolCall("1", "gated") {
		t.Errorf("got %s, sent on %q", body, seen.all())
	}
}

func TestBodiesTooLargeToLookIntoPassOnlyElsewhere(t *testing.T) {
	t.Parallel()
	var seen counter
	up := newUpstream(t, plainly(&seen, 200, `{}`))
	g := newGateTo(t, map[string]string{"test": up}, map[string]string{"other": up + "/other"}, func(c *proxy.Config) { c.Limits.Body = 4096 })
	large := `{"a":"` + strings.Repeat("x", 8192) + `"}`
	if status, _ := g.send(g.client, http.MethodPost, g.url+"/up/test/x", large, typeJSON); status != 413 || len(seen.all()) != 0 {
		t.Errorf("a host that serves models: status %d, sent on %d times", status, len(seen.all()))
	}
	if status, _ := g.send(g.client, http.MethodPost, g.url+"/up/test/x", "file"+large, nil); status != 200 || len(seen.all()) != 1 {
		t.Errorf("a file for a host that serves models: status %d, sent on %d times", status, len(seen.all()))
	}
	g = newGateTo(t, nil, map[string]string{"other": up + "/other"}, func(c *proxy.Config) { c.Limits.Body = 4096 })
	if status, _ := g.send(g.proxied(), http.MethodPost, up+"/x", large, typeJSON); status != 200 || len(seen.all()) != 2 || seen.all()[1] != large {
		t.Errorf("another host: status %d, sent on %d times", status, len(seen.all()))
	}
}

func TestAModelRequestThatNobodyReadsIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		header                   http.Header
		refused                  bool
	}{
		{"messages", "POST", "/own/road", `{"messages":[]}`, typeJSON, true},
		{"input", "POST", "/own/road", ` {"a":1,"input":"x"}`, typeJSON, true},
		{"contents", "PUT", "/own/road", `{"contents":[]}`, nil, true},
		{"prompt", "PATCH", "/own/road", `{"prompt":""}`, http.Header{"Content-Type": {"text/plain"}}, true},
		{"another case", "post", "/own/road", `{"Messages":[]}`, nil, true},
		{"another case to some", "POST", "/own/road", `{"meſſages":[]}`, nil, true},
		{"in a list", "POST", "/own/road", `[1,{"messages":[]}]`, typeJSON, true},
		{"by a method that has no body", "DELETE", "/own/road", `{"messages":[]}`, typeJSON, true},
		{"JSON to lenient readers", "POST", "/own/road", `{"a":NaN,"messages":[]}`, typeJSON, true},
		{"two documents", "POST", "/own/road", `{}{"messages":[]}`, typeJSON, true},
		{"in another charset", "POST", "/own/road", "\xc0\x7fmessages", http.Header{"Content-Type": {"application/json; charset=ibm037"}}, true},
		{"of two types", "POST", "/own/road", `x`, http.Header{"Content-Type": {"text/plain", "application/json"}}, true},
		{"a remote procedure call", "POST", "/own.Road/Ask", "\x00\x00\x00\x00\x01x", http.Header{"Content-Type": {"application/grpc"}}, true},
		{"requests in a request", "POST", "/own/road", "--b\r\n\r\nPOST /v1/messages", http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}, true},
		{"a text that begins like JSON", "POST", "/v1/files", `{"a": 1,`, http.Header{"Content-Type": {"text/plain"}}, false},
		{"gzip", "POST", "/own/road", gzipped(`{"messages":[]}`), http.Header{"Content-Encoding": {"gzip"}}, true},
		{"an unknown coding", "POST", "/own/road", "x", http.Header{"Content-Encoding": {"own"}}, true},
		{"a road that looks harmless", "POST", "/own;/embeddings", `{"input":"x"}`, typeJSON, true},
		{"text completions", "POST", "/v1/complete", `{}`, typeJSON, true},
		{"a known road with a parameter", "POST", "/v1/realtime;x=1", `{}`, nil, true},
		{"a known road with a blank", "POST", "/v1/realtime%20", `{}`, nil, true},
		{"a known road with an ending", "POST", "/v1/realtime.json", `{}`, nil, true},
		{"a known road in capitals", "POST", "/V1/%52ealtime", `{}`, nil, true},
		{"a known road by a method in small letters", "post", "/v1/realtime", `{}`, nil, true},
		{"what Vertex AI predicts in no form that is known", "POST", "/v1/publishers/other/models/m:rawPredict", `{"messages":[]}`, typeJSON, true},
		{"what Vertex AI counts", "POST", "/v1/publishers/anthropic/models/count-tokens:rawPredict", `{"messages":[]}`, typeJSON, false},
		{"a count of tokens", "POST", "/v1/messages/count_tokens", `{"messages":[]}`, typeJSON, false},
		{"embeddings", "POST", "/v1/embeddings", `{"input":"x"}`, typeJSON, false},
		{"messages further in", "POST", "/own/road", `{"a":{"messages":[]}}`, typeJSON, false},
		{"a file", "POST", "/v1/files", "--b\r\nmessages", http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}, false},
		{"no body", "POST", "/v1/batches/b_1/cancel", "", nil, false},
	}
	for _, allowed := range []bool{false, true} {
		for door, forward := range map[string]bool{"base-URL": false, "forward": true} {
			var seen counter
			up := newUpstream(t, plainly(&seen, 200, `{}`))
			g := newGateTo(t, map[string]string{"test": up}, nil, func(c *proxy.Config) { c.AllowUnsupported = allowed })
			client, url := g.client, g.url+"/up/test"
			if forward {
				client, url = g.proxied(), up
			}
			for _, tt := range tests {
				name := tt.name + ", " + door
				if allowed {
					name += ", where the configuration lets it through"
				}
				t.Run(name, func(t *testing.T) {
					before := len(seen.all())
					status, body := g.send(client, tt.method, url+tt.path, tt.body, tt.header)
					refused := tt.refused && !allowed
					if (status >= 400) != refused || (len(seen.all()) == before) != refused {
						t.Errorf("status %d, reached the upstream: %t: %s", status, len(seen.all()) > before, body)
					}
				})
			}
		}
	}
}

func TestAModelFormatIsReadHoweverItsRoadIsSpelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, path string }{
		{"POST", "/v1/messages;x"}, {"POST", "/v1/messages%20"}, {"POST", "/v1/messages.json"}, {"post", "/v1/messages"}, {"POST", "/v1;a/MESSAGES/"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			g := newGate(t, plainly(&counter{}, 200, strings.Replace(messageWithCall, `"x"`, `"forbidden"`, 1)))
			status, body := g.send(g.client, tt.method, g.url+"/up/test"+tt.path, askPlain, typeJSON)
			if strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
}

func TestMethodsThatMCPDoesNotHaveAreRefused(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{"PUT": "405", "PATCH": "405", "QUERY": "405", "post": "test.deny", "Post": "test.deny"} {
		g, seen := newMCPGate(t, answerJSON(200, toolResult))
		status, body := g.send(g.client, method, g.url+"/mcp/files", toolCall("1", "forbidden"), typeJSON)
		if len(seen.all()) != 0 || itoa(status) != want && !strings.Contains(body, want) {
			t.Errorf("%s: status %d, sent on %d times: %s", method, status, len(seen.all()), body)
		}
	}
}

func TestAnAnswerIsNotPickedUpByAnotherAccount(t *testing.T) {
	t.Parallel()
	for _, name := range upstream.CredentialHeaders {
		t.Run(name, func(t *testing.T) {
			var seen counter
			g := newGateTo(t, map[string]string{"test": newUpstream(t, plainly(&seen, 200, strings.Replace(messageWithCall, `"x"`, `"gated"`, 1)))},
				map[string]string{"files": newUpstream(t, plainly(&seen, 200, toolResult))}, func(c *proxy.Config) { c.Limits.Budget = 1; c.Limits.MCP = 1 })
			for i, key := range []string{"one", "two", "one"} {
				h := http.Header{"Content-Type": {"application/json"}, name: {key}}
				status, body := g.send(g.client, http.MethodPost, g.url+messages, askPlain, h)
				if status != 503 {
					t.Fatalf("status %d: %s", status, body)
				}
				g.send(g.client, http.MethodPost, g.url+"/mcp/files", toolCall("1", "gated"), h)
				if n := len(g.pending([]int{2, 4, 4}[i])); len(seen.all()) != min(i+1, 2) {
					t.Errorf("%d requests pend, the model was asked %d times", n, len(seen.all()))
				}
			}
		})
	}
}

// tunnelled returns a client that asks for a tunnel for plain HTTP, too.
func (g *sidecar) tunnelled() *http.Client {
	dial := func(_ context.Context, _, addr string) (net.Conn, error) {
		c, resp := g.tunnel(addr)
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("CONNECT: status %d", resp.StatusCode)
		}
		return c, nil
	}
	tr := &http.Transport{DialContext: dial, DisableCompression: true}
	g.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func wide(s string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.String()
}
