package desktop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/godbus/dbus/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// Why the channel looks for the desktop anew.
var (
	errBus    = errors.New("the connection to the session's bus has ended")
	errServer = errors.New("what shows notifications has changed")
)

// What people are told.
const (
	saidSoon  = "Nothing was decided: this had only just appeared."
	saidOver  = "The request has changed or ended: nothing was decided."
	saidWords = "Nothing was decided: these are not the words."
	saidLater = "Holdgate cannot take answers now; try again."
	saidEmpty = "Nothing was decided: nothing was typed."
)

// Answers implements [sdk.Channel]: it listens to the desktop until ctx ends,
// and takes from the screen then what it has put there.
func (c *Channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	if c.socket == "" {
		return errors.New("not configured")
	}
	defer c.leave()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = c.pause, c.maxPause
	for lost := false; ; {
		l, err := c.begin(ctx)
		if err == nil {
			pauses.Reset()
			if lost {
				c.log.Info("the desktop can be reached again")
			}
			lost = false
			err = c.listen(ctx, l, answer)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !lost {
			c.log.Warn("the desktop cannot be reached", "err", err)
		}
		lost = true
		select {
		case <-time.After(pauses.NextBackOff()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin reaches the desktop and shows what is not on the screen.
func (c *Channel) begin(ctx context.Context) (*link, error) {
	if err := c.acquireTurn(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	s, err := c.reach(ctx)
	if err != nil {
		return nil, err
	}
	return c.link, c.showAll(ctx, s)
}

// leave takes everything from the screen and ends the connection.
func (c *Channel) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), perCall)
	defer cancel()
	if c.acquireTurn(ctx) != nil {
		return
	}
	defer c.release()
	if c.link == nil {
		return
	}
	c.mu.Lock()
	s := c.server
	var ids []uint32
	for _, q := range c.open {
		if q.id != 0 {
			ids = append(ids, q.id)
		}
	}
	c.mu.Unlock()
	for _, id := range ids {
		if s != nil {
			c.remove(ctx, s, id)
		}
	}
	c.link.close()
	c.link = nil
	c.forget(nil)
}

// remove takes a notification from the screen, if it is there still. It needs
// the turn.
func (c *Channel) remove(ctx context.Context, s *server, id uint32) {
	_ = c.link.call(ctx, s.name, notificationsPath, notifications+".CloseNotification", id).Err
}

// listen hears what people do, until ctx or the connection ends or something
// else shows notifications.
func (c *Channel) listen(ctx context.Context, l *link, answer sdk.Answerer) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.gone():
			return errBus
		case s, more := <-l.signals:
			if !more {
				return errBus
			}
			if err := c.hear(ctx, s, answer); err != nil {
				return err
			}
		}
	}
}

// hear deals with a signal. Only what shows notifications is believed.
func (c *Channel) hear(ctx context.Context, sig *dbus.Signal, answer sdk.Answerer) error {
	c.mu.Lock()
	s := c.server
	c.mu.Unlock()
	if sig.Name == busName+".NameOwnerChanged" && sig.Sender == busName {
		var name, was, now string
		if dbus.Store(sig.Body, &name, &was, &now) != nil || name != notifications {
			return nil
		}
		if s != nil && s.name == now { // known already: a request has come in between
			_, err := c.begin(ctx)
			return err
		}
		c.forget(nil)
		return errServer
	}
	of, member := sig.Name[:max(strings.LastIndexByte(sig.Name, '.'), 0)], sig.Name[strings.LastIndexByte(sig.Name, '.')+1:]
	if of != notifications {
		return nil
	}
	if s == nil || sig.Sender != s.name || sig.Path != notificationsPath {
		c.log.Warn("a signal of a stranger was ignored", "sender", short(sig.Sender, 40), "signal", short(member, 40))
		return nil
	}
	var id, reason uint32
	var text string
	switch member {
	case "ActionInvoked":
		if dbus.Store(sig.Body, &id, &text) == nil {
			return c.pressed(ctx, s, id, text, answer)
		}
	case "NotificationReplied":
		if dbus.Store(sig.Body, &id, &text) == nil {
			return c.typed(ctx, s, id, text, answer)
		}
	case "NotificationClosed":
		if dbus.Store(sig.Body, &id, &reason) == nil {
			c.closed(id, reason)
		}
	}
	return nil
}

