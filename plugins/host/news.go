package host

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// newsLast is for how long news are tried to be told.
const newsLast = time.Hour

// titles are the first lines of the news that channels bring, by the events
// that they are of.
var titles = map[approvals.EventType]string{
	record.EventPolicy:  "The policy has changed",
	record.EventConfig:  "The configuration has changed",
	record.EventPasskey: "A passkey has changed",
	record.EventPaused:  "Agents are paused",
	record.EventResumed: "Agents go on",
	record.EventStopped: "Agents are stopped",
	record.EventSession: "The rules of a session have changed",
	record.EventFinding: "Something to look at",
}

// news is an event without a request as a channel is told of it.
func news(e approvals.Event) sdk.News {
	n := sdk.News{ID: "event-" + strconv.FormatUint(e.Seq, 10), Kind: string(e.Type), At: e.Time, Title: titles[e.Type], Agent: text(e.Agent)}
	if e.Agent != "" {
		n.Title += ": " + n.Agent
	}
	if e.Note != "" {
		n.Lines = []string{text(e.Note)}
	}
	return n
}

// maxNews bounds the news of the host's own that wait for a channel.
const maxNews = 64

// bring feeds the channel news, until ctx ends or the process breaks down. They
// have a place in the queue of their own, so that a channel which takes none
// just now hears of requests all the same.
func (c *channel) bring(ctx context.Context, p *process) error {
	if !p.info.News {
		return nil
	}
	return c.queue.Feed(ctx, "news/"+c.c.Name, func(e approvals.Event) error {
		if e.Request.ID != "" || titles[e.Type] == "" {
			return nil
		}
		return c.bringOne(ctx, p, news(e))
	})
}

// bringOwn tells of the host's own news, which are in memory alone.
func (c *channel) bringOwn(ctx context.Context, p *process) error {
	if !p.info.News {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-c.news:
			if err := c.bringOne(ctx, p, n); err != nil {
				return err
			}
		}
	}
}

// bringOne tells of one piece of news, for as long as it is any.
func (c *channel) bringOne(ctx context.Context, p *process, n sdk.News) error {
	pause := c.d.pauses()
	for time.Since(n.At) < newsLast {
		err := c.bringOnce(ctx, p, n)
		own, ok := ownError(err)
		switch {
		case err == nil:
			return nil
		case !ok:
			return broken("telling news", err)
		case own.Permanent:
			c.log.Error("the channel will never tell people these news", "kind", n.Kind, "err", shown(err))
			return nil
		}
		c.log.Warn("the channel could not tell people news, and is asked again", "kind", n.Kind, "err", shown(err))
		if !sleep(ctx, pause.NextBackOff()) {
			return ctx.Err()
		}
	}
	return nil
}

func (c *channel) bringOnce(ctx context.Context, p *process, n sdk.News) error {
	ctx, cancel := context.WithTimeout(ctx, c.d.notify)
	defer cancel()
	return p.remote.Tell(ctx, n)
}

// Tell brings news to every channel that brings any. They are kept in memory
// alone, and where too many wait the newest are dropped.
func (h *Host) Tell(n sdk.News) { h.tellBut("", n) }

// tellBut brings news to all channels but one.
func (h *Host) tellBut(name string, n sdk.News) {
	for _, c := range h.channels {
		if c.c.Name == name {
			continue
		}
		select {
		case c.news <- n:
		default:
			c.log.Warn("too many news wait for the channel; some were dropped", "kind", n.Kind)
		}
	}
}

// healthNews are news of how a channel does.
func healthNews(name string, down bool, why string, now time.Time) sdk.News {
	n := sdk.News{ID: fmt.Sprintf("channel-%s-%d", name, now.UnixNano()), Kind: sdk.NewsUp, At: now, Title: "The channel " + name + " reaches people again"}
	if down {
		n.Kind, n.Title = sdk.NewsDown, "The channel "+name+" does not reach people"
		if why != "" {
			n.Lines = []string{text(why)}
		}
	}
	return n
}
