package mcpproxy_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
)

// roleVariable makes a server of this program.
const roleVariable = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "go sdk" {
		_ = goServer().Run(context.Background(), &gosdk.StdioTransport{}) // ends with its input
		return
	}
	os.Exit(m.Run())
}

func withCommand(name, role string) proxytest.Option {
	return func(c *proxy.Config) {
		c.Commands = map[string]mcpproxy.Command{name: {Args: []string{os.Args[0]}, Env: []string{roleVariable + "=" + role}, Processes: 4}}
	}
}

const initializeGo = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// A server that runs here is gated as any other, and reached by nothing but its
// door.
func TestACommandIsGated(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, nil, withCommand("files", "go sdk"))
	resp := g.Call(t.Context(), initializeGo, nil)
	session := resp.Header.Get("Mcp-Session-Id")
	if text := proxytest.ReadAll(t, resp.Body); session == "" || !strings.Contains(text, `"serverInfo"`) {
		t.Fatalf("session %q, %s", session, text)
	}
	g.Call(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, proxytest.SessionHeader(session))
	got := calling(g, proxytest.ToolCall("1", "gated"), proxytest.SessionHeader(session))
	req := g.Pending(1)[0]
	if req.Call.Tool.Server != "files" {
		t.Errorf("asked about %+v", req.Call.Tool)
	}
	g.Decide(req, holdgate.AnswerApprove, "")
	if text := <-got; !strings.Contains(text, "removed gated") {
		t.Errorf("approved: %s", text)
	}
	if text := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("2", "forbidden"), proxytest.SessionHeader(session)).Body); !strings.Contains(text, "test.deny") {
		t.Errorf("denied: %s", text)
	}
	if resp := g.Call(t.Context(), proxytest.ToolCall("3", "x"), proxytest.SessionHeader("unknown")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown session: %d", resp.StatusCode)
	}
	for _, path := range []string{"/mcp/files/more", mcpproxy.ResourceMetadataPath + "/mcp/files"} {
		resp, err := g.Client.Get(g.URL + path)
		proxytest.Must(t, err)
		if resp.Body.Close(); resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	resp, err := g.Proxied().Get("http://files/")
	proxytest.Must(t, err)
	if resp.Body.Close(); resp.StatusCode == http.StatusOK {
		t.Errorf("through the forward proxy: %s", resp.Status)
	}
	g.Verified()
}
