// Package terminal is the channel that asks on a person's terminal.
//
// # Which terminal
//
// The one that the configuration names, by its own device (what the command
// tty prints), and no other: the process has no controlling terminal. A
// terminal that an agent can write to is none of a person's, so it is refused
// where it is listed as an agent's, belongs to somebody else, or may be written
// to by everybody; what its group may do (mesg y) is taken away first, and said.
// Processes of the same user can still open it: an agent has to be confined, or
// run as another user, for this channel to mean anything.
//
// # A question
//
// One question is on the screen at a time, as the package page draws it: what
// no agent has written comes first. The prompt appears after 700 ms, and what was typed
// before that is thrown away, so that nobody answers a question that they have
// not seen. An answer is a line, ended with Enter. Approving a call of high
// risk, of an unknown one, or with something hidden takes the whole word. A
// question that has been decided elsewhere says
// so and makes room for the next.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Config is the channel's configuration.
type Config struct {
	// TTY is the device of the person's terminal, such as /dev/pts/3.
	TTY string `json:"tty"`
	// AgentTTYs are devices of terminals that agents use.
	AgentTTYs []string `json:"agent_ttys"`
	// User is the name under which answers are given; the user's own if
	// empty.
	User string `json:"user"`
	// Colour is "auto" (also if empty), "always" or "never". Auto means
	// colour, but for a dumb terminal or where NO_COLOR is set.
	Colour string `json:"colour"`
}

// A Channel asks on one terminal.
type Channel struct {
	log    *slog.Logger
	getenv func(string) string

	minShown time.Duration // how long a question is shown before anything typed counts
	user     string
	tty      *tty
	screen   *screen

	mu   sync.Mutex
	open []*question   // in the order in which they came
	more chan struct{} // has a value after something was added to open or notes

	voted map[string]sdk.Notice   // what this person has voted on and still waits, by id
	notes []string                // lines that are to be shown
	stir  context.CancelCauseFunc // set while a line is read: it ends that
}

var _ sdk.Channel = (*Channel)(nil)

// New returns a channel that has to be configured.
func New(log *slog.Logger, getenv func(string) string) *Channel {
	return &Channel{log: log, getenv: getenv, minShown: minShown, more: make(chan struct{}, 1), voted: make(map[string]sdk.Notice)}
}

// A question is a request that waits for this person.
type question struct {
	notice sdk.Notice
	// settle is set while the question is on the screen: it takes it off.
	settle context.CancelCauseFunc
}

// settledError is why a question was taken off the screen.
type settledError struct{ notice sdk.Notice }

func (e *settledError) Error() string { return "the request has changed" }

// Info implements [sdk.Channel].
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "terminal", Assurance: sdk.Local, Forgets: true, Claims: true, Sees: true}
}

// Configure implements [sdk.Channel].
func (c *Channel) Configure(_ context.Context, config []byte) error {
	var conf Config
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	name := conf.User
	if name == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("finding the user's name (or set user): %w", err)
		}
		name = u.Username
	}
	colour, err := c.colour(conf.Colour)
	if err != nil {
		return err
	}
	t, tightened, err := openTTY(conf.TTY, conf.AgentTTYs)
	if err != nil {
		return err
	}
	c.user, c.tty, c.screen = name, t, &screen{out: t, width: t.width, colour: colour}
	c.screen.line("Holdgate asks here.")
	if tightened != "" {
		c.log.Warn("the terminal was open to others", "tty", conf.TTY, "was", tightened)
		c.screen.line("Others could use this terminal (mode %s); now only you can.", tightened)
	}
	return c.screen.flush()
}

func (c *Channel) colour(setting string) (bool, error) {
	switch setting {
	case "", "auto":
		return c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb", nil
	case "always":
		return true, nil
	case "never":
		return false, nil
	}
	return false, fmt.Errorf("colour is %q: want auto, always or never", setting)
}

