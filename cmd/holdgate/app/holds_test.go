package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/proxytest"
)

// holdUpstream is a model that runs a command, as a stream where that is asked for, and an
// MCP server with tasks.
func holdUpstream(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch text := string(body); {
	case strings.Contains(text, `"initialize"`):
		proxytest.MCPJSON(200, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}`)(w, r)
	case strings.Contains(text, `"jsonrpc"`):
		proxytest.MCPJSON(200, proxytest.ToolResult)(w, r)
	case strings.Contains(text, `"stream":true`):
		proxytest.MCPEvents(proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "rm -rf /srv/streamed"), proxytest.MessageEnd("tool_use"))(w, r)
	default:
		proxytest.Calling(&proxytest.Counter{}, "rm -rf /srv/plain").ServeHTTP(w, r)
	}
}

// Each way in which a client can wait is counted under its own word, and begins at zero.
func TestHoldsAreCountedByHowTheClientWaits(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(holdUpstream))
	t.Cleanup(upstream.Close)
	c := configuration(t)
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
	c.Upstreams = map[string]config.Upstream{"anthropic": {URL: upstream.URL}}
	c.MCP = map[string]config.MCP{"files": {URL: upstream.URL}}
	c.Holds.MCPWait = config.Duration(time.Hour)
	a, err := app.New(t.Context(), c, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{t: t, app: a, dir: c.StateDir}
	t.Cleanup(s.stop)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	doors := map[string]string{}
	for _, l := range a.Listeners() {
		doors[l.Name] = l.Addr
	}
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	post := func(path, body string, header ...string) {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+doors["agents"]+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	counts := func() string {
		_, text := get(t, "http://"+doors["metrics"]+"/metrics")
		var list []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "holdgate_holds_total{") {
				list = append(list, strings.TrimSpace(line))
			}
		}
		return strings.Join(list, "\n")
	}
	want := map[gate.Rung]int{}
	is := func() string {
		var list []string
		for _, r := range []gate.Rung{"access", "again", "gate", "hook", "line", "stream", "task"} {
			list = append(list, fmt.Sprintf("holdgate_holds_total{rung=%q} %d", r, want[r]))
		}
		return strings.Join(list, "\n")
	}
	if got := counts(); got != is() {
		t.Fatalf("at first:\n%s", got)
	}
	const messages, tool = "/up/anthropic/v1/messages", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"rm -rf /srv/%d"}%s}}`
	hook := `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/w","tool_name":"Bash","tool_input":{"command":"rm -rf /srv/%d"},"tool_use_id":"toolu_%d"}`
	both := "application/json, text/event-stream"
	post("/mcp/files", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "Accept", both)
	for name, tt := range map[string]struct {
		path, body, accept string
		want               []gate.Rung
	}{
		"a plain answer of a model":         {messages, proxytest.AskPlain, "", []gate.Rung{gate.RungLine}},
		"a streamed one":                    {messages, proxytest.AskStream, "", []gate.Rung{gate.RungStream}},
		"a call of MCP":                     {"/mcp/files", fmt.Sprintf(tool, 2, 2, ""), "application/json", []gate.Rung{gate.RungLine}},
		"one whose client takes a stream":   {"/mcp/files", fmt.Sprintf(tool, 3, 3, ""), both, []gate.Rung{gate.RungStream}},
		"one whose client takes a task":     {"/mcp/files", fmt.Sprintf(tool, 4, 4, `,"task":{"ttl":60000}`), both, []gate.Rung{gate.RungTask}},
		"a gate":                            {"/v1/gates", `{"type":"custom","message":"May I?"}`, "", []gate.Rung{gate.RungGate}},
		"a hook":                            {"/v1/hooks/claude?wait=5m", fmt.Sprintf(hook, 5, 5), "", []gate.Rung{gate.RungHook}},
		"a hook that does not wait so long": {"/v1/hooks/claude?wait=1ms", fmt.Sprintf(hook, 6, 6), "", []gate.Rung{gate.RungHook, gate.RungAgain}},
	} {
		for _, r := range tt.want {
			want[r]++
		}
		header := []string{}
		if tt.accept != "" {
			header = []string{"Accept", tt.accept, "Mcp-Session-Id", "s1", "Mcp-Protocol-Version", "2025-11-25"}
		}
		go post(tt.path, tt.body, header...)
		proxytest.Await(t, name, func() (bool, any) {
			got := counts()
			return got == is(), got
		})
	}
}
