package client

import (
	"context"
	"net/http"

	"github.com/holdgate/holdgate/approvals/api"
)

// Config returns what is in force of the configuration, and what waits.
func (c *Client) Config(ctx context.Context) (api.ConfigState, error) {
	return get[api.ConfigState](ctx, c, "/v1/config", nil)
}

// AcceptConfig puts the file of this digest in force, which must wait for it.
func (c *Client) AcceptConfig(ctx context.Context, digest string) (api.ConfigState, error) {
	return send[api.ConfigState](ctx, c, http.MethodPost, "/v1/config/accept", api.ConfigAccepted{Digest: digest})
}
