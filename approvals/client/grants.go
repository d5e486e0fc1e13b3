package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals"
)

// Grants returns the standing approvals that cover something now, the newest
// first; of one agent where it is named.
func (c *Client) Grants(ctx context.Context, agent string) ([]approvals.Grant, error) {
	q := url.Values{}
	set(q, "agent", agent)
	return get[[]approvals.Grant](ctx, c, "/v1/grants", q)
}

// Revoke ends a grant. Once it has returned, the grant is used no more.
func (c *Client) Revoke(ctx context.Context, id string) (approvals.Grant, error) {
	resp, err := c.do(ctx, http.MethodDelete, "/v1/grants/"+url.PathEscape(id), nil, nil)
	if err != nil {
		return approvals.Grant{}, err
	}
	return read[approvals.Grant](resp)
}
