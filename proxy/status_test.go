package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

// An upstream that answers as the request's path says.
func answering(status int, contentType []string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = contentType
		w.Header().Set("Location", "http://elsewhere.example/v1/messages")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	messageOfText = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	chatWithCall  = `{"error":{"message":"x"},"choices":[{"index":0,"message":{"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
)

func TestAnErrorOfTheUpstreamPassesOnlyWithoutCalls(t *testing.T) {
	t.Parallel()
	jsonType, events := []string{"application/json"}, []string{"text/event-stream"}
	stream := proxytest.MessageStart() + proxytest.MessageTool("0", "toolu_1", "x") + proxytest.MessageEnd("tool_use")
	tests := []struct {
		name   string
		path   string
		status int
		typ    []string
		body   string
		passes bool
	}{
		{"an error of the Messages API", proxytest.Messages, 400, jsonType, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, true},
		{"an error of Chat Completions", "/up/test/v1/chat/completions", 429, jsonType, `{"error":{"message":"slow down","type":"x","param":null,"code":null}}`, true},
		{"an error in a list", "/up/test/v1/chat/completions", 400, jsonType, `[{"error":{"code":400,"message":"no","details":[{"x":1}]}}]`, true},
		{"an error as web frameworks write it", proxytest.Messages, 422, jsonType, `{"detail":[{"loc":["body"],"msg":"no"}]}`, true},
		{"a gateway's page", proxytest.Messages, 502, []string{"text/html"}, "<html>Bad gateway</html>", true},
		{"no body at all", proxytest.Messages, 500, nil, "", true},
		{"a message with a call", proxytest.Messages, 400, jsonType, proxytest.MessageWithCall, false},
		{"a message with a call after blanks", proxytest.Messages, 500, []string{"text/plain"}, "\n " + proxytest.MessageWithCall, false},
		{"a message with a call in a list", proxytest.Messages, 400, jsonType, "[" + proxytest.MessageWithCall + "]", false},
		{"a chat answer with a call beside its error", "/up/test/v1/chat/completions", 400, jsonType, chatWithCall, false},
		{"what only another format's reader takes for calls", proxytest.Messages, 400, jsonType, chatWithCall, false},
		{"JSON that is cut", proxytest.Messages, 400, jsonType, proxytest.MessageWithCall[:len(proxytest.MessageWithCall)-1], false},
		{"two errors of one name", proxytest.Messages, 400, jsonType, `{"error":1,"error":2}`, false},
		{"an error of Gemini that is called an event stream", "/up/test/v1beta/models/m:streamGenerateContent?alt=sse", 404, events, "{\n  \"error\": {\"code\": 404, \"message\": \"no such model\", \"status\": \"NOT_FOUND\"}\n}\n", true},
		{"a message with a call that is called an event stream", proxytest.Messages, 400, events, proxytest.MessageWithCall, false},
		{"an event stream", proxytest.Messages, 400, events, stream, false},
		{"an event stream under another name", proxytest.Messages, 400, []string{"text/plain"}, stream, false},
		{"an event stream without names, its lines ended otherwise", proxytest.Messages, 400, nil, "\r\r data: {}\r\r", false},
		{"a stream under status 300", proxytest.Messages, 300, events, stream, false},
		{"a message under status 300", proxytest.Messages, 300, jsonType, proxytest.MessageWithCall, false},
		{"text under status 300", proxytest.Messages, 300, jsonType, messageOfText, false},
		{"a redirect that keeps the body", proxytest.Messages, 307, nil, "", false},
		{"a redirect for good", proxytest.Messages, 308, nil, "", false},
		{"not modified", proxytest.Messages, 304, nil, "", false},
		{"a status that nobody knows", proxytest.Messages, 600, events, stream, false},
	}
	for _, tt := range tests {
		for door, forward := range map[string]bool{"base-URL": false, "forward": true} {
			t.Run(tt.name+", "+door, func(t *testing.T) {
				up := proxytest.NewUpstream(t, answering(tt.status, tt.typ, tt.body))
				g := proxytest.NewTo(t, map[string]string{"test": up}, nil)
				client, url := g.Client, g.URL+tt.path
				if forward {
					client, url = g.Proxied(), up+strings.TrimPrefix(tt.path, "/up/test")
				}
				client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				resp, err := client.Post(url, "application/json", strings.NewReader(proxytest.AskStream))
				proxytest.Must(t, err)
				defer resp.Body.Close()
				body := proxytest.ReadAll(t, resp.Body)
				if tt.passes {
					if resp.StatusCode != tt.status || body != tt.body {
						t.Errorf("status %d: %s", resp.StatusCode, body)
					}
					return
				}
				rules := g.Refusals()
				if resp.StatusCode != 502 || resp.Header.Get("Location") != "" || strings.Contains(body, "toolu_1") || len(rules) != 1 || rules[0] != holdgate.RuleMalformed {
					t.Errorf("status %d, logged %v, %v: %s", resp.StatusCode, rules, resp.Header, body)
				}
			})
		}
	}
}

func TestARedirectOfAPlainRequestPasses(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, answering(307, nil, ""))
	g.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if resp := g.Post(t.Context(), "/up/test/files", "x"); resp.StatusCode != 307 || resp.Header.Get("Location") == "" {
		t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
	}
}

func TestAnMCPServerLeadsNobodyAroundTheGate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"by a redirect", answering(307, nil, "")},
		{"by status 300", answering(300, []string{"application/json"}, proxytest.ToolResult)},
		{"by events with an error's status", answering(400, []string{"text/event-stream"}, "data: {}\n\n")},
		{"by a charset", answering(200, []string{"application/json; charset=utf-7"}, proxytest.ToolResult)},
	}
	for _, tt := range tests {
		for _, what := range []string{"x", "gated"} {
			t.Run(tt.name+", "+what, func(t *testing.T) {
				g, _ := proxytest.NewMCP(t, tt.answer)
				g.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				got := make(chan string, 1)
				go func() {
					resp := g.Call(t.Context(), proxytest.ToolCall("1", what), nil)
					b, _ := io.ReadAll(resp.Body)
					got <- resp.Header.Get("Location") + string(b)
				}()
				if what == "gated" {
					g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
				}
				if body := <-got; !strings.Contains(body, "refused") || strings.Contains(body, "elsewhere") || strings.Contains(body, `"done"`) {
					t.Errorf("got: %s", body)
				}
				if rules := g.Refusals(); len(rules) != 1 || rules[0] != holdgate.RuleMalformed {
					t.Errorf("logged: %v", rules)
				}
			})
		}
	}
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		types  []string
		passes bool
	}{
		{"UTF-8", []string{"application/json; charset=utf-8"}, true},
		{"UTF-8 in capitals and quotes", []string{`application/json;charset="UTF-8"`}, true},
		{"ASCII", []string{"application/json; charset=us-ascii"}, true},
		{"no charset", []string{"application/json"}, true},
		{"a parameter that is none", []string{"application/json;"}, true},
		{"no type", nil, true},
		{"UTF-7", []string{"application/json; charset=utf-7"}, false},
		{"UTF-16", []string{"application/json; charset=UTF-16LE"}, false},
		{"a blank before the sign", []string{"application/json; charset =utf-7"}, false},
		{"what only begins like UTF-8", []string{"application/json; charset=utf-8x"}, false},
		{"two charsets", []string{"application/json; charset=utf-8; charset=utf-7"}, false},
		{"a charset in extended notation", []string{"application/json; charset*=utf-16''utf-7"}, false},
		{"two types", []string{"application/json", "application/json; charset=utf-7"}, false},
		{"two types in one", []string{"application/json, application/json; charset=utf-7"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name+", of an answer", func(t *testing.T) {
			g := proxytest.New(t, answering(200, tt.types, messageOfText))
			resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
			if body := proxytest.ReadAll(t, resp.Body); (resp.StatusCode == 200) != tt.passes || (body == messageOfText) != tt.passes {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
		})
		t.Run(tt.name+", of a request", func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Answer(&seen, 200, messageOfText))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+proxytest.Messages, strings.NewReader(proxytest.AskPlain))
			proxytest.Must(t, err)
			req.Header["Content-Type"] = tt.types
			resp, err := g.Client.Do(req)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			if (resp.StatusCode == 200) != tt.passes || (len(seen.All()) == 1) != tt.passes {
				t.Errorf("status %d, sent on %d times", resp.StatusCode, len(seen.All()))
			}
		})
	}
}
