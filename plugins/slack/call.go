package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/slack-go/slack"
)

// perTry bounds one call of Slack's Web API.
const perTry = 8 * time.Second

// leastWait is how long Slack is left alone once it has asked to wait, also
// where it names no time or one that has passed.
const leastWait = time.Second

// A gate keeps calls back for as long as Slack has asked for, each method by
// itself: that is how Slack counts.
type gate struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (g *gate) shut(method string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil {
		g.until = make(map[string]time.Time)
	}
	g.until[method] = until
}

// wait returns when the method may be called, or at once with an error where
// that is later than ctx lasts.
func (g *gate) wait(ctx context.Context, method string) error {
	g.mu.Lock()
	until := g.until[method]
	g.mu.Unlock()
	if end, ok := ctx.Deadline(); ok && until.After(end) {
		return fmt.Errorf("%s: Slack has asked to wait until %s", method, until.Format(time.TimeOnly))
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call calls a method of the Web API, later where Slack asks to wait. Errors
// name the method and what Slack said, and neither tokens nor texts.
func (c *Channel) call(ctx context.Context, method string, do func(context.Context) error) error {
	for {
		if err := c.gate.wait(ctx, method); err != nil {
			return err
		}
		try, cancel := context.WithTimeout(ctx, perTry)
		err := do(try)
		cancel()
		limited, ok := errors.AsType[*slack.RateLimitedError](err)
		switch {
		case err == nil:
			return nil
		case ok:
			c.log.Warn("Slack asks to wait", "method", method, "for", limited.RetryAfter)
			c.gate.shut(method, time.Now().Add(max(limited.RetryAfter, leastWait)))
			continue
		}
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		if why := advice[err.Error()]; why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		}
		return fmt.Errorf("%s: %w", method, err)
	}
}

// advice is what to do about what Slack says.
var advice = map[string]string{
	"not_in_channel":    "invite the app to the channel",
	"channel_not_found": "the channel does not exist, or is private and the app is not in it: invite it",
	"is_archived":       "the channel is archived",
	"invalid_auth":      "the token is wrong",
	"account_inactive":  "the app was removed from the workspace",
	"token_revoked":     "the token was revoked: install the app again",
	"missing_scope":     "the app lacks a scope: compare its manifest with the documentation, and install it again",
}

// said reports whether Slack itself refused the call with one of the codes.
func said(err error, codes ...string) bool {
	r, ok := errors.AsType[slack.SlackErrorResponse](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if r.Err == code {
			return true
		}
	}
	return false
}

// unsure reports whether a call that failed may have done its work.
func unsure(err error) bool {
	_, refused := errors.AsType[slack.SlackErrorResponse](err)
	return !refused || said(err, "internal_error", "fatal_error", "service_unavailable", "request_timeout")
}
