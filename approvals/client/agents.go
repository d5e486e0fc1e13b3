package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
)

// Agents returns the agents that the sidecar knows.
func (c *Client) Agents(ctx context.Context) ([]agents.Agent, error) {
	return get[[]agents.Agent](ctx, c, "/v1/agents", nil)
}

// Members returns the sidecars that share the store.
func (c *Client) Members(ctx context.Context) ([]api.Member, error) {
	return get[[]api.Member](ctx, c, "/v1/members", nil)
}

// AgentStatus returns whether an agent may go on, one that was never seen too, or
// [agents.Everybody].
func (c *Client) AgentStatus(ctx context.Context, agent string) (approvals.AgentStatus, error) {
	path := "/v1/interventions"
	if agent != agents.Everybody {
		path = agentPath(agent) + "/standing"
	}
	return get[approvals.AgentStatus](ctx, c, path, nil)
}

// Intervene pauses, resumes or stops an agent, or [agents.Everybody]. What it
// returned is in force.
func (c *Client) Intervene(ctx context.Context, agent string, i api.Intervention) (approvals.AgentStatus, error) {
	path := "/v1/interventions"
	if agent != agents.Everybody {
		path = agentPath(agent) + "/interventions"
	}
	return send[approvals.AgentStatus](ctx, c, http.MethodPost, path, i)
}

func agentPath(id string) string { return "/v1/agents/" + url.PathEscape(id) }
