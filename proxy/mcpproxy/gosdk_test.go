package mcpproxy_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/wire"
)

// goServer is a server with the official Go SDK, which speaks every revision.
func goServer() *gosdk.Server {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "go", Version: "1"}, nil)
	says := func(text string) *gosdk.CallToolResult {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}
	}
	type target struct {
		Path string `json:"path"`
	}
	gosdk.AddTool(s, &gosdk.Tool{Name: "remove"}, func(_ context.Context, _ *gosdk.CallToolRequest, in target) (*gosdk.CallToolResult, any, error) {
		return says("removed " + in.Path), nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "steps"}, func(ctx context.Context, req *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		for n := range 3 {
			p := &gosdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(n + 1)}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		return says("taken"), nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "greet"}, func(_ context.Context, req *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		if r, ok := req.Params.InputResponses["name"].(*gosdk.ElicitResult); ok {
			return says(fmt.Sprintf("good day, %v", r.Content["name"])), nil, nil
		}
		return &gosdk.CallToolResult{InputRequests: gosdk.InputRequestMap{"name": &gosdk.ElicitParams{Message: "who?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
		}}}}, nil, nil
	})
	return s
}

// The official Go client, in every revision that it speaks and on both roads,
// sees what it would see straight, and waits for people where it must.
func TestTheOfficialGoClientOnEveryRevision(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05 over SSE", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, road := range []string{"door", "forward proxy", "a command"} {
			t.Run(revision+", "+road, func(t *testing.T) {
				version, old := strings.CutSuffix(revision, " over SSE")
				var h http.Handler = gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return goServer() }, &gosdk.StreamableHTTPOptions{Stateless: version == "2026-07-28"})
				if old {
					h = gosdk.NewSSEHandler(func(*http.Request) *gosdk.Server { return goServer() }, nil)
				}
				up := proxytest.NewUpstream(t, h)
				servers, run := map[string]string{"go": up}, func(*proxy.Config) {}
				if road == "a command" {
					servers, run = nil, withCommand("go", "go sdk")
				}
				g := proxytest.NewTo(t, nil, servers, run)
				at, c := g.URL+"/mcp/go", g.Client
				if road == "forward proxy" {
					at, c = up, g.Proxied()
				}
				steps := make(chan float64, 3)
				client := gosdk.NewClient(&gosdk.Implementation{Name: "test", Version: "1"}, &gosdk.ClientOptions{
					ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
						return &gosdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
					},
					ProgressNotificationHandler: func(_ context.Context, r *gosdk.ProgressNotificationClientRequest) {
						if n := r.Params.Progress; r.Params.Message == "" { // the server's own
							steps <- n
						}
					},
				})
				var tr gosdk.Transport = &gosdk.StreamableClientTransport{Endpoint: at, HTTPClient: c}
				if old {
					tr = &gosdk.SSEClientTransport{Endpoint: at, HTTPClient: c}
				}
				s, err := client.Connect(t.Context(), tr, &gosdk.ClientSessionOptions{ProtocolVersion: version})
				proxytest.Must(t, err)
				defer s.Close()
				if got := s.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("they speak %s", got)
				}
				call := func(name string, arguments map[string]any) string {
					p := &gosdk.CallToolParams{Name: name, Arguments: arguments}
					p.SetProgressToken("p")
					r, err := s.CallTool(t.Context(), p)
					if err != nil {
						return err.Error()
					}
					return fmt.Sprint(r.IsError, " ", r.Content[0].(*gosdk.TextContent).Text)
				}
				if got := call("greet", nil); got != "false good day, Ann" {
					t.Errorf("elicitation: %s", got)
				}
				if got := call("steps", nil); got != "false taken" {
					t.Errorf("progress: %s", got)
				}
				for n := range 3 { // they may come after the result
					if got := <-steps; got != float64(n+1) {
						t.Errorf("progress: step %d is %v", n+1, got)
					}
				}
				if got := call("remove", map[string]any{"path": "forbidden"}); !strings.HasPrefix(got, "true "+wire.Mark) || !strings.Contains(got, "test.deny") {
					t.Errorf("denied: %s", got)
				}
				held := make(chan string, 1)
				go func() { held <- call("remove", map[string]any{"path": "gated"}) }()
				g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
				if got := <-held; got != "false removed gated" {
					t.Errorf("held and approved: %s", got)
				}
			})
		}
	}
}
