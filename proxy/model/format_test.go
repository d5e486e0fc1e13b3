package model_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

func TestCallsAreGatedWhereTheConfigurationNamesTheFormat(t *testing.T) {
	t.Parallel()
	answer := strings.Replace(proxytest.MessageWithCall, `"x"`, `"forbidden"`, 1)
	var seen proxytest.Counter
	g, client, up := proxytest.Unnamed(t, proxytest.Answer(&seen, 200, answer), func(c *proxy.Config) {
		c.Formats = []route.Format{{Host: c.MCP["other"].Host, Path: "/llm", Name: "anthropic"}}
	})
	if status, body := g.Send(client, http.MethodPost, up+"/llm/ask", proxytest.AskPlain, proxytest.TypeJSON); strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := g.Send(client, http.MethodPost, up+"/llm/ask", `{"messages":1,"messages":2}`, proxytest.TypeJSON); status != 400 || len(seen.All()) != 1 {
		t.Errorf("what is not understood: status %d: %s", status, body)
	}
	if status, body := g.Send(client, http.MethodPost, up+"/elsewhere", proxytest.AskPlain, proxytest.TypeJSON); status != 200 || body != answer {
		t.Errorf("elsewhere: status %d: %s", status, body)
	}
}

// Where only the configuration names the format, no path says whether a stream is
// wanted: the answer's type does, also for a client that asks again.
func TestFormatsWhosePathTellsAreGatedWithoutIt(t *testing.T) {
	t.Parallel()
	gemini := func(parts string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"finishReason":"STOP","index":0}]}`
	}
	geminiCall := func(command string) string {
		return gemini(`{"functionCall":{"name":"Bash","args":{"command":"` + command + `"}}}`)
	}
	converse := func(command string) string {
		return `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"Bash","input":{"command":"` + command + `"}}}]}},"stopReason":"tool_use"}`
	}
	const geminiAsk = `{"contents":[{"role":"user","parts":[{"text":"go"}]}]}`
	for _, tt := range []struct {
		name, format, ask, typ string
		answer                 func(command string) string
		mark                   string
	}{
		{"gemini, plain", "gemini", geminiAsk, "application/json", geminiCall, "functionCall"},
		{"gemini, streamed", "gemini", geminiAsk, "text/event-stream", func(command string) string { return "data: " + geminiCall(command) + "\r\n\r\n" }, "functionCall"},
		{"bedrock, plain", "bedrock", converseBody, "application/json", converse, "toolUseId"},
		{"bedrock, streamed", "bedrock", converseBody, "application/vnd.amazon.eventstream", func(command string) string { return strings.Join(converseCall(command), "") }, "toolUseId"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var command atomic.Value
			g, client, up := proxytest.Unnamed(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tt.typ)
				_, _ = io.WriteString(w, tt.answer(command.Load().(string)))
			}), func(c *proxy.Config) {
				c.Formats = []route.Format{{Host: c.MCP["other"].Host, Path: "/llm", Name: tt.format}}
			})
			ask := func(ctx context.Context) *http.Response {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, up+"/llm/ask", strings.NewReader(tt.ask))
				proxytest.Must(t, err)
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					return nil
				}
				t.Cleanup(func() { resp.Body.Close() })
				return resp
			}
			command.Store("ls")
			if got := proxytest.ReadAll(t, ask(t.Context()).Body); got != tt.answer("ls") {
				t.Errorf("allowed, it was changed: %q", got)
			}
			command.Store("forbidden")
			if got := proxytest.ReadAll(t, ask(t.Context()).Body); strings.Contains(got, tt.mark) || !strings.Contains(got, proxytest.NoticeWord) {
				t.Errorf("denied, it is %q", got)
			}
			command.Store("gated")
			ctx, hangUp := context.WithCancel(t.Context())
			left := make(chan struct{})
			go func() { defer close(left); ask(ctx) }()
			held := g.Pending(1)[0]
			hangUp()
			<-left
			g.Noticed()
			g.Decide(held, holdgate.AnswerApprove, "")
			resp := ask(t.Context())
			if got := proxytest.ReadAll(t, resp.Body); got != tt.answer("gated") || !strings.HasPrefix(resp.Header.Get("Content-Type"), tt.typ) {
				t.Errorf("approved, the client that came back got %q of type %s", got, resp.Header.Get("Content-Type"))
			}
			for _, e := range g.Entries(audit.TypeDecision) {
				if e.Call.Model != "" {
					t.Errorf("the path was taken for a model's name: %q", e.Call.Model)
				}
			}
		})
	}
}
