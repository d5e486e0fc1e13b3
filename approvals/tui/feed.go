package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
)

// maxInbox is how many requests the inbox holds, the oldest first.
const maxInbox = 500

// A listMsg is everything that waits, as it was when the sidecar was reached.
type listMsg struct {
	list []approvals.Request
	more bool   // there are others besides
	you  string // as whom the person answers
}

// An eventMsg is what has happened since.
type eventMsg struct{ approvals.Event }

// A lostMsg says why the sidecar is not reached any longer.
type lostMsg struct{ err error }

// follow sends what waits and what happens, until ctx ends. Where the sidecar goes
// it says so, and looks again after wait.
func follow(ctx context.Context, api *client.Client, wait time.Duration, send func(tea.Msg)) {
	for {
		err := followOnce(ctx, api, send)
		if ctx.Err() != nil {
			return
		}
		send(lostMsg{err})
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// followOnce does so until the sidecar goes. An event's number is that of an entry
// of the log: what has happened up to the log's head is in the list.
func followOnce(ctx context.Context, api *client.Client, send func(tea.Msg)) error {
	head, err := api.AuditHead(ctx)
	if err != nil {
		return err
	}
	list, err := waiting(ctx, api)
	if err != nil {
		return err
	}
	st, err := api.Status(ctx)
	if err != nil {
		return err
	}
	list.you = st.You
	send(list)
	return api.Events(ctx, head.Seq, func(e approvals.Event) error {
		send(eventMsg{e})
		return nil
	})
}

// waiting is everything that waits.
func waiting(ctx context.Context, api *client.Client) (msg listMsg, err error) {
	f := approvals.Filter{Status: holdgate.StatusPending, Limit: approvals.MaxPage}
	for {
		p, err := api.Page(ctx, f)
		if err != nil {
			return msg, err
		}
		msg.list = append(msg.list, p.Requests...)
		if f.Cursor = p.Next; f.Cursor == "" {
			return msg, nil
		}
		if len(msg.list) >= maxInbox {
			msg.more = true
			return msg, nil
		}
	}
}
