package slack

import (
	"context"
	"fmt"
	"time"

	"github.com/slack-go/slack"
)

// recall makes sure that the messages of a session are known that stand in the
// channel already, and returns its thread.
func (c *Channel) recall(ctx context.Context, name string) (*thread, error) {
	p := &c.posts
	if c.api == nil {
		return nil, fmt.Errorf("not configured")
	}
	if len(p.threads) > maxThreads {
		clear(p.threads)
		p.recalled = false
	}
	if len(p.news) > maxThreads {
		clear(p.news)
		p.recalled = false
	}
	if !p.recalled {
		if err := c.recallChannel(ctx); err != nil {
			return nil, err
		}
		p.recalled = true
	}
	t := p.threads[name]
	if t == nil {
		t = &thread{}
		p.threads[name] = t
	}
	if t.ts != "" && !t.recalled {
		if err := c.recallThread(ctx, t.ts); err != nil {
			return nil, err
		}
	}
	t.recalled = true
	return t, nil
}

// recallChannel looks through the channel for the heads of threads, and news.
func (c *Channel) recallChannel(ctx context.Context) error {
	if c.posts.self == "" {
		if err := c.call(ctx, "auth.test", func(ctx context.Context) error {
			r, err := c.api.AuthTestContext(ctx)
			if err == nil {
				c.posts.self = r.BotID
			}
			return err
		}); err != nil {
			return err
		}
	}
	oldest := fmt.Sprintf("%d.000000", time.Now().Add(-searchBack).Unix())
	return c.pages(ctx, "conversations.history", func(ctx context.Context, cursor string) ([]slack.Message, string, error) {
		r, err := c.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
			ChannelID: c.conf.Channel, Cursor: cursor, Limit: perPage, Oldest: oldest, IncludeAllMetadata: true,
		})
		if err != nil {
			return nil, "", err
		}
		return r.Messages, r.ResponseMetaData.NextCursor, nil
	})
}

// recallThread looks through a thread for requests.
func (c *Channel) recallThread(ctx context.Context, ts string) error {
	return c.pages(ctx, "conversations.replies", func(ctx context.Context, cursor string) ([]slack.Message, string, error) {
		messages, _, next, err := c.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: c.conf.Channel, Timestamp: ts, Cursor: cursor, Limit: perPage, IncludeAllMetadata: true,
		})
		return messages, next, err
	})
}

// pages notes the messages of every page.
func (c *Channel) pages(ctx context.Context, method string, page func(ctx context.Context, cursor string) ([]slack.Message, string, error)) error {
	cursor := ""
	for range maxPages {
		var messages []slack.Message
		err := c.call(ctx, method, func(ctx context.Context) (err error) {
			messages, cursor, err = page(ctx, cursor)
			return err
		})
		if err != nil {
			return err
		}
		for _, m := range messages {
			c.posts.note(m)
		}
		if cursor == "" {
			return nil
		}
	}
	c.log.Warn("there are more messages than are looked through: some may be posted again", "method", method, "read", maxPages*perPage)
	return nil
}

// note takes up a message of the app's own; other apps can give theirs the same
// metadata.
func (p *posts) note(m slack.Message) {
	if p.self == "" || m.BotID != p.self {
		return
	}
	text := func(name string) string {
		s, _ := m.Metadata.EventPayload[name].(string)
		return s
	}
	id := text("id")
	switch m.Metadata.EventType {
	case kindSession:
		t := p.threads[text("thread")]
		if t == nil {
			t = &thread{}
			p.threads[text("thread")] = t
		}
		if t.ts == "" {
			t.ts, t.recalled = m.Timestamp, false
		}
	case kindNews:
		p.news[id] = true
	case kindRequest:
		if p.requests[id] != nil {
			return
		}
		known := &message{ts: m.Timestamp}
		to, _ := m.Metadata.EventPayload["to"].([]any)
		for _, u := range to {
			if s, ok := u.(string); ok {
				known.to = append(known.to, s)
			}
		}
		p.requests[id] = known
	}
}
