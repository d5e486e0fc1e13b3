package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/upstream"
)

func TestAConfiguredMCPServerIsGatedThroughTheForwardProxy(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/mcp", "/mcp/", "//mcp", "/MCP", "/mcp;x=1", "/mcp%20", "/mcp.json", "/mcp/sub?x=1", "/x/../mcp"} {
		for _, inTunnel := range []bool{false, true} {
			name := path + ", absolute form"
			if inTunnel {
				name = path + ", in a tunnel"
			}
			t.Run(name, func(t *testing.T) {
				g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult), proxytest.WithPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.remove"} if {
	input.tool.server == "files"
	input.door == "forward"
}
`))
				client := g.Proxied()
				if inTunnel {
					client = tunnelled(g)
				}
				base := *g.Config.MCP["files"]
				base.Path = ""
				// Without a media type: what is known to be MCP needs none.
				status, body := g.Send(client, http.MethodPost, base.String()+path, proxytest.ToolCall("1", "x"), nil)
				if !strings.Contains(body, "test.remove") || len(seen.All()) != 0 {
					t.Errorf("status %d, sent on %d times: %s", status, len(seen.All()), body)
				}
			})
		}
	}
}

func TestMCPOnAHostThatNobodyNamedIsGated(t *testing.T) {
	t.Parallel()
	call, batch := proxytest.ToolCall("1", "forbidden"), "["+proxytest.ToolCall("1", "x")+","+proxytest.ToolCall("2", "forbidden")+"]"
	events := http.Header{"Accept": {"application/json, text/event-stream"}}
	tests := []struct {
		name   string
		body   string
		header http.Header
		gated  bool
	}{
		{"a call", call, proxytest.TypeJSON, true},
		{"a call of a client that names no type", call, events, true},
		{"a batch", batch, proxytest.TypeJSON, true},
		{"a call after a byte order mark", "\xEF\xBB\xBF" + call, proxytest.TypeJSON, true},
		{"a call with its method spelled otherwise", strings.Replace(call, `"method"`, `"m\u0065thod"`, 1), proxytest.TypeJSON, true},
		{"a call in UTF-16", proxytest.UTF16(call), proxytest.TypeJSON, true},
		{"a call with two methods", strings.Replace(call, `{`, `{"method":"ping",`, 1), proxytest.TypeJSON, true},
		{"a call in gzip", proxytest.Gzipped(call), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, true},
		{"a call that is not coded as it says", call, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, true},
		{"a call in a coding that nobody knows", call, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"own"}}, true},
		{"another method", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, proxytest.TypeJSON, false},
		{"JSON of another kind", `{"a":[1,2,{"method":"tools/call"}]}`, proxytest.TypeJSON, false},
		{"JSON that is cut", `{"a":`, proxytest.TypeJSON, false},
		{"a call as text", call, http.Header{"Content-Type": {"text/plain"}}, true},
		{"a call as a picture", call, http.Header{"Content-Type": {"image/png"}}, true},
		{"a call as bytes", call, http.Header{"Content-Type": {"application/octet-stream"}}, true},
		{"a call as a picture in gzip", proxytest.Gzipped(call), http.Header{"Content-Type": {"image/png"}, "Content-Encoding": {"gzip"}}, true},
		{"a picture", "\x89PNG{", http.Header{"Content-Type": {"image/png"}}, false},
		{"a file of a conversation", `{"model":"m","messages":[{"role":"user","content":"go"}]}`, http.Header{"Content-Type": {"application/octet-stream"}}, false},
		{"an unknown coding", "x", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"own"}}, false},
	}
	for _, tt := range tests {
		for door, forward := range map[string]bool{"base-URL": false, "forward": true} {
			if !forward && !tt.gated {
				continue // a host that serves models asks for more
			}
			t.Run(tt.name+", "+door, func(t *testing.T) {
				var seen proxytest.Counter
				up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, proxytest.ToolResult))
				// Named as an MCP server of another path, so that it may be dialled.
				upstreams := map[string]string{"test": up}
				if forward {
					upstreams = nil
				}
				g := proxytest.NewTo(t, upstreams, map[string]string{"other": up + "/other"})
				client, url := g.Client, g.URL+"/up/test/anything"
				if forward {
					client, url = g.Proxied(), up+"/anything"
				}
				status, body := g.Send(client, http.MethodPost, url, tt.body, tt.header)
				sent := seen.All()
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
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, proxytest.ToolResult))
	g := proxytest.NewTo(t, nil, map[string]string{"other": up + "/other"})
	client := g.Proxied()
	got := make(chan string, 1)
	go func() {
		resp, err := client.Post(up+"/anything", "application/json", strings.NewReader(proxytest.ToolCall("1", "gated")))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	req := g.Pending(1)[0]
	if req.Call.Tool.Server != strings.TrimPrefix(up, "http://") {
		t.Errorf("the server is %q", req.Call.Tool.Server)
	}
	g.Decide(req, holdgate.AnswerApprove, "")
	if body := <-got; body != proxytest.ToolResult || len(seen.All()) != 1 || seen.All()[0] != proxytest.ToolCall("1", "gated") {
		t.Errorf("got %s, sent on %q", body, seen.All())
	}
}

func TestBodiesTooLargeToLookIntoPassOnlyElsewhere(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{}`))
	g := proxytest.NewTo(t, map[string]string{"test": up}, map[string]string{"other": up + "/other"}, func(c *proxy.Config) { c.Limits.Body = 4096 })
	large := `{"a":"` + strings.Repeat("x", 8192) + `"}`
	if status, _ := g.Send(g.Client, http.MethodPost, g.URL+"/up/test/x", large, proxytest.TypeJSON); status != 413 || len(seen.All()) != 0 {
		t.Errorf("a host that serves models: status %d, sent on %d times", status, len(seen.All()))
	}
	if status, _ := g.Send(g.Client, http.MethodPost, g.URL+"/up/test/x", "file"+large, nil); status != 200 || len(seen.All()) != 1 {
		t.Errorf("a file for a host that serves models: status %d, sent on %d times", status, len(seen.All()))
	}
	g = proxytest.NewTo(t, nil, map[string]string{"other": up + "/other"}, func(c *proxy.Config) { c.Limits.Body = 4096 })
	if status, _ := g.Send(g.Proxied(), http.MethodPost, up+"/x", large, proxytest.TypeJSON); status != 200 || len(seen.All()) != 2 || seen.All()[1] != large {
		t.Errorf("another host: status %d, sent on %d times", status, len(seen.All()))
	}
}

func TestAModelRequestThatNobodyReadsIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		header                   http.Header
		refused                  bool
	}{
		{"messages", "POST", "/own/road", `{"messages":[]}`, proxytest.TypeJSON, true},
		{"input", "POST", "/own/road", ` {"a":1,"input":"x"}`, proxytest.TypeJSON, true},
		{"contents", "PUT", "/own/road", `{"contents":[]}`, nil, true},
		{"prompt", "PATCH", "/own/road", `{"prompt":""}`, http.Header{"Content-Type": {"text/plain"}}, true},
		{"another case", "post", "/own/road", `{"Messages":[]}`, nil, true},
		{"another case to some", "POST", "/own/road", `{"meſſages":[]}`, nil, true},
		{"in a list", "POST", "/own/road", `[1,{"messages":[]}]`, proxytest.TypeJSON, true},
		{"by a method that has no body", "DELETE", "/own/road", `{"messages":[]}`, proxytest.TypeJSON, true},
		{"JSON to lenient readers", "POST", "/own/road", `{"a":NaN,"messages":[]}`, proxytest.TypeJSON, true},
		{"two documents", "POST", "/own/road", `{}{"messages":[]}`, proxytest.TypeJSON, true},
		{"in another charset", "POST", "/own/road", "\xc0\x7fmessages", http.Header{"Content-Type": {"application/json; charset=ibm037"}}, true},
		{"of two types", "POST", "/own/road", `x`, http.Header{"Content-Type": {"text/plain", "application/json"}}, true},
		{"a remote procedure call", "POST", "/own.Road/Ask", "\x00\x00\x00\x00\x01x", http.Header{"Content-Type": {"application/grpc"}}, true},
		{"requests in a request", "POST", "/own/road", "--b\r\n\r\nPOST /v1/messages", http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}, true},
		{"a text that begins like JSON", "POST", "/v1/files", `{"a": 1,`, http.Header{"Content-Type": {"text/plain"}}, false},
		{"gzip", "POST", "/own/road", proxytest.Gzipped(`{"messages":[]}`), http.Header{"Content-Encoding": {"gzip"}}, true},
		{"an unknown coding", "POST", "/own/road", "x", http.Header{"Content-Encoding": {"own"}}, true},
		{"a road that looks harmless", "POST", "/own;/embeddings", `{"input":"x"}`, proxytest.TypeJSON, true},
		{"text completions", "POST", "/v1/complete", `{}`, proxytest.TypeJSON, true},
		{"a known road with a parameter", "POST", "/v1/realtime;x=1", `{}`, nil, true},
		{"a known road with a blank", "POST", "/v1/realtime%20", `{}`, nil, true},
		{"a known road with an ending", "POST", "/v1/realtime.json", `{}`, nil, true},
		{"a known road in capitals", "POST", "/V1/%52ealtime", `{}`, nil, true},
		{"a known road by a method in small letters", "post", "/v1/realtime", `{}`, nil, true},
		{"what Vertex AI predicts in no form that is known", "POST", "/v1/publishers/other/models/m:rawPredict", `{"messages":[]}`, proxytest.TypeJSON, true},
		{"what Vertex AI counts", "POST", "/v1/publishers/anthropic/models/count-tokens:rawPredict", `{"messages":[]}`, proxytest.TypeJSON, false},
		{"a count of tokens", "POST", "/v1/messages/count_tokens", `{"messages":[]}`, proxytest.TypeJSON, false},
		{"embeddings", "POST", "/v1/embeddings", `{"input":"x"}`, proxytest.TypeJSON, false},
		{"messages further in", "POST", "/own/road", `{"a":{"messages":[]}}`, proxytest.TypeJSON, false},
		{"a file", "POST", "/v1/files", "--b\r\nmessages", http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}, false},
		{"no body", "POST", "/v1/batches/b_1/cancel", "", nil, false},
	}
	for _, allowed := range []bool{false, true} {
		for door, forward := range map[string]bool{"base-URL": false, "forward": true} {
			var seen proxytest.Counter
			up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{}`))
			g := proxytest.NewTo(t, map[string]string{"test": up}, nil, func(c *proxy.Config) { c.AllowUnsupported = allowed })
			client, url := g.Client, g.URL+"/up/test"
			if forward {
				client, url = g.Proxied(), up
			}
			for _, tt := range tests {
				name := tt.name + ", " + door
				if allowed {
					name += ", where the configuration lets it through"
				}
				t.Run(name, func(t *testing.T) {
					before := len(seen.All())
					status, body := g.Send(client, tt.method, url+tt.path, tt.body, tt.header)
					refused := tt.refused && !allowed
					if (status >= 400) != refused || (len(seen.All()) == before) != refused {
						t.Errorf("status %d, reached the upstream: %t: %s", status, len(seen.All()) > before, body)
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
			g := proxytest.New(t, proxytest.Answer(&proxytest.Counter{}, 200, strings.Replace(proxytest.MessageWithCall, `"x"`, `"forbidden"`, 1)))
			status, body := g.Send(g.Client, tt.method, g.URL+"/up/test"+tt.path, proxytest.AskPlain, proxytest.TypeJSON)
			if strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
}

func TestMethodsThatMCPDoesNotHaveAreRefused(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{"PUT": "405", "PATCH": "405", "QUERY": "405", "post": "test.deny", "Post": "test.deny"} {
		g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
		status, body := g.Send(g.Client, method, g.URL+"/mcp/files", proxytest.ToolCall("1", "forbidden"), proxytest.TypeJSON)
		if len(seen.All()) != 0 || strconv.Itoa(status) != want && !strings.Contains(body, want) {
			t.Errorf("%s: status %d, sent on %d times: %s", method, status, len(seen.All()), body)
		}
	}
}

func TestAnAnswerIsNotPickedUpByAnotherAccount(t *testing.T) {
	t.Parallel()
	for _, name := range upstream.CredentialHeaders {
		t.Run(name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, strings.Replace(proxytest.MessageWithCall, `"x"`, `"gated"`, 1)))},
				map[string]string{"files": proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, proxytest.ToolResult))}, func(c *proxy.Config) { c.Limits.Budget = 1; c.Limits.MCP = 1 })
			for i, key := range []string{"one", "two", "one"} {
				h := http.Header{"Content-Type": {"application/json"}, name: {key}}
				status, body := g.Send(g.Client, http.MethodPost, g.URL+proxytest.Messages, proxytest.AskPlain, h)
				if status != 503 {
					t.Fatalf("status %d: %s", status, body)
				}
				g.Send(g.Client, http.MethodPost, g.URL+"/mcp/files", proxytest.ToolCall("1", "gated"), h)
				if n := len(g.Pending([]int{2, 4, 4}[i])); len(seen.All()) != min(i+1, 2) {
					t.Errorf("%d requests pend, the model was asked %d times", n, len(seen.All()))
				}
			}
		})
	}
}

// tunnelled returns a client that asks for a tunnel for plain HTTP, too.
func tunnelled(g *proxytest.Sidecar) *http.Client {
	dial := func(_ context.Context, _, addr string) (net.Conn, error) {
		c, resp := g.Tunnel(addr)
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("CONNECT: status %d", resp.StatusCode)
		}
		return c, nil
	}
	tr := &http.Transport{DialContext: dial, DisableCompression: true}
	g.T.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
