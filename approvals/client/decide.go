package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

// Decide answers a request and returns it as it stands then.
func (c *Client) Decide(ctx context.Context, id string, d api.Decision) (approvals.Request, error) {
	return send[approvals.Request](ctx, c, http.MethodPost, requestPath(id)+"/decision", d)
}

// DecideGroup answers several requests, each by itself, and returns what became
// of each in the same order.
func (c *Client) DecideGroup(ctx context.Context, list []api.GroupDecision) ([]api.GroupResult, error) {
	results, err := send[[]api.GroupResult](ctx, c, http.MethodPost, "/v1/decisions", list)
	if err == nil && len(results) != len(list) {
		err = fmt.Errorf("reading the sidecar's answer: it tells of %d decisions, not of %d", len(results), len(list))
	}
	return results, err
}

// Claim says that the client's person is looking at a request.
func (c *Client) Claim(ctx context.Context, id string) (approvals.Request, error) {
	return send[approvals.Request](ctx, c, http.MethodPost, requestPath(id)+"/claim", api.Nothing{})
}

// Unclaim ends the person's claim.
func (c *Client) Unclaim(ctx context.Context, id string) (approvals.Request, error) {
	resp, err := c.do(ctx, http.MethodDelete, requestPath(id)+"/claim", nil, nil)
	if err != nil {
		return approvals.Request{}, err
	}
	return read[approvals.Request](resp)
}

// Shown says that the person's screen shows a request now, and returns it.
func (c *Client) Shown(ctx context.Context, id string) (approvals.Request, error) {
	resp, err := c.do(ctx, http.MethodPut, requestPath(id)+"/shown", nil, nil)
	if err != nil {
		return approvals.Request{}, err
	}
	return read[approvals.Request](resp)
}

// Defer puts a request off for the client's person, until its session asks again at the
// latest where next is set; 0 shows it again.
func (c *Client) Defer(ctx context.Context, id string, lasts time.Duration, next bool) (approvals.Request, error) {
	return send[approvals.Request](ctx, c, http.MethodPost, requestPath(id)+"/defer", api.Deferral{For: lasts.String(), Next: next})
}

// Check asks what policy says of a request's call with these arguments, before they are
// sent with an edit; with none, for the schema of its tool alone.
func (c *Client) Check(ctx context.Context, id string, arguments []byte) (api.Checked, error) {
	return send[api.Checked](ctx, c, http.MethodPost, requestPath(id)+"/check", api.Check{Arguments: arguments})
}

// Preview says which questions of the last week a standing approval would have answered,
// were the request approved with it.
func (c *Client) Preview(ctx context.Context, id string, m approvals.Remember) (approvals.Preview, error) {
	return send[approvals.Preview](ctx, c, http.MethodPost, requestPath(id)+"/preview", api.PreviewOf{Remember: m})
}

// Delegate lets somebody else vote on a request in the person's place.
func (c *Client) Delegate(ctx context.Context, id string, d api.Delegation) (approvals.Request, error) {
	return send[approvals.Request](ctx, c, http.MethodPost, requestPath(id)+"/delegate", d)
}

// Link returns a one-time link that signs the client's person in on the page.
func (c *Client) Link(ctx context.Context, l api.LinkTo) (api.Link, error) {
	return send[api.Link](ctx, c, http.MethodPost, "/v1/links", l)
}

// Undo writes down in the audit log that the caller takes back what a run changed.
func (c *Client) Undo(ctx context.Context, u api.Undo) (api.Undone, error) {
	return send[api.Undone](ctx, c, http.MethodPost, "/v1/undo", u)
}

func requestPath(id string) string { return "/v1/approvals/" + url.PathEscape(id) }

// send sends a JSON value and returns that of the answer.
func send[T any](ctx context.Context, c *Client, method, path string, v any) (T, error) {
	var none T
	body, err := json.Marshal(v)
	if err != nil {
		return none, fmt.Errorf("writing what is sent: %w", err)
	}
	resp, err := c.do(ctx, method, path, nil, body)
	if err != nil {
		return none, err
	}
	return read[T](resp)
}
