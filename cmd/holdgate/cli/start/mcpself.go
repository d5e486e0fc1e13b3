package start

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/mcpserver"
)

// runSelf serves Holdgate's own MCP server for agents on standard streams, until
// the client leaves.
func (e *env) runSelf(c *cli.Context) (err error) {
	if c.Args().Present() || c.String("name") != "" {
		return command.Usage("mcp --self is a server itself: it takes no command and no name")
	}
	files, err := e.files()
	if err != nil {
		return err
	}
	address, stop, err := e.sidecarFor(c.Context, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	session := c.String("session")
	if session == "" {
		session = e.Getenv(envSession)
	}
	door := &http.Client{Transport: &http.Transport{}, Timeout: 2 * time.Minute}
	s := mcpserver.New(mcpserver.Options{Version: command.Version(), Service: remoteAgents{func(ctx context.Context) (*agentsAPI, error) {
		addr, err := address(ctx)
		return &agentsAPI{base: "http://" + addr, session: session, http: door}, err
	}}})
	if err := s.Run(c.Context, files.in, files.out); err != nil && c.Context.Err() == nil {
		return fmt.Errorf("serving the client: %w", err)
	}
	return nil
}

// remoteAgents is the agents' API of a sidecar, which knows who calls: no caller
// is told to it. The sidecar is found for each request, for it may have started
// anew elsewhere.
type remoteAgents struct {
	door func(context.Context) (*agentsAPI, error)
}

var _ agentapi.Service = remoteAgents{}

// fetch asks the sidecar. What failed on the way is a problem that the agent may
// read, too.
func fetch[T any](ctx context.Context, a remoteAgents, method, path string, in any) (out T, err error) {
	d, err := a.door(ctx)
	if err == nil {
		err = d.send(ctx, method, path, in, &out)
	}
	if _, told := errors.AsType[*agentapi.Problem](err); err == nil || told || ctx.Err() != nil {
		return out, err
	}
	return out, &agentapi.Problem{Title: "No sidecar", Status: http.StatusBadGateway, Detail: "Holdgate cannot be asked at the moment: " + err.Error()}
}

func (a remoteAgents) PassGate(ctx context.Context, _ approvals.Caller, in agentapi.GateRequest) (agentapi.Gate, error) {
	return fetch[agentapi.Gate](ctx, a, http.MethodPost, "/v1/gates", in)
}

func (a remoteAgents) Gate(ctx context.Context, _ approvals.Caller, id string, wait time.Duration) (agentapi.Gate, error) {
	return fetch[agentapi.Gate](ctx, a, http.MethodGet, "/v1/gates/"+url.PathEscape(id)+"?wait="+wait.String(), nil)
}

func (a remoteAgents) Report(ctx context.Context, _ approvals.Caller, in agentapi.Report) (agentapi.Reported, error) {
	return fetch[agentapi.Reported](ctx, a, http.MethodPost, "/v1/confidence", in)
}

func (a remoteAgents) Session(ctx context.Context, _ approvals.Caller) (agentapi.Session, error) {
	return fetch[agentapi.Session](ctx, a, http.MethodGet, "/v1/session", nil)
}

func (a remoteAgents) Tighten(ctx context.Context, _ approvals.Caller, m agentapi.Mode) (agentapi.Session, error) {
	return fetch[agentapi.Session](ctx, a, http.MethodPut, "/v1/session", m)
}

func (a remoteAgents) Messages(ctx context.Context, _ approvals.Caller, after uint64, wait time.Duration) ([]sessions.Message, error) {
	q := url.Values{"wait": {wait.String()}}
	if after > 0 {
		q.Set("after", strconv.FormatUint(after, 10))
	}
	return fetch[[]sessions.Message](ctx, a, http.MethodGet, "/v1/messages?"+q.Encode(), nil)
}

func (a remoteAgents) Say(ctx context.Context, _ approvals.Caller, n agentapi.Note) (sessions.Message, error) {
	return fetch[sessions.Message](ctx, a, http.MethodPost, "/v1/messages", n)
}

func (a remoteAgents) Pending(ctx context.Context, _ approvals.Caller) ([]agentapi.Pending, error) {
	return fetch[[]agentapi.Pending](ctx, a, http.MethodGet, "/v1/pending", nil)
}

func (a remoteAgents) Would(ctx context.Context, _ approvals.Caller, p agentapi.Planned) (agentapi.Would, error) {
	return fetch[agentapi.Would](ctx, a, http.MethodPost, "/v1/would", p)
}
