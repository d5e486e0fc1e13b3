// Package host runs the channels: one process each, told of approval requests
// and heard for people's answers.
//
// # What a channel can do
//
// Nothing but what its [sdk.Channel] says, and each of those within a deadline
// and a size. A channel that crashes, hangs, floods or lies costs itself
// alone: its process group is ended and started again with a growing pause,
// its own consumer of the queue waits meanwhile, and no other channel, nor the
// queue, waits for it.
//
// The process is started in a session and process group of its own, with a
// pipe as standard input (which ends when Holdgate does), without Holdgate's
// environment, and where a checksum is configured from the private copy that
// was hashed. The connection is gRPC on a unix socket in a private folder,
// with mutual TLS by certificates made for this one process.
//
// # What an answer has to show
//
// The nonce of a notice that this very channel was sent: an HMAC over channel,
// request and digest, so that it outlives restarts and nothing is stored for
// it. The digest of the call as it is now. An assurance that is enough: text
// may deny and steer; approving takes an interactive or local channel, and
// what is of critical risk is approved by no channel. The queue then checks the
// vote like any other. What does not count is answered with the reason, for
// the person.
//
// # Delivery
//
// Each channel has an agenda: the pending requests that the routes bring to it,
// and what has changed about those that it has told of. What people know is a
// record in the queue's own store ([approvals.Delivery]), so that after a
// restart they are told of what is missing, at least once and with the same
// nonce. Changes come before new requests, critical requests before others. An
// error of the channel holds all of it up for a growing pause; nothing is
// dropped while it waits. A request on which the process breaks down three
// times is left out, and logged.
//
// News, which nobody has to answer, have a place of their own in the queue.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// A Queue is what channels need of [approvals.Queue].
type Queue interface {
	Feed(ctx context.Context, consumer string, fn func(approvals.Event) error) error
	List(ctx context.Context, f approvals.Filter) ([]approvals.Request, error)
	Request(ctx context.Context, id string) (approvals.Request, error)
	Decide(ctx context.Context, id string, v approvals.Vote) (approvals.Request, error)
	Claim(ctx context.Context, id, by string) (approvals.Request, error)
	Unclaim(ctx context.Context, id, by string) (approvals.Request, error)
	Told(ctx context.Context, id string) error
	Reaches(channel string, people bool)
	Deliveries(ctx context.Context, channel string) ([]approvals.Delivery, error)
	SetDelivery(ctx context.Context, channel string, d approvals.Delivery) error
	DropDelivery(ctx context.Context, channel, request string) error
	People() *people.People
}

var _ Queue = (*approvals.Queue)(nil)

// Config is what a Host needs. Logger may be nil.
type Config struct {
	Queue Queue
	// Key makes nonces: 32 bytes that nobody else knows. Under another key
	// the notices that are out can't be answered.
	Key      []byte
	Channels []Channel
	// Routes say who is told of what; the first that fits a request counts, and
	// where none does every channel tells of it. It is asked again and again, as
	// routes may be replaced (see [Host.CheckRoutes]); nil: there are none.
	Routes func() []Route
	// Page is where a request is decided in a browser; nil, or empty: nowhere.
	Page   func(request string) string
	Logger *slog.Logger
	// OnTold, where it is set, is told each time when a channel was told of
	// something, and of its error where it failed. It is called by several goroutines
	// and must be quick.
	OnTold func(channel string, err error)
}

