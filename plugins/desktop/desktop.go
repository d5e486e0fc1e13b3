// Package desktop is the channel that asks by notifications on a person's
// desktop, as the Desktop Notifications Specification 1.3 describes them: over
// the session's D-Bus, to whatever shows notifications there.
//
// # Who may answer
//
// Whoever sits at the desktop. Holdgate hears of a button from the program
// that owns the name org.freedesktop.Notifications, and from nobody else on the
// bus. But any process of the same user that reaches the bus can take that
// name, or press the keys of the desktop, so approving is offered only for
// agents whose confinement keeps them from the bus; "approve" in the
// configuration says otherwise. Denying and steering are open to all.
//
// # A button
//
// Its key is a digest of the nonce and the digest of what was shown: one of a
// call that has changed is worth nothing, and one that was on the screen before
// a restart works when Holdgate has told of the request again. A button counts
// from 700 ms after it appeared. Where the risk is high or unknown, or something
// is hidden, a second notification asks again; critical risk takes words to be
// typed, which only some desktops can.
//
// # What is shown
//
// First risk, time left and what silence does, then who asks for what, then the
// call. Desktops cut long texts without saying so: what does not fit into the
// configured lines is not approved here. Where the desktop reads markup all text
// is escaped, and where it may drop what looks like a tag the sign is written
// out.
//
// # When the bus or the desktop goes away
//
// It is looked for again, with growing pauses, and what was on the screen is
// shown anew. A notification that the person puts away stays away; the request
// goes on waiting.
package desktop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Config is the channel's configuration.
type Config struct {
	// Bus is the address of the session's bus, as DBUS_SESSION_BUS_ADDRESS has
	// it; unix:path=/run/user/UID/bus if empty.
	Bus string `json:"bus"`
	// User is the name under which answers are given; the user's own if empty.
	User string `json:"user"`
	// Page is opened by "Open page"; {id} in it becomes the request's id. There
	// is no such button if it is empty.
	Page string `json:"page"`
	// Approve says for which agents approving is offered: "confined" (also if
	// empty), "always" or "never".
	Approve string `json:"approve"`
	// Lines and Columns are what the desktop shows of a notification's body
	// without cutting; 6 and 44 if 0.
	Lines   int `json:"lines"`
	Columns int `json:"columns"`
	// Buttons is how many buttons it shows; if 0, 6 where text can be typed into
	// a notification, and 3 elsewhere.
	Buttons int `json:"buttons"`
}

// Whose calls are approved here, as [Config.Approve] names them.
const (
	confined = "confined"
	always   = "always"
	never    = "never"
)

// minShown is how long a button is shown before it counts.
const minShown = 700 * time.Millisecond

// A Channel asks on one desktop.
type Channel struct {
	log             *slog.Logger
	minShown        time.Duration
	pause, maxPause time.Duration // between tries to reach the desktop

	conf   Config
	socket string // of the bus

	// turn holds its one value while nobody talks to the desktop. Whoever wants
	// to takes it: so each notification is shown once.
	turn chan struct{}
	link *link // with the turn; nil where there is none

	mu      sync.Mutex // guards what follows; never held while talking
	server  *server    // nil where none is known
	open    map[string]*question
	buttons map[string]button
	prompts map[uint32]prompt
	told    []string // the ids of the latest news
}

var _ sdk.Newscaster = (*Channel)(nil)

// A question is a request that waits for an answer.
type question struct {
	notice sdk.Notice
	id     uint32 // of its notification; 0 where there is none
	ready  time.Time
	keys   []string // of its buttons
	// asking says that its notification is a second question, and away that the
	// person has put it away.
	asking, away bool
}

// A prompt is a notification into which a person types.
type prompt struct {
	request string
	answer  sdk.Answer // without the words
}

// New returns a channel that has to be configured.
func New(log *slog.Logger) *Channel {
	c := &Channel{
		log: log, minShown: minShown, pause: 500 * time.Millisecond, maxPause: 15 * time.Second, turn: make(chan struct{}, 1),
		open: make(map[string]*question), buttons: make(map[string]button), prompts: make(map[uint32]prompt),
	}
	c.turn <- struct{}{}
	return c
}

// Info implements [sdk.Channel].
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "desktop", Assurance: sdk.Interactive, Forgets: true, Sees: true}
}

// Configure implements [sdk.Channel]. It does not look for the desktop: one
// that is not there yet is no reason not to start.
func (c *Channel) Configure(_ context.Context, config []byte) error {
	var conf Config
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	if conf.Bus == "" {
		conf.Bus = fmt.Sprintf("unix:path=/run/user/%d/bus", os.Getuid())
	}
	socket, err := socketOf(conf.Bus)
	if err != nil {
		return err
	}
	if conf.User == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("finding the user's name (or set user): %w", err)
		}
		conf.User = u.Username
	}
	if err := checkPage(conf.Page); err != nil {
		return err
	}
	switch conf.Approve {
	case "":
		conf.Approve = confined
	case confined, always, never:
	default:
		return fmt.Errorf("approve is %q: want confined, always or never", conf.Approve)
	}
	for _, n := range []struct {
		name             string
		value            *int
		usual, low, high int
	}{{"lines", &conf.Lines, 6, 4, 200}, {"columns", &conf.Columns, 44, 20, 500}, {"buttons", &conf.Buttons, 0, 0, 20}} {
		if *n.value == 0 {
			*n.value = n.usual
		} else if *n.value < n.low || *n.value > n.high {
			return fmt.Errorf("%s is %d: want %d to %d", n.name, *n.value, n.low, n.high)
		}
	}
	c.conf, c.socket = conf, socket
	return nil
}

func checkPage(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(strings.ReplaceAll(raw, "{id}", "id"))
	switch {
	case err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http":
		return errors.New("page must be the address of a web page")
	case u.User != nil:
		return errors.New("page holds a password: it would be seen on the bus")
	}
	return nil
}

// Health implements [sdk.Channel].
func (c *Channel) Health(ctx context.Context) error {
	if c.socket == "" {
		return errors.New("not configured")
	}
	if err := c.acquireTurn(ctx); err != nil {
		return err
	}
	defer c.release()
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	return c.link.call(ctx, s.name, notificationsPath, notifications+".GetCapabilities").Store(new([]string))
}

// acquireTurn takes the turn to talk to the desktop; release gives it back.
func (c *Channel) acquireTurn(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the desktop: %w", ctx.Err())
	}
}

func (c *Channel) release() { c.turn <- struct{}{} }
