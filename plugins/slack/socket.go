package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"golang.org/x/sync/errgroup"
)

// maxEnvelope is how many bytes one message of Socket Mode may have.
const maxEnvelope = 1 << 20

// maxPause is how long a connection is waited for at most before the next try,
// unless Slack asks for longer.
const maxPause = 30 * time.Second

// errAgain ends a try to connect: the library's own pauses grow to minutes.
var errAgain = errors.New("trying again")

// connect keeps a connection to Slack until ctx ends, or Slack does not take
// the token.
func (c *Channel) connect(ctx context.Context, d *desk) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = c.pause, maxPause
	for {
		var least time.Duration
		up, err := c.connectOnce(ctx, d, &least)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, errAgain):
			c.noteConnection(err)
			return fmt.Errorf("connecting to Slack (is app_token_file right?): %w", err)
		case up:
			pause.Reset()
		}
		t := time.NewTimer(max(pause.NextBackOff(), least))
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// connectOnce connects and takes what comes, through Slack's own reconnections,
// until a try to connect fails. It reports whether there was a connection, and
// how long to wait at least.
func (c *Channel) connectOnce(ctx context.Context, d *desk, least *time.Duration) (up bool, err error) {
	client := socketmode.New(c.api, socketmode.OptionReadLimit(maxEnvelope), socketmode.OptionLog(log.New(io.Discard, "", 0)))
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return client.RunContext(running) })
	g.Go(func() error {
		for {
			select {
			case <-running.Done():
				return running.Err()
			case e := <-client.Events:
				switch e.Type {
				case socketmode.EventTypeHello:
					up = true
					c.noteConnection(nil)
					c.log.Info("connected to Slack")
				case socketmode.EventTypeConnectionError:
					failed, _ := e.Data.(*slack.ConnectionErrorEvent)
					*least = c.failed(failed)
					return errAgain
				case socketmode.EventTypeInteractive:
					c.handle(running, d, client, e)
				default:
					if e.Request != nil && e.Request.EnvelopeID != "" {
						ack(running, c, client, e, nil)
					}
				}
			}
		}
	})
	err = g.Wait()
	return up, err
}

// failed notes that a try to connect has failed, and returns how long Slack asks
// to wait.
func (c *Channel) failed(e *slack.ConnectionErrorEvent) time.Duration {
	if e == nil || e.ErrorObj == nil {
		return 0
	}
	c.noteConnection(fmt.Errorf("no connection to Slack, so that no answers come in: %w", e.ErrorObj))
	c.log.Warn("connecting to Slack failed", "err", e.ErrorObj)
	if limited, ok := errors.AsType[*slack.RateLimitedError](e.ErrorObj); ok {
		return limited.RetryAfter
	}
	return 0
}

// handle takes one envelope. A press is acknowledged before it is worked on, a
// dialog with what it is to show.
func (c *Channel) handle(ctx context.Context, d *desk, client *socketmode.Client, e socketmode.Event) {
	cb, ok := e.Data.(slack.InteractionCallback)
	if !ok || e.Request == nil || !c.seen.fresh(e.Request.Payload, time.Now()) {
		c.log.Warn("a payload from Slack came twice, or is none")
		ack(ctx, c, client, e, nil)
		return
	}
	switch cb.Type {
	case slack.InteractionTypeBlockActions:
		ack(ctx, c, client, e, nil)
		d.do(ctx, func() { d.press(ctx, cb) })
	case slack.InteractionTypeViewSubmission:
		d.work.Go(func() { ack(ctx, c, client, e, d.submit(ctx, cb)) })
	default:
		ack(ctx, c, client, e, nil)
	}
}

func ack(ctx context.Context, c *Channel, client *socketmode.Client, e socketmode.Event, response *slack.ViewSubmissionResponse) {
	if e.Request == nil {
		return
	}
	var payload any
	if response != nil {
		payload = response
	}
	if err := client.AckCtx(ctx, e.Request.EnvelopeID, payload); err != nil {
		c.log.Warn("an envelope could not be acknowledged", "err", err)
	}
}