// closed notes that a notification is no longer on the screen.
func (c *Channel) closed(id, reason uint32) {
	const dismissed = 2
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.open {
		if q.id == id {
			q.id, q.asking, q.away = 0, false, reason == dismissed
		}
	}
}

// pressed deals with a button. Each counts once. An error says that the desktop
// could not show what follows.
func (c *Channel) pressed(ctx context.Context, s *server, id uint32, k string, answer sdk.Answerer) error {
	c.mu.Lock()
	b, known := c.buttons[k]
	if k == keyDefault && c.conf.Page != "" {
		for request, q := range c.open {
			if q.id == id {
				b, known = button{request: request, do: doOpen}, true
			}
		}
	}
	q := c.open[b.request]
	if !known || q == nil {
		c.mu.Unlock()
		c.log.Info("a button that means nothing was pressed", "key", short(k, 40))
		return nil
	}
	n, ready := q.notice, q.ready
	c.disown(q)
	if q.id == id {
		q.id, q.asking = 0, false // most desktops close it now
	}
	c.mu.Unlock()
	_ = c.talk(ctx, s, func() error { c.remove(ctx, s, id); return nil })
	switch {
	case time.Now().Before(ready) && b.do != doOpen:
		return c.again(ctx, s, q, saidSoon)
	case b.do == doOpen:
		return c.opens(ctx, s, q, n, answer)
	case b.do == doCancel:
		return c.again(ctx, s, q, "Nothing was decided.")
	case b.do == doConfirm:
		return c.give(ctx, s, q, b.answer, answer)
	}
	return c.decide(ctx, s, q, n, b, answer)
}

// talk does something with the turn, if the desktop is the one that it was.
func (c *Channel) talk(ctx context.Context, s *server, do func() error) error {
	if err := c.acquireTurn(ctx); err != nil {
		return err
	}
	defer c.release()
	if now, err := c.reach(ctx); err != nil || now != s {
		return err
	}
	return do()
}

// again shows a request that is still open once more, under a note.
func (c *Channel) again(ctx context.Context, s *server, q *question, note string) error {
	return c.talk(ctx, s, func() error {
		c.mu.Lock()
		over := c.open[q.notice.ID] != q || q.notice.Ended()
		c.mu.Unlock()
		if over {
			return c.remark(ctx, s, note)
		}
		return c.show(ctx, s, q, inert(note), true)
	})
}

// remark says something in passing. It needs the turn.
func (c *Channel) remark(ctx context.Context, s *server, what string) error {
	_, err := c.send(ctx, s, message{title: inert(what), urgency: urgencyLow, lasts: passing, silent: true})
	return err
}

// opens opens the page of a request, which somebody has thereby seen.
func (c *Channel) opens(ctx context.Context, s *server, q *question, n sdk.Notice, answer sdk.Answerer) error {
	if err := c.talk(ctx, s, func() error { return c.openPage(ctx, n) }); err != nil {
		c.log.Warn("the page could not be opened", "err", err)
		return c.again(ctx, s, q, "The page could not be opened: "+c.conf.Page)
	}
	c.mu.Lock()
	q.away = true
	c.mu.Unlock()
	if _, err := answer(ctx, n.Answer(sdk.Seen, c.conf.User)); err != nil {
		c.log.Info("that somebody has opened a request was not noted", "err", err)
	}
	return nil
}

// decide gives the answer of a button, or asks what belongs to it first.
func (c *Channel) decide(ctx context.Context, s *server, q *question, n sdk.Notice, b button, answer sdk.Answerer) error {
	a := n.Answer(b.do, c.conf.User)
	a.Choice = b.choice
	if b.do == doDenyWhy {
		a.Decision = sdk.Deny
	}
	var words string
	switch b.do {
	case doDenyWhy:
		words = "Why is it denied?"
	case sdk.Steer:
		words = "What should the agent do instead?"
	case sdk.Approve:
		if n.Risk == sdk.RiskCritical {
			words = "CRITICAL. To approve it, type: " + page.Word(n)
		}
	case sdk.Choose:
		for _, o := range n.Options {
			if o.ID == b.choice && o.Other {
				words = "What is your answer?"
			}
		}
	}
	switch {
	case words != "":
		return c.promptFor(ctx, s, q, n, words, a)
	case twice(n, a):
		return c.second(ctx, s, q, n, a)
	}
	return c.give(ctx, s, q, a, answer)
}

