package telegram

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Answers implements [sdk.Channel]: it reads updates by long polling until ctx
// ends. Telegram keeps them for a day while nobody reads.
func (c *Channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	if c.api.base == "" {
		return errors.New("not configured")
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = c.pause, 30*time.Second
	for {
		updates, err := c.updates(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.hears(err)
		if err == nil {
			pauses.Reset()
			for _, u := range updates {
				c.handle(ctx, u, answer)
			}
			continue
		}
		pause := pauses.NextBackOff()
		if e, ok := errors.AsType[*replyError](err); ok {
			pause = max(pause, e.wait)
		}
		if sleep(ctx, pause) != nil {
			return ctx.Err()
		}
	}
}

// updates waits for what has happened since the last one.
func (c *Channel) updates(ctx context.Context) (u []update, err error) {
	in := getUpdates{Offset: c.state.offset(time.Now()), Timeout: int(pollFor / time.Second), Allowed: []string{"message", "callback_query"}}
	err = c.api.once(ctx, pollFor+perCall, "getUpdates", in, &u)
	return u, err
}

// hears notes whether updates can be read, and logs where that has changed.
func (c *Channel) hears(err error) {
	c.mu.Lock()
	was := c.deaf
	c.deaf = err
	c.mu.Unlock()
	switch {
	case err != nil && was == nil:
		c.log.Warn("answers cannot be read", "err", err)
	case err == nil && was != nil:
		c.log.Info("answers can be read again")
	}
}

// handle deals with an update. What it leads to has happened before it counts as
// read: one that comes again after a crash finds its request ended, or its
// person's vote counted.
func (c *Channel) handle(ctx context.Context, u update, answer sdk.Answerer) {
	if at := c.state.offset(time.Now()); at != 0 && u.ID < at {
		return
	}
	var err error
	switch {
	case u.Callback != nil:
		err = c.pressed(ctx, *u.Callback, answer)
	case u.Message != nil:
		err = c.written(ctx, *u.Message, answer)
	}
	if err != nil {
		c.log.Warn("telling a person what became of their answer", "err", err)
	}
	if err := c.state.read(u.ID, time.Now()); err != nil {
		c.log.Warn("how far updates were read could not be kept", "err", err)
	}
}

// What people are told in alerts.
const (
	saidStranger = "You are not among those who may answer here."
	saidOld      = "This button is out of date. If the request is still open, press again in a moment."
	saidOthers   = "This question is for the one who pressed."
	saidSoon     = "Read it first: this button has only just appeared."
	saidOver     = "The request has changed or ended: nothing more to do here."
	saidGone     = "This is no longer offered for this request."
	saidLater    = "Holdgate cannot take answers now; try again."
)

// pressed deals with a button.
func (c *Channel) pressed(ctx context.Context, cb callback, answer sdk.Answerer) error {
	alert := func(s string) error { return c.said(ctx, cb, s, true) }
	if !c.users[cb.From.ID] || cb.From.IsBot {
		c.log.Warn("a stranger pressed a button", "account", cb.From.ID)
		return alert(saidStranger)
	}
	c.mu.Lock()
	b, known := c.buttons[cb.Data]
	var n sdk.Notice
	if q := c.open[b.request]; known && q != nil {
		n = q.notice
	}
	c.mu.Unlock()
	switch {
	case !known || n.ID == "" || cb.Message == nil || cb.Message.Chat.ID != b.chat:
		return alert(saidOld)
	case b.user != 0 && b.user != cb.From.ID:
		return alert(saidOthers)
	case time.Now().Before(b.ready):
		return alert(saidSoon)
	}
	at := post{Chat: b.chat, Message: cb.Message.ID}
	switch b.do {
	case doCancel:
		c.spend(b)
		return errors.Join(c.said(ctx, cb, "", false), c.close(ctx, n.ID, at, "Nothing was decided."))
	case doConfirm:
		if !c.spend(b) {
			return alert(saidOld)
		}
		return errors.Join(c.give(ctx, cb, b.answer, answer), c.close(ctx, n.ID, at, "You have answered."))
	}
	if what := map[string]string{doDenyWhy: sdk.Deny}[b.do]; !n.May(b.do) && !n.May(what) {
		return alert(saidGone)
	}
	if p, words := c.wants(n, b); words {
		p.user = cb.From.ID
		return errors.Join(c.said(ctx, cb, "", false), c.prompt(ctx, at, p))
	}
	a := n.Answer(b.do, fmt.Sprint(cb.From.ID))
	a.Choice = b.choice
	if twice(n, a) {
		return errors.Join(c.said(ctx, cb, "", false), c.again(ctx, at, n, a, cb.From.ID))
	}
	return c.give(ctx, cb, a, answer)
}

// give hands an answer over, and tells the person what became of it.
func (c *Channel) give(ctx context.Context, cb callback, a sdk.Answer, answer sdk.Answerer) error {
	said, counts := outcome(ctx, a, answer)
	return c.said(ctx, cb, said, !counts)
}

// outcome hands an answer over and returns what became of it, in words.
func outcome(ctx context.Context, a sdk.Answer, answer sdk.Answerer) (said string, counts bool) {
	status, err := answer(ctx, a)
	if refused, ok := errors.AsType[*sdk.Refused](err); ok {
		return "This does not count: " + refused.Reason, false
	}
	switch {
	case err != nil:
		return saidLater, false
	case status != sdk.StatusPending:
		return "The request is " + status + ".", true
	case a.Decision == sdk.Claim:
		return "Silence does not end it for now.", true
	case a.Decision == sdk.Unclaim:
		return "Noted.", true
	}
	return "Your approval counts; it takes more people.", true
}

// said ends the button's waiting, with words that pass by or that have to be
// put away. Where the person pressed too long ago nobody waits any more.
func (c *Channel) said(ctx context.Context, cb callback, s string, alert bool) error {
	err := c.api.call(ctx, "answerCallbackQuery", answerCallback{ID: cb.ID, Text: short(s, maxAlert), Alert: alert}, nil)
	if says(err, 400, "query is too old") {
		return nil
	}
	return err
}