// Notify implements [sdk.Channel].
func (c *Channel) Notify(_ context.Context, n sdk.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.voted, n.ID)
	q := c.find(n.ID)
	switch {
	case q == nil:
		c.open = append(c.open, &question{notice: n})
	case q.notice.Nonce == n.Nonce && slices.Equal(q.notice.Answers, n.Answers):
		q.notice = n // told again
		return nil
	default:
		q.notice = n
		if q.settle != nil {
			q.settle(&settledError{n})
		}
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
	return nil
}

// Update implements [sdk.Channel].
func (c *Channel) Update(_ context.Context, n sdk.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.find(n.ID)
	switch {
	case q == nil:
		c.updateVoted(n)
	case n.Ended():
		c.remove(q)
		if q.settle != nil {
			q.settle(&settledError{n})
		}
	default:
		if q.settle != nil {
			c.note(changes(q.notice, n)...)
		}
		q.notice.Votes, q.notice.Approved, q.notice.People, q.notice.Claim, q.notice.ExpiresAt = n.Votes, n.Approved, n.People, n.Claim, n.ExpiresAt
	}
	return nil
}

// updateVoted says what has become of a request on which this person has voted.
// It needs the lock.
func (c *Channel) updateVoted(n sdk.Notice) {
	old, voted := c.voted[n.ID]
	switch {
	case !voted:
	case n.Ended():
		delete(c.voted, n.ID)
		c.note(ending(n))
	default:
		c.voted[n.ID] = n
		c.note(changes(old, n)...)
	}
}

// Health implements [sdk.Channel].
func (c *Channel) Health(context.Context) error {
	if c.tty == nil {
		return errors.New("not configured")
	}
	return c.tty.alive()
}

// Answers implements [sdk.Channel]. It closes the terminal when it ends.
func (c *Channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	if c.tty == nil {
		return errors.New("not configured")
	}
	defer func() { _ = c.tty.Close() }()
	for {
		q, waiting, onScreen, err := c.next(ctx)
		if err != nil {
			return err
		}
		err = c.askOnScreen(onScreen, q, waiting, answer)
		c.mu.Lock()
		q.settle(nil)
		q.settle = nil
		c.mu.Unlock()
		settled, ok := errors.AsType[*settledError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ok:
			c.screen.settled(settled.notice)
			err = c.screen.flush()
		}
		if err != nil {
			return err
		}
	}
}

// next waits for the question to ask next, and shows meanwhile what is noted. It
// returns the notice of it and how many more wait; the context ends when the
// question leaves the screen.
func (c *Channel) next(ctx context.Context) (*question, int, context.Context, error) {
	for {
		if err := c.showNotes(); err != nil {
			return nil, 0, nil, err
		}
		c.mu.Lock()
		if len(c.open) > 0 {
			q, waiting := c.open[0], len(c.open)-1
			onScreen, settle := context.WithCancelCause(ctx)
			q.settle = settle
			c.mu.Unlock()
			return q, waiting, onScreen, nil
		}
		c.mu.Unlock()
		select {
		case <-c.more:
		case <-ctx.Done():
			return nil, 0, nil, ctx.Err()
		}
	}
}

// find and remove need the lock.
func (c *Channel) find(id string) *question {
	i := slices.IndexFunc(c.open, func(q *question) bool { return q.notice.ID == id })
	if i < 0 {
		return nil
	}
	return c.open[i]
}

func (c *Channel) remove(q *question) {
	c.open = slices.DeleteFunc(c.open, func(o *question) bool { return o == q })
}

// later moves the question behind all others.
func (c *Channel) later(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.open, q) {
		c.remove(q)
		c.open = append(c.open, q)
	}
}

// done takes the question off the list: this person has answered it. Where it
// takes more people it says later what they do.
func (c *Channel) done(q *question, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.open, q) && status == sdk.StatusPending {
		c.voted[q.notice.ID] = q.notice
	}
	c.remove(q)
}