// A Channel says how one channel is run.
type Channel struct {
	// Name is unique among the channels, and the first half of its voters'
	// names: "NAME:user".
	Name string
	// Command is the program and its arguments. For a channel that is built
	// into holdgate it is holdgate itself, "plugin", "serve" and the name.
	Command []string
	// SHA256 of the program, in hex; empty: not checked.
	SHA256 string
	// Config is the channel's configuration, a JSON object.
	Config []byte
	Quiet  *Quiet // nil: never
	// PerMinute is how many new requests the channel tells of in the long run,
	// and a quarter of it at once; 0: as many as there are. The others wait, and
	// people are told how many.
	PerMinute int
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

func (c Channel) validate() error {
	if !nameForm.MatchString(c.Name) {
		return fmt.Errorf("channel %q: a name has small letters, digits, dots and dashes, at most 63", c.Name)
	}
	if c.PerMinute < 0 {
		return fmt.Errorf("channel %s: it cannot tell of %d requests a minute", c.Name, c.PerMinute)
	}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return fmt.Errorf("channel %s: no command", c.Name)
	}
	if _, err := checksum(c.SHA256); err != nil {
		return fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return nil
}

// A Host runs channels. Its methods are safe for concurrent use, but Run may
// be called once.
type Host struct {
	channels []*channel
}

// New checks the configuration. Nothing runs yet.
func New(c Config) (*Host, error) {
	if c.Queue == nil {
		return nil, errors.New("running channels: a queue is needed")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	n, err := newNonces(c.Key)
	if err != nil {
		return nil, fmt.Errorf("running channels: %w", err)
	}
	if c.Routes == nil {
		c.Routes = func() []Route { return nil }
	}
	h := &Host{}
	looked := &lastOpened{m: make(map[string]time.Time)}
	seen := make(map[string]bool)
	var errs []error
	for _, ch := range c.Channels {
		errs = append(errs, ch.validate())
		if seen[ch.Name] {
			errs = append(errs, fmt.Errorf("channel %s: there are two of this name", ch.Name))
		}
		seen[ch.Name] = true
		one := newChannel(ch, c.Queue, n, c.Logger)
		one.lastOpened = looked
		if c.Page != nil {
			one.page = c.Page
		}
		if c.OnTold != nil {
			one.onTold = func(err error) { c.OnTold(ch.Name, err) }
		}
		one.routes = func() routes { return routes{all: c.Routes(), people: c.Queue.People} }
		one.notify = func(n sdk.News) { h.tellBut(ch.Name, n) }
		h.channels = append(h.channels, one)
	}
	errs = append(errs, h.CheckRoutes(c.Routes()))
	return h, errors.Join(errs...)
}

// CheckRoutes says what is wrong with routes among the channels that there are.
func (h *Host) CheckRoutes(list []Route) error {
	channels := make(map[string]bool, len(h.channels))
	for _, c := range h.channels {
		channels[c.c.Name] = true
	}
	return routes{all: list}.validate(channels)
}

// Reconcile has every channel look at once whom it is to tell of what, for routes or
// people have been replaced.
func (h *Host) Reconcile() {
	for _, c := range h.channels {
		c.agenda.signal()
	}
}

// Run runs every channel until ctx ends, and returns nil once the last process
// has ended.
func (h *Host) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, c := range h.channels {
		running.Go(func() { c.run(ctx) })
	}
	running.Wait()
	return nil
}

// State is how a channel does.
type State string

// The states of a channel.
const (
	StateStopped     State = "stopped"     // not started yet, or waiting to be started again
	StateStarting    State = "starting"    //
	StateRunning     State = "running"     //
	StateUnreachable State = "unreachable" // it runs, and says that it cannot reach people
)

// Status says how one channel does.
type Status struct {
	Name      string    `json:"name"`
	State     State     `json:"state"`
	Since     time.Time `json:"since"`
	Assurance string    `json:"assurance,omitempty"` // as it said at its latest start
	Restarts  int       `json:"restarts"`
	Err       string    `json:"error,omitempty"` // why it does not run, safe to show
	Told      int       `json:"told"`            // pending requests that people know from it
	Waiting   int       `json:"waiting"`         // that it is still to tell of
	Due       time.Time `json:"due,omitzero"`    // since when the oldest notice is to be given that is not; zero: there is none
	Quiet     time.Time `json:"quiet,omitzero"`  // until when its quiet hours last
}

// Status returns how the channels do, in the order of the configuration.
func (h *Host) Status() []Status {
	all := make([]Status, 0, len(h.channels))
	for _, c := range h.channels {
		all = append(all, c.now())
	}
	return all
}

// Check starts the channel, hands over its configuration, asks for its health
// and ends it again. It tells no person of anything: a channel that tells programs, as it
// calls itself, is sent a test message too.
func Check(ctx context.Context, c Channel, log *slog.Logger, programs ...string) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := c.validate(); err != nil {
		return err
	}
	d := usualDeadlines()
	p, err := start(ctx, c, d, log)
	if err != nil {
		return fmt.Errorf("checking channel %s: %w", c.Name, err)
	}
	defer p.terminate()
	ctx, cancel := context.WithTimeout(ctx, d.health)
	defer cancel()
	if err := p.remote.Health(ctx); err != nil {
		return fmt.Errorf("checking channel %s: %w", c.Name, shown(err))
	}
	if p.info.News && slices.Contains(programs, p.info.Name) {
		if err := p.test(ctx); err != nil {
			return fmt.Errorf("checking channel %s: %w", c.Name, err)
		}
	}
	return nil
}
