package app_test

import (
	"errors"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A request that a filter asks about is held, and answered as people decide.
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
	filter := authv3.NewAuthorizationClient(conn)
	asks := func(body string, headers map[string]string) (status int32, says string) {
		headers["content-type"] = "application/json"
		resp, err := filter.Check(t.Context(), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: "POST", Path: "/mcp", Host: "mcp.example.com", Scheme: "https", Body: body, Headers: headers,
		}}}})
		if err != nil {
			t.Error(err)
		}
		return int32(resp.GetDeniedResponse().GetStatus().GetCode()), resp.GetDeniedResponse().GetBody()
	}
	if status, says := asks("cut", map[string]string{"x-envoy-auth-partial-body": "true"}); status != 413 {
		t.Fatalf("a body that was cut: %d %s", status, says)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		status, says := asks(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"rm -rf /srv"}}}`, map[string]string{})
		if status != 403 || !strings.Contains(says, "not there") {
			t.Errorf("what a person has denied: %d %s", status, says)
		}
	}()
	people, err := client.New(client.Options{StateDir: c.StateDir})
	if err != nil {
		t.Fatal(err)
	}
	defer people.Close()
	asked := errors.New("somebody asks")
	err = people.Events(t.Context(), 0, func(e approvals.Event) error {
		r := e.Request
		if _, err := people.Decide(t.Context(), r.ID, api.Decision{Decision: holdgate.AnswerDeny, Reason: "not there"}); err != nil {
			t.Error(err)
		}
		return asked
	})
	if !errors.Is(err, asked) {
		t.Error(err)
	}
	<-over
}