// twice reports whether an answer is asked for again.
func twice(n sdk.Notice, a sdk.Answer) bool {
	return (a.Decision == sdk.Approve || a.Decision == sdk.Choose) && page.Word(n) != ""
}

// promptFor asks for words, in a notification of its own.
func (c *Channel) promptFor(ctx context.Context, s *server, q *question, n sdk.Notice, words string, a sdk.Answer) error {
	return c.talk(ctx, s, func() error {
		lines, _ := body(n, c.conf.Lines, c.conf.Columns)
		actions := append([]string{keyReply, "Send"}, c.know(q, n, []button{{request: n.ID, do: doCancel, label: "Go back"}}, true)...)
		m := message{title: inert(words), body: lines, actions: actions, urgency: urgencyCritical}
		if err := c.put(ctx, s, q, m, true); err != nil {
			return err
		}
		c.mu.Lock()
		c.prompts[q.id] = prompt{request: n.ID, answer: a}
		c.mu.Unlock()
		return nil
	})
}

// second asks a person again, with what they would do in the title.
func (c *Channel) second(ctx context.Context, s *server, q *question, n sdk.Notice, a sdk.Answer) error {
	what := "Approve this call?"
	if a.Decision == sdk.Choose {
		for i, o := range n.Options {
			if o.ID == a.Choice {
				what = fmt.Sprintf("Choose %d. %s?", i+1, short(o.Label, maxLabel))
			}
		}
	}
	return c.talk(ctx, s, func() error {
		lines, _ := body(n, c.conf.Lines, c.conf.Columns)
		m := message{title: title(n, time.Now()) + ". " + what, body: lines, urgency: urgencyCritical}
		m.actions = c.know(q, n, []button{{request: n.ID, do: doCancel, label: "No, go back"}, {request: n.ID, do: doConfirm, label: "Yes, I mean it", answer: a}}, true)
		return c.put(ctx, s, q, m, true)
	})
}

// typed deals with what somebody has typed into a notification.
func (c *Channel) typed(ctx context.Context, s *server, id uint32, text string, answer sdk.Answerer) error {
	c.mu.Lock()
	p, known := c.prompts[id]
	delete(c.prompts, id)
	q := c.open[p.request]
	if !known || q == nil {
		c.mu.Unlock()
		c.log.Info("words that answer nothing were typed")
		return nil
	}
	n := q.notice
	c.disown(q)
	if q.id == id {
		q.id, q.asking = 0, false
	}
	c.mu.Unlock()
	_ = c.talk(ctx, s, func() error { c.remove(ctx, s, id); return nil })
	a, words := p.answer, strings.TrimSpace(text)
	switch {
	case a.Nonce != n.Nonce || n.Ended():
		return c.again(ctx, s, q, saidOver)
	case words == "":
		return c.again(ctx, s, q, saidEmpty)
	case a.Decision == sdk.Approve && words != page.Word(n):
		return c.again(ctx, s, q, saidWords)
	case a.Decision == sdk.Deny:
		a.Reason = words
	case a.Decision == sdk.Steer, a.Decision == sdk.Choose:
		a.Instructions = words
	}
	if a.Decision == sdk.Choose && twice(n, a) {
		return c.second(ctx, s, q, n, a)
	}
	return c.give(ctx, s, q, a, answer)
}

// give hands an answer over, and says what became of it.
func (c *Channel) give(ctx context.Context, s *server, q *question, a sdk.Answer, answer sdk.Answerer) error {
	status, err := answer(ctx, a)
	if refused, ok := errors.AsType[*sdk.Refused](err); ok {
		return c.again(ctx, s, q, "This does not count: "+refused.Reason)
	}
	if err != nil {
		return c.again(ctx, s, q, saidLater)
	}
	c.mu.Lock()
	q.away = true // this person has answered
	c.mu.Unlock()
	said := "The request is " + status + "."
	if status == sdk.StatusPending {
		said = "Your approval counts; it takes more people."
	}
	return c.talk(ctx, s, func() error { return c.remark(ctx, s, said) })
}
