package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A request that a filter asks about is held, and answered before the filter gives up.
func TestFiltersAskWhereTheConfigurationSays(t *testing.T) {
	c := configuration(t)
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0", ExtAuthz: "127.0.0.1:0"}
	a, err := app.New(t.Context(), c, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{t: t, app: a, dir: c.StateDir}
	t.Cleanup(s.stop)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := ""
	for _, l := range a.Listeners() {
		if l.Name == "ext_authz" {
			at = l.Addr
		}
	}
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"rm -rf /srv"}}}`
	resp, err := authv3.NewAuthorizationClient(conn).Check(t.Context(), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
		Method: "POST", Path: "/mcp", Host: "mcp.example.com", Scheme: "https", Body: "cut", Headers: map[string]string{"content-type": "application/json", "x-envoy-auth-partial-body": "true"},
	}}}})
	if err != nil || resp.GetDeniedResponse().GetStatus().GetCode() != 413 {
		t.Fatalf("a body that was cut: %v %v", resp, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	resp, err = authv3.NewAuthorizationClient(conn).Check(ctx, &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
		Method: "POST", Path: "/mcp", Host: "mcp.example.com", Scheme: "https", Body: call, Headers: map[string]string{"content-type": "application/json"},
	}}}})
	if err != nil || resp.GetDeniedResponse().GetStatus().GetCode() != 503 || !strings.Contains(resp.GetDeniedResponse().GetBody(), "ask again") {
		t.Errorf("nobody has answered: %v %v", resp, err)
	}
}
