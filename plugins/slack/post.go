package slack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// What the metadata of a message says it is.
const (
	kindSession = "holdgate_session"
	kindRequest = "holdgate_request"
	kindNews    = "holdgate_news"
)

// How far back messages are looked for.
const (
	searchBack = 7 * 24 * time.Hour
	maxPages   = 20
	perPage    = 200
)

// maxThreads is how many threads are known at a time. They are looked for again
// where there have been more.
const maxThreads = 4096

// posts are the messages that are known. They belong to whoever holds turn.
type posts struct {
	turn     chan struct{}
	self     string // the id of the app's bot
	recalled bool   // the channel was looked through
	threads  map[string]*thread
	requests map[string]*message
	news     map[string]bool
}

// A thread is the messages of one session.
type thread struct {
	ts       string // of the message at its head, or empty
	recalled bool   // it was looked through
}

// A message is what people see of one request.
type message struct {
	ts string
	to []string // the users whom it has called
}

func newPosts() posts {
	return posts{
		turn: make(chan struct{}, 1), threads: make(map[string]*thread), requests: make(map[string]*message), news: make(map[string]bool),
	}
}

// acquire waits for its turn, and returns what ends it.
func (p *posts) acquire(ctx context.Context) (func(), error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Notify implements [sdk.Channel].
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	done, err := c.posts.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	t, err := c.recall(ctx, n.Thread)
	if err != nil {
		return err
	}
	c.remember(n)
	if m := c.posts.requests[n.ID]; m != nil {
		err := c.refresh(ctx, n, t, m)
		if !said(err, "message_not_found") {
			return err
		}
		delete(c.posts.requests, n.ID) // somebody has deleted it
	}
	if t.ts == "" {
		if t.ts, err = c.head(ctx, n); err != nil {
			return err
		}
	}
	to := c.callees(n)
	ts, err := c.put(ctx, kindRequest, n.ID+n.Nonce, map[string]any{"id": n.ID, "to": to}, t.ts, func(limit int) content { return c.content(n, to, limit) })
	if err != nil {
		if unsure(err) {
			t.recalled = false
		}
		return err
	}
	c.posts.requests[n.ID] = &message{ts: ts, to: to}
	return nil
}

// Update implements [sdk.Channel].
func (c *Channel) Update(ctx context.Context, n sdk.Notice) error {
	done, err := c.posts.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	t, err := c.recall(ctx, n.Thread)
	if err != nil {
		return err
	}
	m := c.posts.requests[n.ID]
	if m == nil {
		return nil
	}
	c.remember(n)
	if err := c.refresh(ctx, n, t, m); err != nil && !said(err, "message_not_found") {
		return err
	}
	if n.Ended() {
		delete(c.posts.requests, n.ID)
	}
	return nil
}

// Tell implements [sdk.Newscaster].
func (c *Channel) Tell(ctx context.Context, n sdk.News) error {
	done, err := c.posts.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := c.recall(ctx, ""); err != nil {
		return err
	}
	if c.posts.news[n.ID] {
		return nil
	}
	_, err = c.put(ctx, kindNews, n.ID, map[string]any{"id": n.ID}, "", func(limit int) content { return c.newsContent(n, limit) })
	if err != nil {
		c.posts.recalled = c.posts.recalled && !unsure(err)
		return err
	}
	c.posts.news[n.ID] = true
	return nil
}

// head posts the message under which those of a session stand.
func (c *Channel) head(ctx context.Context, n sdk.Notice) (string, error) {
	ts, err := c.put(ctx, kindSession, n.Thread, map[string]any{"thread": n.Thread}, "", func(int) content { return sessionContent(n) })
	if err != nil && unsure(err) {
		c.posts.recalled = false
	}
	return ts, err
}

// put posts a message, and a shorter one where Slack says that it is too long.
// The name is the same whenever the same is posted again.
func (c *Channel) put(ctx context.Context, kind, name string, payload map[string]any, under string, content func(limit int) content) (ts string, err error) {
	for _, limit := range textLimits {
		body := content(limit)
		err = c.call(ctx, "chat.postMessage", func(ctx context.Context) error {
			options := append(body.options(), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: kind, EventPayload: payload}),
				slack.UnsafeMsgOptionEndpoint(c.conf.APIURL+"chat.postMessage", func(v url.Values) { v.Set("client_msg_id", messageID(kind, name)) }))
			if under != "" {
				options = append(options, slack.MsgOptionTS(under))
			}
			_, ts, err = c.api.PostMessageContext(ctx, c.conf.Channel, options...)
			if err == nil && ts == "" { // the library takes an answer that says nothing for a good one
				err = errors.New("the answer does not say where the message is")
			}
			return err
		})
		if !tooLong(err) {
			break
		}
	}
	return ts, err
}

// refresh brings a message up to date, and calls those who have come to be
// asked since.
func (c *Channel) refresh(ctx context.Context, n sdk.Notice, t *thread, m *message) (err error) {
	to := m.to
	if n.Event == sdk.Escalated {
		if more := without(c.callees(n), m.to); len(more) > 0 {
			_, err := c.put(ctx, kindNews, fmt.Sprint(n.ID, more), map[string]any{"id": n.ID}, t.ts, func(int) content { return callContent(more) })
			if err != nil {
				return err
			}
			to = append(slices.Clone(to), more...)
			m.to = to
		}
	}
	for _, limit := range textLimits {
		body := c.content(n, to, limit)
		err = c.call(ctx, "chat.update", func(ctx context.Context) error {
			options := append(body.options(), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: kindRequest, EventPayload: map[string]any{"id": n.ID, "to": to}}))
			_, _, _, err := c.api.UpdateMessageContext(ctx, c.conf.Channel, m.ts, options...)
			return err
		})
		if !tooLong(err) {
			break
		}
	}
	return err
}

// textLimits are how many bytes of a request are shown, at first and where Slack
// finds that too long.
var textLimits = []int{9000, 2500}

func tooLong(err error) bool {
	return said(err, "msg_too_long", "msg_blocks_too_long", "invalid_blocks")
}

// callees are the users whom a message calls: those whom Holdgate names, else
// all who may approve, else whom the configuration names.
func (c *Channel) callees(n sdk.Notice) []string {
	ids := slices.DeleteFunc(slices.Clone(n.To), func(u string) bool { return !c.hears(u, n) })
	if len(ids) == 0 {
		ids = slices.DeleteFunc(slices.Clone(n.Voters), func(u string) bool { return !userID.MatchString(u) })
	}
	if len(ids) == 0 {
		return c.conf.Users
	}
	return ids
}

func without(all, some []string) (rest []string) {
	for _, s := range all {
		if !slices.Contains(some, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

// messageID is a message's client_msg_id: a UUID that is made from what the
// message is about (RFC 9562, version 8).
func messageID(kind, name string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s", kind, name))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
