package mcpproxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

// calling sends a message and returns what will come of it.
func calling(g *proxytest.Sidecar, body string, header http.Header) <-chan string {
	got := make(chan string, 1)
	go func() { got <- proxytest.ReadAll(g.T, g.Call(g.T.Context(), body, header).Body) }()
	return got
}

func TestAnEditedToolCallReachesTheServer(t *testing.T) {
	t.Parallel()
	const note = `"_meta":{"io.github.holdgate/approval":{"message":"[holdgate] The approver (ann) approved the call to remove with other arguments than you gave: what runs, and its result, are of the edited call."}}`
	result := strings.Replace(proxytest.ToolResult, "}] }", "}] ,"+note+"}", 1)
	tests := []struct {
		name, accept string
		answer       http.HandlerFunc
		want         string
	}{
		{"answered with JSON", "", proxytest.MCPJSON(200, proxytest.ToolResult), "event: message\ndata: " + result + "\n\n"},
		{"answered with events", "", proxytest.MCPEvents("id: 7\ndata: \n\n", "id: 8\ndata: "+proxytest.ToolResult[:9], proxytest.ToolResult[9:]+"\n\n", ": end\n\n"), "id: 7\ndata: \n\nid: 8\ndata: " + result + "\n\n: end\n\n"},
		{"answered with JSON to a client that takes no events", "application/json", proxytest.MCPJSON(200, proxytest.ToolResult), result},
		{"answered with events all the same", "application/json", proxytest.MCPEvents("data: " + proxytest.ToolResult + "\r\n\r\n"), "data: " + result + "\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var header http.Header
			g, seen := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
				header = r.Header.Clone()
				tt.answer(w, r)
			})
			h := http.Header{"Mcp-Param-Path": {"gated"}, "Mcp-Name": {"remove"}}
			if tt.accept != "" {
				h.Set("Accept", tt.accept)
			}
			got := calling(g, proxytest.ToolCall("1", "gated"), h)
			g.Edit(g.Pending(1)[0], "ann", `{"path":"b", "n":1.50}`, "")
			if body := <-got; body != tt.want && !strings.HasSuffix(body, "\n\n"+tt.want) {
				t.Errorf("got\n%s\nwant\n%s", body, tt.want)
			}
			if want := strings.Replace(proxytest.ToolCall("1", "gated"), `{"path":"gated"}`, `{"path":"b", "n":1.50}`, 1); len(seen.All()) != 1 || seen.All()[0] != want {
				t.Errorf("the server got %q", seen.All())
			}
			if header.Get("Mcp-Param-Path") != "b" || header.Get("Mcp-Name") != "remove" {
				t.Errorf("the headers do not mirror it: %v", header)
			}
			if used := g.Entries("used"); len(used) != 1 {
				t.Errorf("used: %+v", used)
			}
			g.Verified()
		})
	}
}

func TestAnEditThatHeadersCannotMirrorIsNotSent(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
	body := strings.Replace(proxytest.ToolCall("1", "gated"), `"path":"gated"`, `"path":"gated","to":"gated"`, 1)
	got := calling(g, body, http.Header{"Mcp-Param-Path": {"gated"}})
	g.Edit(g.Pending(1)[0], "ann", `{"path":"b","to":"gated"}`, "")
	if out := <-got; !strings.Contains(out, "which cannot be sent (keeping header Mcp-Param-Path in step") || !strings.Contains(out, `"isError":true`) {
		t.Errorf("got %s", out)
	}
	if len(seen.All()) != 0 {
		t.Errorf("the server got %q", seen.All())
	}
}

func TestEditedRefusedAndNotedCallsOfABatch(t *testing.T) {
	t.Parallel()
	const results = `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`
	for _, refused := range []bool{false, true} {
		g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, results))
		got := calling(g, "["+proxytest.ToolCall("1", "gated one")+", "+proxytest.ToolCall("2", "gated two")+"]", nil)
		for _, r := range g.Pending(2) {
			switch {
			case strings.Contains(r.Briefing.Summary, "one"):
				g.Edit(r, "ann", `{"path":"edited"}`, "")
			case refused:
				g.Decide(r, holdgate.AnswerDeny, "no")
			default:
				g.Decide(r, holdgate.AnswerApprove, "go")
			}
		}
		body := <-got
		if refused {
			if len(seen.All()) != 0 || strings.Count(body, `"isError":true`) != 2 {
				t.Errorf("one refused: the server got %q, the client\n%s", seen.All(), body)
			}
			continue
		}
		if want := "[" + proxytest.ToolCall("1", "edited") + ", " + proxytest.ToolCall("2", "gated two") + "]"; len(seen.All()) != 1 || seen.All()[0] != want {
			t.Errorf("the server got %q", seen.All())
		}
		if !strings.Contains(body, `"id":1,"result":{"_meta":`) || !strings.Contains(body, "and says: go") {
			t.Errorf("the client got\n%s", body)
		}
	}
}

func TestANoteIsNoReasonToLoseAnAnswer(t *testing.T) {
	t.Parallel()
	g, _ := proxytest.NewMCP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`)
	})
	got := calling(g, proxytest.ToolCall("1", "gated"), http.Header{"Accept": {"application/json"}})
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "go")
	if body := <-got; body != `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}` {
		t.Errorf("got %s", body)
	}
}
