// Package email is the channel that asks people by mail.
//
// # Out
//
// Each person gets a mail of their own over SMTP: text, and the same as HTML
// without anything that is loaded from elsewhere. Its Message-ID is made from
// the request, the form of the call and the address, so that a mail which is
// sent again is the same mail; a mail that is known to have gone is not sent
// again. The mails of one session are one thread. The end of a request is told
// to those who were asked and did not decide it, several in one mail.
//
// # In, by the page
//
// A mail has a link to a page of this channel. Its secret is in the fragment,
// which no server and no log sees. GET shows an empty form, whatever it is
// asked; what was asked for is shown by a POST and decided by another. With the
// link alone, which everybody has who reads the mailbox, a person may deny and
// steer. To approve, choose or edit takes a one-time password (RFC 6238) too,
// from an authenticator whose secret is configured for that address. A link is
// spent once its answer has counted.
//
// # In, by reply
//
// Replies are read over IMAP. They may deny and steer, and nothing else. A
// reply counts only if it names the Message-ID of the mail that it answers,
// which only that mail's reader knows, comes from the address that the mail
// went to and, where a server is trusted to say so, has passed DMARC, DKIM or
// SPF for that address's domain (RFC 8601). What a machine has sent is ignored
// (RFC 3834).
//
// # State
//
// What was asked of whom is kept in a folder, each request in a file of its
// own, sealed with a key that is made from the configured secret: links and
// replies work after a restart.
package email

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// A Channel asks people by mail.
type Channel struct {
	log   *slog.Logger
	clock func() time.Time
	poll  time.Duration // between two looks into the mailbox

	conf     settings
	keys     keys
	store    *store
	smtp     *sender
	listener net.Listener
	posting  chan struct{} // holds one who mails: so that two don't send the same

	mu       sync.Mutex
	troubles map[string]error // by what does not work just now
	wrong    map[string]tries // one-time passwords that were wrong, by address
}

var (
	_ sdk.Channel    = (*Channel)(nil)
	_ sdk.Newscaster = (*Channel)(nil)
)

// New returns a channel that has to be configured.
func New(log *slog.Logger) *Channel {
	return &Channel{
		log: log, clock: time.Now, poll: 10 * time.Second, posting: make(chan struct{}, 1),
		troubles: make(map[string]error), wrong: make(map[string]tries),
	}
}

// Info implements [sdk.Channel]. It is interactive for the sake of the page: it
// sees itself that a reply never approves, and that no link does alone.
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "email", Assurance: sdk.Interactive, Edits: true, Claims: true}
}

// Configure implements [sdk.Channel]. It begins to listen for the page.
func (c *Channel) Configure(ctx context.Context, config []byte) (err error) {
	var conf Config
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	if c.conf, err = conf.settings(); err != nil {
		return err
	}
	if c.keys, err = newKeys(c.conf.key); err != nil {
		return err
	}
	if c.smtp, err = newSender(c.conf); err != nil {
		return err
	}
	if c.store, err = openStore(c.conf.folder, c.keys, c.clock()); err != nil {
		return err
	}
	if c.conf.listen == "" {
		return nil
	}
	if c.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", c.conf.listen); err != nil {
		return fmt.Errorf("listening for the page: %w", err)
	}
	if c.conf.page == "" {
		c.conf.page = "http://" + c.listener.Addr().String()
	}
	return nil
}

// Health implements [sdk.Channel]. It calls at the mail server where no mail
// has gone for a while.
func (c *Channel) Health(ctx context.Context) error {
	if c.store == nil {
		return errors.New("not configured")
	}
	if c.smtp.idle(c.clock()) {
		c.trouble("sending", c.smtp.probe(ctx, c.clock))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []error
	for what, err := range c.troubles {
		all = append(all, fmt.Errorf("%s: %w", what, err))
	}
	return errors.Join(all...)
}

// trouble notes that something does not work, or with nil that it does.
func (c *Channel) trouble(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.troubles, what)
		return
	}
	c.troubles[what] = err
}

// Answers implements [sdk.Channel]. Beside serving the page and reading replies
// it sends the mails about what has ended.
func (c *Channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.followUp(ctx) })
	if c.conf.imap != nil {
		g.Go(func() error { return c.read(ctx, answer) })
	}
	if c.listener != nil {
		g.Go(func() error { return c.serve(ctx, answer) })
	}
	return g.Wait()
}

// serve serves the page until ctx ends.
func (c *Channel) serve(ctx context.Context, answer sdk.Answerer) error {
	srv := &http.Server{
		Handler: c.handler(answer), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(c.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving the page: %w", err)
	case <-ctx.Done():
		err := srv.Close()
		<-served
		return errors.Join(ctx.Err(), err)
	}
}

// give hands an answer to Holdgate and notes that it counted. The errors are
// those of the answerer.
func (c *Channel) give(ctx context.Context, a sdk.Answer, answer sdk.Answerer) (status string, err error) {
	status, err = answer(ctx, a)
	if err != nil || a.Decision == sdk.Claim || a.Decision == sdk.Unclaim {
		return status, err
	}
	if err := c.store.change(a.ID, func(r *record) { r.Done[a.By] = a.Decision }); err != nil {
		c.log.Error("noting that an answer counted", "approval", a.ID, "err", err)
	}
	return status, nil
}
