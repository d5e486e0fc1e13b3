package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// maxTold is how many news are remembered.
const maxTold = 200

// Notify implements [sdk.Channel].
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	if c.api.base == "" {
		return errors.New("not configured")
	}
	if n.Ended() {
		return c.Update(ctx, n)
	}
	q := c.learn(n)
	q.showing.Lock()
	defer q.showing.Unlock()
	if !c.waits(n.ID) {
		return nil
	}
	t := requestText(n, time.Now())
	posts := c.state.posts(n.ID)
	var errs []error
	posts = slices.DeleteFunc(posts, func(p post) bool {
		err := c.edit(ctx, p, t, c.keys(n, p.Chat, t.whole))
		if gone(err) {
			return true
		}
		if err != nil {
			errs = append(errs, err)
		}
		return false
	})
	for _, chat := range c.places(n.To) {
		if slices.ContainsFunc(posts, func(p post) bool { return p.Chat == chat }) {
			continue
		}
		p, err := c.post(ctx, chat, n, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		posts = append(posts, p)
	}
	if len(posts) == 0 && len(n.To) > 0 { // nobody whom it is for has started the bot
		p, err := c.post(ctx, c.chat, n, t)
		if err == nil {
			posts = append(posts, p)
		}
		errs = append(errs, err)
	}
	if err := c.state.show(n.ID, posts); err != nil {
		c.log.Warn("what is shown could not be kept: after a restart it is shown again", "err", err)
	}
	if err := errors.Join(errs...); err != nil {
		if len(posts) == 0 {
			return err
		}
		c.log.Warn("not everybody could be told", "approval", n.ID, "err", err)
	}
	return nil
}

// post shows a request in a chat, under the first of its session.
func (c *Channel) post(ctx context.Context, chat int64, n sdk.Notice, t text) (post, error) {
	m := t.message(chat)
	if rows := c.keys(n, chat, t.whole); rows != nil {
		m.Markup = rows
	}
	if first := c.state.first(n.Thread, chat); n.Thread != "" && first != 0 {
		m.Reply = &replyTo{Message: first, Lenient: true}
	}
	p, err := c.send(ctx, m)
	if err == nil && n.Thread != "" && m.Reply == nil {
		c.state.begin(n.Thread, p)
	}
	return p, err
}

// places are the chats in which the people are told: their own.
func (c *Channel) places(to []string) (chats []int64) {
	for _, name := range to {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || !c.users[id] {
			c.log.Warn("a person to be told is not among users", "user", name)
			continue
		}
		chats = append(chats, id)
	}
	if len(chats) == 0 {
		return []int64{c.chat}
	}
	return chats
}

// Update implements [sdk.Channel].
func (c *Channel) Update(ctx context.Context, n sdk.Notice) error {
	q := c.learn(n)
	q.showing.Lock()
	defer q.showing.Unlock()
	if n.Ended() {
		defer c.settle(ctx, n)
	}
	t := requestText(n, time.Now())
	var errs []error
	for _, p := range c.state.posts(n.ID) {
		if err := c.edit(ctx, p, t, c.keys(n, p.Chat, t.whole)); err != nil && !gone(err) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil || !n.Ended() {
		return err
	}
	return c.state.show(n.ID, nil)
}

// learn takes a notice as what its request is now. Where the call is another
// than before, what was begun about it is over.
func (c *Channel) learn(n sdk.Notice) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.open[n.ID]
	if q == nil {
		q = &question{}
		c.open[n.ID] = q
	}
	if !n.Ended() && (q.notice.Nonce != n.Nonce || q.notice.Digest != n.Digest) {
		c.drop(n.ID, q)
	}
	q.notice = n
	return q
}

// waits reports whether a request has not ended.
func (c *Channel) waits(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id] != nil
}

// drop forgets the buttons and prompts of a request. It needs the lock.
func (c *Channel) drop(id string, q *question) {
	for _, k := range q.keys {
		delete(c.buttons, k)
	}
	for _, p := range q.asides {
		delete(c.prompts, p)
	}
	q.keys, q.asides = nil, nil
}

// settle forgets a request that has ended, and takes the buttons off what was
// asked besides.
func (c *Channel) settle(ctx context.Context, n sdk.Notice) {
	c.mu.Lock()
	q := c.open[n.ID]
	delete(c.open, n.ID)
	var asides []post
	if q != nil {
		asides = slices.Clone(q.asides)
		c.drop(n.ID, q)
	}
	c.mu.Unlock()
	for _, p := range asides {
		if err := c.edit(ctx, p, say("The request is "+n.Status+": nothing more to do here.", ""), nil); err != nil && !gone(err) {
			c.log.Info("an old message could not be changed", "approval", n.ID, "err", err)
		}
	}
}

// Tell implements [sdk.Newscaster].
func (c *Channel) Tell(ctx context.Context, n sdk.News) error {
	if c.api.base == "" {
		return errors.New("not configured")
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	if slices.Contains(c.told, n.ID) {
		return nil
	}
	t := say("Holdgate", strings.Join(append([]string{n.Title}, n.Lines...), "\n"))
	var errs []error
	places := c.places(n.To)
	for _, chat := range places {
		_, err := c.send(ctx, t.message(chat))
		errs = append(errs, err)
	}
	if !slices.Contains(errs, nil) {
		return errors.Join(errs...)
	}
	c.told = append(c.told, n.ID)
	c.told = c.told[max(len(c.told)-maxTold, 0):]
	return nil
}

func (c *Channel) send(ctx context.Context, m sendMessage) (post, error) {
	var sent message
	if err := c.api.call(ctx, "sendMessage", m, &sent); err != nil {
		return post{}, fmt.Errorf("telling chat %d: %w", m.Chat, err)
	}
	if sent.ID == 0 {
		return post{}, fmt.Errorf("telling chat %d: Telegram's answer does not name the message", m.Chat)
	}
	return post{Chat: m.Chat, Message: sent.ID}, nil
}

// edit replaces a message and its buttons.
func (c *Channel) edit(ctx context.Context, p post, t text, rows *keyboard) error {
	m := t.message(p.Chat)
	m.Message = p.Message
	if rows != nil {
		m.Markup = rows
	}
	err := c.api.call(ctx, "editMessageText", m, nil)
	if says(err, 400, "message is not modified") {
		return nil
	}
	return err
}

// gone reports whether a message cannot be changed any more, whoever tries.
func gone(err error) bool {
	return says(err, 400, "message to edit not found") || says(err, 400, "message can't be edited") || says(err, 400, "chat not found") || says(err, 403, "")
}
