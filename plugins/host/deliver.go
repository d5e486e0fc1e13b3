package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// maxBreakdowns is on how many processes one event may be tried that makes them
// break down.
const maxBreakdowns = 3

// consumer is the channel's name in the queue.
func (c *channel) consumer() string { return "channel/" + c.c.Name }

// deliverAll tells the process of everything, until ctx ends or it breaks
// down.
func (c *channel) deliverAll(ctx context.Context, p *process) error {
	c.turn.Lock()
	c.open = make(map[string]bool)
	c.turn.Unlock()
	if p.info.Forgets {
		pending, err := c.queue.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
		if err != nil {
			return fmt.Errorf("telling it again of what is pending: %w", err)
		}
		for _, r := range pending {
			if err := c.deliver(ctx, p, approvals.Event{Type: approvals.EventRequested, Request: r}); err != nil {
				return err
			}
		}
	}
	return c.queue.Feed(ctx, c.consumer(), func(e approvals.Event) error { return c.deliver(ctx, p, e) })
}

// reconcile tells the process of ends that no event told it of: those between
// listing what is pending and a first feed, and those of events that are gone.
func (c *channel) reconcile(ctx context.Context, p *process) error {
	c.turn.Lock()
	open := slices.Collect(maps.Keys(c.open))
	c.turn.Unlock()
	for _, id := range open {
		r, err := c.queue.Request(ctx, id)
		if err != nil {
			return fmt.Errorf("reading request %s: %w", id, err)
		}
		if !r.Status.Final() {
			continue
		}
		if err := c.deliver(ctx, p, approvals.Event{Type: approvals.EventDecided, Request: r}); err != nil {
			return err
		}
	}
	return nil
}

// deliver tells the channel of an event. It tries again for as long as the
// channel answers with errors of its own and the request waits; any other error
// is returned, and ends the process.
func (c *channel) deliver(ctx context.Context, p *process, e approvals.Event) error {
	news := e.Request.ID == ""
	if news && (!p.info.News || titles[e.Type] == "") {
		return nil
	}
	c.turn.Lock()
	defer c.turn.Unlock()
	if ctx.Err() != nil {
		return ctx.Err() // it was another's turn until now
	}
	event := fmt.Sprintf("%s %s", e.Type, e.Request.ID)
	if news {
		event = fmt.Sprintf("%s %d", e.Type, e.Seq)
	}
	log := c.log.With("request", e.Request.ID, "event", e.Type)
	if c.broke[event] >= maxBreakdowns {
		log.Error("the channel breaks down on an event, which is left out")
		return nil
	}
	pause := c.d.pauses()
	for {
		c.telling = event
		err := c.tell(ctx, p, e)
		own, ok := ownError(err)
		if err != nil && !ok {
			return broken("telling of "+event, err)
		}
		c.telling = ""
		switch {
		case err == nil:
			delete(c.broke, event)
			return nil
		case own.Permanent:
			log.Error("the channel will never tell people of this", "err", shown(err))
			return nil
		}
		wait := pause.NextBackOff()
		c.become(StateUnreachable, shown(err))
		log.Warn("the channel could not tell people, and is asked again", "err", shown(err), "pause", wait)
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// tell tells the channel of an event once. What has passed needs no telling: a
// question that has been answered, or news of what no longer exists.
func (c *channel) tell(ctx context.Context, p *process, e approvals.Event) error {
	if e.Request.ID == "" {
		if time.Since(e.Time) > newsLast {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, c.d.notify)
		defer cancel()
		return p.remote.Tell(ctx, news(e))
	}
	current, err := c.queue.Request(ctx, e.Request.ID)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("reading request %s: %w", e.Request.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.d.notify)
	defer cancel()
	switch e.Type {
	case approvals.EventRequested, approvals.EventEscalated:
		if current.Status.Final() {
			return nil
		}
		c.open[e.Request.ID] = true
		err = p.remote.Notify(ctx, c.notice(approvals.Event{Type: e.Type, Request: current}, p.info))
		if err == nil {
			if terr := c.queue.Told(ctx, e.Request.ID); terr != nil {
				c.log.Error("noting that people were told", "request", e.Request.ID, "err", terr)
			}
		}
	case approvals.EventVoted, approvals.EventDecided, approvals.EventClaimed, approvals.EventUnclaimed, approvals.EventDelegated, approvals.EventExtended:
		if current.Status.Final() && e.Request.Status == holdgate.StatusPending {
			return nil // the end is an event of its own
		}
		err = p.remote.Update(ctx, c.notice(e, p.info))
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if e.Request.Status.Final() {
		delete(c.open, e.Request.ID)
	}
	c.become(StateRunning, nil)
	return nil
}
