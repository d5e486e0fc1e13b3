package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals/api"
)

// Policy returns what is in force, with all rules; where rule is not empty, those that
// give it as their id alone, with their source.
func (c *Client) Policy(ctx context.Context, rule string) (api.PolicyState, error) {
	q := url.Values{}
	set(q, "rule", rule)
	return get[api.PolicyState](ctx, c, "/v1/policy", q)
}

// RollBackPolicy puts an earlier pushed policy in force: that of the id (0 is the
// shipped one alone), or with nil the one before.
func (c *Client) RollBackPolicy(ctx context.Context, id *uint64) (api.PolicyPushed, error) {
	return send[api.PolicyPushed](ctx, c, http.MethodPost, "/v1/policy/rollback", api.PolicyRollback{ID: id})
}
