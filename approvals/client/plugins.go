package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals/api"
)

// Plugins returns the channels to people, and how they do.
func (c *Client) Plugins(ctx context.Context) ([]api.Plugin, error) {
	return get[[]api.Plugin](ctx, c, "/v1/plugins", nil)
}

// TestPlugin shows people a test message in a channel.
func (c *Client) TestPlugin(ctx context.Context, name string) error {
	_, err := send[api.Nothing](ctx, c, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/test", api.Nothing{})
	return err
}
