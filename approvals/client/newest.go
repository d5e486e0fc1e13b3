package client

import (
	"context"
	"slices"

	"github.com/holdgate/holdgate/store/audit"
)

// Newest returns the latest n entries that a query selects up to a number, the newest
// first; 0 is the log's end. The log is read forwards, so that windows before the end
// are tried, each four times the one before. From and Limit of the query do not count.
func (c *Client) Newest(ctx context.Context, q audit.Query, last uint64, n int) ([]audit.Entry, error) {
	if last == 0 {
		head, err := c.AuditHead(ctx)
		if err != nil {
			return nil, err
		}
		last = head.Seq
	}
	for window := uint64(max(n*4, 1000)); ; window *= 4 {
		q.From = 1
		if window < last {
			q.From = last - window + 1
		}
		list, err := c.Audit(ctx, q)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(list, func(e audit.Entry) bool { return e.Seq > last }); i >= 0 {
			list = list[:i]
		}
		if len(list) >= n || q.From == 1 || window > 1<<20 {
			list = list[max(len(list)-n, 0):]
			slices.Reverse(list)
			return list, nil
		}
	}
}
