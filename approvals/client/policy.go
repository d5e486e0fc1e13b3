package client

import (
	"context"
	"net/http"

	"github.com/holdgate/holdgate/approvals/api"
)

// RollBackPolicy puts an earlier pushed policy in force: that of the id (0 is the
// shipped one alone), or with nil the one before.
func (c *Client) RollBackPolicy(ctx context.Context, id *uint64) (api.PolicyPushed, error) {
	return send[api.PolicyPushed](ctx, c, http.MethodPost, "/v1/policy/rollback", api.PolicyRollback{ID: id})
}
