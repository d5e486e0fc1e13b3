package client

import (
	"context"
	"slices"

	"github.com/holdgate/holdgate/store/audit"
)

// auditPage is how many entries are asked for at once, as many as there can be.
const auditPage = 1000

// Newest returns the latest n entries that a query selects up to a number, the newest
// first; 0 is the log's end. The log is read forwards, so that windows before the end
// are tried, each four times the one before, and not the whole of a long log: what lies
// more than four million entries back is not found. From and Limit of the query do not
// count.
func (c *Client) Newest(ctx context.Context, q audit.Query, last uint64, n int) ([]audit.Entry, error) {
	if last == 0 {
		head, err := c.AuditHead(ctx)
		if err != nil {
			return nil, err
		}
		last = head.Seq
	}
	for window := uint64(n); ; window *= 4 {
		q.From = 1
		if window < last {
			q.From = last - window + 1
		}
		list, err := c.upTo(ctx, q, last)
		if err != nil {
			return nil, err
		}
		if len(list) >= n || q.From == 1 || window > 1<<20 {
			list = list[max(len(list)-n, 0):]
			slices.Reverse(list)
			return list, nil
		}
	}
}

// upTo returns all entries that a query selects from its From to a number.
func (c *Client) upTo(ctx context.Context, q audit.Query, last uint64) (all []audit.Entry, err error) {
	for q.Limit = auditPage; ; q.From = all[len(all)-1].Seq + 1 {
		list, err := c.Audit(ctx, q)
		if err != nil {
			return nil, err
		}
		past := slices.IndexFunc(list, func(e audit.Entry) bool { return e.Seq > last })
		if past >= 0 {
			return append(all, list[:past]...), nil
		}
		if all = append(all, list...); len(list) < auditPage {
			return all, nil
		}
	}
}
