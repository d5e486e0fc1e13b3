package proxy_test

import (
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/store"
)

// What fails inside Holdgate may name files of the machine. Agents are told that something failed, and at the doors of
// calls where the log says why; the log has all of it.
func TestAgentsAreNotToldWhereTheStoreIs(t *testing.T) {
	t.Parallel()
	answers := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"gated"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`)
	}
	asks := func(path, body string) func(*proxytest.Sidecar) string {
		return func(g *proxytest.Sidecar) string {
			_, answer := g.AskAPI(http.MethodPost, path, body, "Authorization", "Bearer "+proxytest.AnnsToken, "Accept", "application/json, text/event-stream")
			return answer
		}
	}
	for _, tt := range []struct {
		name string
		ask  func(*proxytest.Sidecar) string
		at   bool // it is told where in the log the error is
	}{
		{"a model", asks("/up/test/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"Bash","input_schema":{"type":"object"}}]}`), true},
		{"MCP", asks("/mcp/files", proxytest.ToolCall("1", "gated")), true},
		{"a hook", asks("/v1/hooks/claude", `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/w","tool_name":"Bash","tool_input":{"command":"gated"},"tool_use_id":"toolu_1"}`), true},
		{"an editor", asks("/acp/calls", `{"folder":"/w","message":{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"x","content":"gated"}}}`), true},
		{"a gate", asks("/v1/gates", `{"type":"before_commit","message":"Commit?"}`), false},
		{"AuthZEN", asks("/access/v1/evaluation", `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"gated"}}`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log, disk := &lines{}, &proxytest.FailingStore{Prefix: "audit/"}
			_, opts := withSpans(t)
			up := proxytest.NewUpstream(t, http.HandlerFunc(answers))
			g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }},
				map[string]string{"test": up}, map[string]string{"files": up + "/mcp"}, append(opts, func(c *proxy.Config) {
					c.Tracer, c.Logger = nil, slog.New(trace.LogHandler(slog.NewTextHandler(log, nil)))
				})...)
			disk.On.Store(true)
			answer := tt.ask(g)
			disk.On.Store(false)
			if strings.Contains(answer, "disk is full") || answer == "" {
				t.Errorf("the agent is told %s", answer)
			}
			if !strings.Contains(log.text(), "the disk is full") {
				t.Errorf("the log has no cause: %s", log.text())
			}
			if at := regexp.MustCompile(`request=[0-9a-z]{13}`).FindString(answer); tt.at && (at == "" || !strings.Contains(log.text(), at)) {
				t.Errorf("the agent is told %s, and the log is %s", answer, log.text())
			}
		})
	}
}
