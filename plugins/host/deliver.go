package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// maxBreakdowns is on how many processes one thing to tell may be tried that
// makes them break down.
const maxBreakdowns = 3

// consumer is the channel's name in the queue.
func (c *channel) consumer() string { return "channel/" + c.c.Name }

// listen takes up what happens in the queue, until ctx ends.
func (c *channel) listen(ctx context.Context) error {
	return c.queue.Feed(ctx, c.consumer(), func(e approvals.Event) error {
		if e.Request.ID == "" {
			return nil // news have a place of their own
		}
		return c.reread(ctx, e.Request.ID, e.Type)
	})
}

// tellAll tells the process of what is on the agenda, one thing after the
// other, until ctx ends or the process breaks down.
func (c *channel) tellAll(ctx context.Context, p *process) error {
	pause := c.d.pauses()
	for {
		t, wait := c.next(time.Now())
		if t != nil {
			failed, err := c.try(ctx, p, t)
			switch {
			case err != nil:
				return err
			case !failed:
				pause.Reset()
				continue
			}
			if !sleep(ctx, pause.NextBackOff()) {
				return ctx.Err()
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-c.agenda.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// try tells the process of one thing. It reports whether the channel itself
// failed, so that it is to be tried again after a pause; an error ends the
// process.
func (c *channel) try(ctx context.Context, p *process, t *task) (failed bool, err error) {
	id, key := t.request.ID, t.key()
	log := c.log.With("approval", id, "event", t.event)
	now, err := c.queue.Request(ctx, id)
	if errors.Is(err, approvals.ErrNotFound) {
		c.agenda.drop(id)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading request %s: %w", id, err)
	}
	if asked := t.asks(); asked && now.Status.Final() {
		c.agenda.note(now, "") // it has ended meanwhile
		return false, nil
	}
	t.request = now
	c.agenda.trying(id)
	c.telling = key
	err = c.tell(ctx, p, t)
	if ctx.Err() == nil {
		c.onTold(err)
	}
	own, ok := ownError(err)
	if err != nil && !ok {
		return false, broken("telling of request "+id, err)
	}
	c.telling = ""
	switch {
	case err == nil:
		c.agenda.brokeDown(key, 0)
		c.done(ctx, t, time.Now())
		c.become(StateRunning, nil)
		return false, nil
	case own.Permanent:
		c.agenda.brokeDown(key, maxBreakdowns+1)
		log.Error("the channel will never tell people of this", "err", shown(err))
		return false, nil
	}
	c.become(StateUnreachable, shown(err))
	log.Warn("the channel could not tell people, and is asked again", "err", shown(err))
	return true, nil
}

// key names the thing to tell among those on which processes break down.
func (i *item) key() string {
	if i.asks() {
		return "notify " + i.request.ID
	}
	return "update " + i.request.ID
}

// leftOut reports whether processes have broken down on an item for so often
// that it is not told. The agenda is locked.
func (c *channel) leftOut(it *item) bool {
	key := it.key()
	if c.agenda.broke[key] == maxBreakdowns {
		c.agenda.broke[key]++
		c.log.Error("the channel breaks down on an event, which is left out", "approval", it.request.ID)
	}
	return c.agenda.broke[key] > maxBreakdowns
}

// tell tells the process of one thing once.
func (c *channel) tell(ctx context.Context, p *process, t *task) error {
	ctx, cancel := context.WithTimeout(ctx, c.d.notify)
	defer cancel()
	e := approvals.Event{Type: t.event, Request: t.request}
	if !t.asks() {
		switch {
		case t.request.Status.Final():
			e.Type = record.EventDecided
		case e.Type == record.EventClaimed && t.request.Claim == nil:
			e.Type = record.EventUnclaimed
		}
		n := c.notice(e, p.info)
		if !t.request.Status.Final() {
			lines, _ := c.rowLines(ctx, t.row)
			n.Details = append(n.Details, lines...)
		}
		return p.remote.Update(ctx, n)
	}
	e.Type = record.EventRequested
	if t.request.Escalated > 0 || t.late {
		e.Type = record.EventEscalated
	}
	n := c.notice(e, p.info)
	n.To = t.to
	if t.told.IsZero() {
		t.row = t.with
	}
	lines, with := c.rowLines(ctx, t.row)
	n.Details = append(n.Details, lines...)
	c.agenda.showing(t.request.ID, with) // an answer can come before Notify returns
	if c.c.PerMinute > 0 && t.waiting > 0 {
		n.Waiting = t.waiting
		n.Warnings = append(n.Warnings, fmt.Sprintf("%d more are waiting, and come later here; see them with: holdgate pending", t.waiting))
	}
	if err := p.remote.Notify(ctx, n); err != nil {
		return err
	}
	if err := c.queue.Told(ctx, t.request.ID); err != nil {
		c.log.Error("noting that people were told", "approval", t.request.ID, "err", err)
	}
	return nil
}

// Send shows people a test message in a channel, and returns once it did.
func (h *Host) Send(ctx context.Context, name string) error {
	for _, c := range h.channels {
		if c.c.Name == name {
			return c.send(ctx)
		}
	}
	return fmt.Errorf("%w: %q", ErrNoChannel, text(name))
}

// ErrNoChannel says that there is no channel of a name.
var ErrNoChannel = errors.New("there is no such channel")

func (c *channel) send(ctx context.Context) error {
	c.mu.Lock()
	p, status := c.live, c.status
	c.mu.Unlock()
	if p == nil {
		return fmt.Errorf("the channel %s does not run: it is %s: %s", c.c.Name, status.State, status.Err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.d.notify)
	defer cancel()
	return p.test(ctx)
}

// test shows a message in the channel that says that it is a test.
func (p *process) test(ctx context.Context) error {
	now := time.Now()
	id := fmt.Sprintf("test-%d", now.UnixNano())
	const title = "A test of this channel: there is nothing to decide"
	if p.info.News {
		if err := p.remote.Tell(ctx, sdk.News{ID: id, Kind: sdk.NewsTest, At: now, Title: title}); err != nil {
			return shown(err)
		}
		return nil
	}
	n := sdk.Notice{
		ID: id, Status: sdk.StatusPending, Kind: string(holdgate.RequestApproval), Risk: sdk.RiskLow, Rule: "holdgate.test", Event: sdk.Requested,
		Reason: title, Summary: title, Whole: true, Closed: "it is a test", CreatedAt: now, ExpiresAt: now.Add(time.Minute), OnTimeout: "deny", Quorum: 1,
	}
	if err := p.remote.Notify(ctx, n); err != nil {
		return shown(err)
	}
	n.Status, n.Event, n.Outcome = string(holdgate.StatusCancelled), sdk.Decided, &sdk.Outcome{Decision: "cancel", By: "holdgate", At: now, Reason: title}
	if err := p.remote.Update(ctx, n); err != nil {
		return shown(err)
	}
	return nil
}
