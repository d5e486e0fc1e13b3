package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// People are asked once about a row ([approvals.Request.Row]): a channel tells of one
// request of it, and lists those that wait with it. An answer counts for all of them,
// each by its own digest. What came later is told when that one has ended.

// A shownWith is a request that people were shown with another of its row.
type shownWith struct {
	id     string
	digest holdgate.Digest
}

// maxRow is how many requests are shown with another.
const maxRow = 20

// knownRows are the rows of which people know a request that is pending.
func (a *agenda) knownRows() map[string]bool {
	rows := map[string]bool{}
	for _, it := range a.items {
		if row := it.request.Row(); row != "" && !it.told.IsZero() && !it.request.Status.Final() {
			rows[row] = true
		}
	}
	return rows
}

// showing notes what people are shown with a request.
func (a *agenda) showing(id string, with []shownWith) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it := a.items[id]; it != nil {
		it.row = with
	}
}

// answer returns what people were shown with a request that is being answered.
// Nobody is asked about it until done.
func (a *agenda) answer(id string) (with []shownWith, done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it := a.items[id]; it != nil {
		with = slices.Clone(it.row)
	}
	for _, w := range with {
		a.answering[w.id]++
	}
	return with, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, w := range with {
			if a.answering[w.id]--; a.answering[w.id] == 0 {
				delete(a.answering, w.id)
			}
		}
		a.signal()
	}
}

// rowLines list what is shown with a request. What has ended is left out, and so is
// what cannot be read: no answer counts for it.
func (c *channel) rowLines(ctx context.Context, with []shownWith) (lines []string, shown []shownWith) {
	for _, w := range with {
		r, err := c.queue.Request(ctx, w.id)
		if err != nil || r.Status.Final() || r.Call.Digest != w.digest || !r.Briefing.Whole {
			continue
		}
		shown = append(shown, w)
		lines = append(lines, fmt.Sprintf("with it %.12s: %s", w.digest, strings.Join(append([]string{r.Briefing.Summary}, r.Briefing.Details...), "; ")))
	}
	if n := len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("your answer counts for all %d, and for none that comes later", n+1))
	}
	return lines, shown
}

// answerRow gives the answer to what people were shown with the request as well.
func (c *channel) answerRow(ctx context.Context, a sdk.Answer, by string, i sdk.Info, with []shownWith) {
	if !slices.Contains([]string{sdk.Approve, sdk.Deny, sdk.Steer}, a.Decision) {
		return
	}
	for _, w := range with {
		r, err := c.queue.Request(ctx, w.id)
		if err == nil && r.Status.Final() {
			continue
		}
		if err == nil {
			err = offered(r, i, a.Decision)
		}
		if err == nil {
			a := a
			a.ID, a.Digest = w.id, string(w.digest)
			_, err = c.apply(ctx, a, by, i)
		}
		if _, ended := errors.AsType[*approvals.EndedError](err); err != nil && !ended {
			c.log.Warn("an answer does not count for another request of the row", "approval", w.id, "by", text(a.By), "err", shown(err))
		}
	}
}
