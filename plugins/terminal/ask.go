package terminal

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// minShown is how long people get to see a question before they can answer.
const minShown = 700 * time.Millisecond

// askOnScreen puts a question on the screen until it has been answered, put off or
// settled elsewhere, which is when ctx ends.
func (c *Channel) askOnScreen(ctx context.Context, q *question, waiting int, answer sdk.Answerer) error {
	c.mu.Lock()
	n := q.notice
	c.mu.Unlock()
	c.screen.question(n, time.Now())
	if err := c.present(ctx, n, waiting); err != nil {
		return err
	}
	for {
		line, err := c.line(ctx)
		if errors.Is(err, errNews) {
			if err := c.showNotes(); err != nil {
				return err
			}
			c.mu.Lock()
			n = q.notice
			c.mu.Unlock()
			if err := c.present(ctx, n, waiting); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		a, said := c.understand(n, strings.TrimSpace(line))
		switch {
		case said == wantView:
			c.screen.arguments(n)
			c.seen(ctx, n, answer)
		case said == wantLater:
			c.later(q)
			return nil
		case said != "":
			c.screen.line("%s", said)
		default:
			a, ok, err := c.complete(ctx, a)
			if err != nil {
				return err
			}
			if ok {
				return c.give(ctx, q, a, answer)
			}
		}
		c.screen.prompt(n, waiting)
		if err := c.screen.flush(); err != nil {
			return err
		}
	}
}

// present leaves the question on the screen for a while, throws away what was
// typed until then, and only then shows the prompt.
func (c *Channel) present(ctx context.Context, n sdk.Notice, waiting int) error {
	if err := c.screen.flush(); err != nil {
		return err
	}
	t := time.NewTimer(c.minShown)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.tty.discard(); err != nil {
		return err
	}
	c.screen.prompt(n, waiting)
	return c.screen.flush()
}

// What a line can want besides answering.
const (
	wantView  = "view"
	wantLater = "later"
)

// understand turns a line into an answer, or says why it is none. An answer
// to steer or deny may still need words.
func (c *Channel) understand(n sdk.Notice, line string) (_ sdk.Answer, said string) {
	full := page.Word(n)
	word, rest, _ := strings.Cut(strings.ToLower(line), " ")
	switch word {
	case "a", "approve":
		switch {
		case n.Kind == "choice":
			return sdk.Answer{}, "This is a choice: give the number of an option."
		case !n.May(sdk.Approve):
			return sdk.Answer{}, "Not here: " + n.Closed + "."
		case full != "" && line != full:
			return sdk.Answer{}, "Nothing was decided. To approve this call, type in full: " + full
		}
		return n.Answer(sdk.Approve, c.user), ""
	case "d", "deny":
		return n.Answer(sdk.Deny, c.user), ""
	case "s", "steer":
		if !n.May(sdk.Steer) {
			return sdk.Answer{}, "This call cannot be steered: approve or deny it."
		}
		return n.Answer(sdk.Steer, c.user), ""
	case "c", "claim":
		if !n.May(sdk.Claim) {
			return sdk.Answer{}, "This call cannot be claimed here."
		}
		return n.Answer(sdk.Claim, c.user), ""
	case "unclaim":
		return n.Answer(sdk.Unclaim, c.user), ""
	case "v", "view":
		return sdk.Answer{}, wantView
	case "n", "next":
		return sdk.Answer{}, wantLater
	case "choose":
		return c.choice(n, rest)
	}
	if _, err := strconv.Atoi(line); err == nil && n.Kind == "choice" {
		if full != "" {
			return sdk.Answer{}, "Nothing was decided. To choose here, type in full: choose " + line
		}
		return c.choice(n, line)
	}
	return sdk.Answer{}, "Nothing was decided."
}

func (c *Channel) choice(n sdk.Notice, number string) (_ sdk.Answer, said string) {
	i, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || i < 1 || i > len(n.Options):
		return sdk.Answer{}, "There is no such option."
	case !n.May(sdk.Choose):
		return sdk.Answer{}, "Not here: " + n.Closed + "."
	}
	a := n.Answer(sdk.Choose, c.user)
	a.Choice = n.Options[i-1].ID
	return a, ""
}

// complete asks for the words that go with an answer. It is not ok where the
// person thought better of it.
func (c *Channel) complete(ctx context.Context, a sdk.Answer) (_ sdk.Answer, ok bool, err error) {
	switch a.Decision {
	case sdk.Deny:
		a.Reason, err = c.words(ctx, "Why (Enter for no reason): ")
		return a, true, err
	case sdk.Steer:
		a.Instructions, err = c.words(ctx, "What to do instead (Enter to go back): ")
		return a, a.Instructions != "", err
	}
	return a, true, nil
}

func (c *Channel) words(ctx context.Context, label string) (string, error) {
	c.screen.text("%s", label)
	if err := c.screen.flush(); err != nil {
		return "", err
	}
	line, err := c.tty.readLine(ctx)
	return strings.TrimSpace(line), err
}

// give hands the answer over, and shows what became of it.
func (c *Channel) give(ctx context.Context, q *question, a sdk.Answer, answer sdk.Answerer) error {
	// Once given, the answer is waited for even if its own effect takes the
	// question off the screen; the deadline is Holdgate's.
	status, err := answer(context.WithoutCancel(ctx), a)
	var refused *sdk.Refused
	switch {
	case errors.As(err, &refused):
		c.screen.line("This does not count: %s.", refused.Reason)
		if status != "" && status != sdk.StatusPending {
			c.done(q, status)
		}
	case err != nil:
		return err
	case a.Decision == sdk.Claim:
		c.screen.line("Silence does not end it for now; the others see that you look at it.")
	case a.Decision == sdk.Unclaim:
		c.screen.line("Noted.")
	default:
		c.done(q, status)
		c.screen.line("%s", accepted(status))
	}
	return c.screen.flush()
}

// seen says that somebody has looked into a request, so that it need not be
// brought to others yet. Nothing rests on it.
func (c *Channel) seen(ctx context.Context, n sdk.Notice, answer sdk.Answerer) {
	if !n.May(sdk.Seen) {
		return
	}
	if _, err := answer(ctx, n.Answer(sdk.Seen, c.user)); err != nil {
		c.log.Info("that somebody has looked into a request was not noted", "approval", n.ID, "err", err)
	}
}

// accepted says what an answer that counts has led to.
func accepted(status string) string {
	if status == sdk.StatusPending {
		return "Your approval counts; it takes more people."
	}
	return "The request is " + status + "."
}
