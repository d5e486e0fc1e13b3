package client

import (
	"context"
	"net/url"
	"time"

	"github.com/holdgate/holdgate/approvals/stats"
)

// Stats returns what became of calls and questions; zero times are the sidecar's
// own.
func (c *Client) Stats(ctx context.Context, since, until time.Time) (stats.Stats, error) {
	q := url.Values{}
	for name, t := range map[string]time.Time{"since": since, "until": until} {
		if !t.IsZero() {
			q.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	return get[stats.Stats](ctx, c, "/v1/stats", q)
}
