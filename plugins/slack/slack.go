// Package slack is the channel that asks in a channel of Slack and takes the
// answers there.
//
// # A question
//
// Each session of an agent is a thread, and each request a message in it with
// buttons. Reasons, directions and other arguments are asked for in a dialog.
// A message is brought up to date when somebody votes and when the request has
// ended. Nothing that comes from a call is markup: it is shown in preformatted
// rich text, which Slack does not parse. What does not fit into a message cannot
// be approved here.
//
// # Whose answer counts
//
// Slack says over an authenticated WebSocket (Socket Mode), or in a signed POST
// within five minutes, who pressed a button. Only users whom the configuration
// names are heard; each payload counts once. A button carries the request's id,
// nonce and digest, so that it works after a restart too.
//
// # What is kept
//
// Nothing on disk: the metadata of the messages says which request each is
// about. They are read back after a start, and whenever it is not known whether
// a message has arrived, so that none is posted twice.
package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// A Channel asks in one channel of one workspace.
type Channel struct {
	log   *slog.Logger
	http  *http.Client
	pause time.Duration // before the first second try to connect

	conf     Config
	api      *slack.Client
	secret   secret       // of signed requests, or nothing
	listener net.Listener // for signed requests, or nil

	gate  gate
	posts posts
	seen  memory

	mu      sync.Mutex
	notices map[string]sdk.Notice // what is open, by id
	tried   bool                  // whether a connection was tried
	lost    error                 // why there is none, or nil
}

var _ sdk.Newscaster = (*Channel)(nil)

// New returns a channel that has to be configured.
func New(log *slog.Logger) *Channel {
	return &Channel{
		log: log, pause: time.Second, notices: make(map[string]sdk.Notice), posts: newPosts(),
		http: &http.Client{
			Transport:     &http.Transport{TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: perTry, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Info implements [sdk.Channel].
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "slack", Assurance: sdk.Interactive, Forgets: true, Edits: true, Claims: true, Sees: true}
}

// Configure implements [sdk.Channel]. It begins to listen where answers come as
// signed requests, and asks Slack nothing yet.
func (c *Channel) Configure(ctx context.Context, config []byte) error {
	var conf Config
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	if err := conf.check(); err != nil {
		return err
	}
	bot, err := readToken("bot_token_file", conf.BotTokenFile, "xoxb-")
	if err != nil {
		return err
	}
	options := []slack.Option{
		slack.OptionAPIURL(conf.APIURL), slack.OptionHTTPClient(c.http), slack.OptionLog(log.New(io.Discard, "", 0)),
	}
	if conf.AppTokenFile != "" {
		app, err := readToken("app_token_file", conf.AppTokenFile, "xapp-")
		if err != nil {
			return err
		}
		options = append(options, slack.OptionAppLevelToken(string(app)))
	} else {
		if c.secret, err = readToken("signing_secret_file", conf.SigningSecretFile, ""); err != nil {
			return err
		}
		addr, err := sdk.ListenAddr(conf.Listen, conf.AllowRemote)
		if err != nil {
			return err
		}
		if c.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addr); err != nil {
			return fmt.Errorf("listening for what Slack sends: %w", err)
		}
	}
	c.conf, c.api = conf, slack.New(string(bot), options...)
	return nil
}

// Health implements [sdk.Channel]: Slack takes the token, and answers come in.
func (c *Channel) Health(ctx context.Context) error {
	if c.api == nil {
		return errors.New("not configured")
	}
	if err := c.call(ctx, "auth.test", func(ctx context.Context) error {
		_, err := c.api.AuthTestContext(ctx)
		return err
	}); err != nil {
		return err
	}
	if c.conf.AppTokenFile == "" {
		return nil
	}
	// Before answers are asked for there is no connection whose state could be
	// looked at: the token tells.
	return c.call(ctx, "apps.connections.open", func(ctx context.Context) error {
		if tried, lost := c.connection(); tried {
			return lost
		}
		_, _, err := c.api.StartSocketModeContext(ctx)
		return err
	})
}

// Answers implements [sdk.Channel].
func (c *Channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	if c.api == nil {
		return errors.New("not configured")
	}
	d := &desk{c: c, answer: answer, slots: make(chan struct{}, atOnce)}
	defer d.work.Wait()
	if c.listener != nil {
		return c.serve(ctx, d)
	}
	return c.connect(ctx, d)
}

// connection is how the connection of Socket Mode does.
func (c *Channel) connection() (tried bool, lost error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tried, c.lost
}

func (c *Channel) noteConnection(lost error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried, c.lost = true, lost
}

// remember keeps an open request, for dialogs.
func (c *Channel) remember(n sdk.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.Ended() {
		delete(c.notices, n.ID)
		return
	}
	c.notices[n.ID] = n
}

// openRequest returns a request as it was last told of. It is not there where this
// process has not been told of it.
func (c *Channel) openRequest(id string) (sdk.Notice, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.notices[id]
	return n, ok
}
