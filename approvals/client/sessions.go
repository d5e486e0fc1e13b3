package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// Sessions returns the sessions that the sidecar knows, of one agent or, where it
// is empty, of all.
func (c *Client) Sessions(ctx context.Context, agent string) ([]approvals.Session, error) {
	return get[[]approvals.Session](ctx, c, "/v1/sessions", ofAgent(agent))
}

// Session returns one session. The agent may be empty where only one has a session of
// that name.
func (c *Client) Session(ctx context.Context, agent, id string) (approvals.Session, error) {
	return get[approvals.Session](ctx, c, sessionPath(id), ofAgent(agent))
}

// SetMode sets a session's mode.
func (c *Client) SetMode(ctx context.Context, agent, id string, m api.SessionMode) (approvals.Session, error) {
	return send[approvals.Session](ctx, c, http.MethodPut, sessionPath(id)+asQuery(agent), m)
}

// Messages returns the messages between people and a session.
func (c *Client) Messages(ctx context.Context, agent, id string) ([]sessions.Message, error) {
	return get[[]sessions.Message](ctx, c, sessionPath(id)+"/messages", ofAgent(agent))
}

// Tell leaves a message for a session or, where it is empty, for whichever session
// of the agent makes the next request.
func (c *Client) Tell(ctx context.Context, agent, session string, n api.Note) (sessions.Message, error) {
	path := agentPath(agent) + "/messages"
	if session != "" {
		path = sessionPath(session) + "/messages" + asQuery(agent)
	}
	return send[sessions.Message](ctx, c, http.MethodPost, path, n)
}

func sessionPath(id string) string { return "/v1/sessions/" + url.PathEscape(id) }

func ofAgent(agent string) url.Values {
	q := url.Values{}
	set(q, "agent", agent)
	return q
}

func asQuery(agent string) string {
	if agent == "" {
		return ""
	}
	return "?" + ofAgent(agent).Encode()
}
