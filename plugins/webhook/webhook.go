// Package webhook is the channel that tells another system of requests with
// signed POSTs, and takes signed decisions back.
//
// # Out
//
// Each notice and each change of it is a CloudEvent in the structured JSON mode
// (CloudEvents 1.0.2), of the types com.github.holdgate.approval.requested and
// .updated, and news are of the type com.github.holdgate.news. The id of an event stays the same when it is sent again, so that a
// receiver can drop what it has. A network error, 408, 425, 429 and 5xx are
// tried again for a while; any other status but 2xx is final. Redirects are not followed.
//
// # In
//
// A decision is a POST of JSON to /decision on the listener, which is on a
// loopback address unless allow_remote says otherwise:
//
//	{"id", "nonce", "digest", "decision": one of the event's answers,
//	 "by": a person's name, "reason", "instructions", "choice", "arguments"}
//
// id, nonce and digest are those of the event. The answer is {"status": ...},
// or a problem document (RFC 9457).
//
// # Signatures
//
// Both ways the header Holdgate-Signature is "t=UNIX,v1=HEX": the time in
// seconds, and HMAC-SHA-256 over "UNIX.BODY" with the shared secret. What is
// older or newer than five minutes is refused, and so is what came before. The
// secret is read from a file that its owner alone can read.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Config is the channel's configuration.
type Config struct {
	// URL takes the events: https, or http to a loopback address.
	URL string `json:"url"`
	// SecretFile holds the shared secret, at least 16 bytes, in a file of
	// mode 0600 or stricter.
	SecretFile string `json:"secret_file"`
	// Listen is where decisions are taken, as "HOST:PORT"; HOST is 127.0.0.1
	// if empty, port 0 is any. If Listen is empty no decisions are taken.
	Listen string `json:"listen"`
	// AllowRemote lets Listen be an address that other machines can reach.
	AllowRemote bool `json:"allow_remote"`
	// AnswerURL is told to the receiver as where decisions go; that of the
	// listener if empty.
	AnswerURL string `json:"answer_url"`
}

// The sizes that a secret may have, in bytes.
const (
	minSecret = 16
	maxSecret = 4096
)

// A Channel sends and takes for one URL.
type Channel struct {
	log    *slog.Logger
	client *http.Client
	pause  time.Duration // before the first second try

	url       string
	answerURL string
	secret    secret
	listener  net.Listener
	inbox     *inbox

	mu     sync.Mutex
	told   bool  // an event was sent
	failed error // why the latest one did not arrive
}

var _ sdk.Newscaster = (*Channel)(nil)

// New returns a channel that has to be configured.
func New(log *slog.Logger) *Channel {
	return &Channel{
		log: log, pause: 500 * time.Millisecond, inbox: newInbox(log),
		client: &http.Client{
			Transport:     &http.Transport{TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: perTry, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Info implements [sdk.Channel].
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "webhook", Assurance: sdk.Interactive, Edits: true, Claims: true, Sees: true}
}

// Configure implements [sdk.Channel]. It begins to listen.
func (c *Channel) Configure(ctx context.Context, config []byte) (err error) {
	var conf Config
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	if err := checkURL(conf.URL); err != nil {
		return err
	}
	if c.secret, err = sdk.ReadSecret("secret_file", conf.SecretFile, minSecret, maxSecret); err != nil {
		return err
	}
	c.inbox.secret = c.secret
	c.url, c.answerURL = conf.URL, conf.AnswerURL
	if conf.Listen == "" {
		return nil
	}
	addr, err := sdk.ListenAddr(conf.Listen, conf.AllowRemote)
	if err != nil {
		return err
	}
	if c.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addr); err != nil {
		return fmt.Errorf("listening for decisions: %w", err)
	}
	if c.answerURL == "" {
		c.answerURL = "http://" + c.listener.Addr().String() + decisionPath
	}
	return nil
}

// Health implements [sdk.Channel]. The receiver's answer to the latest event tells;
// before the first one it is tried whether there is a receiver.
func (c *Channel) Health(ctx context.Context) error {
	if c.url == "" {
		return errors.New("not configured")
	}
	c.mu.Lock()
	told, failed := c.told, c.failed
	c.mu.Unlock()
	if told {
		return failed
	}
	return c.connect(ctx)
}

// connect connects to the receiver, and asks nothing of it.
func (c *Channel) connect(ctx context.Context) error {
	u, err := url.Parse(c.url)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, perTry)
	defer cancel()
	var dial interface {
		DialContext(context.Context, string, string) (net.Conn, error)
	} = &net.Dialer{}
	if u.Scheme == "https" {
		dial = &tls.Dialer{}
	}
	conn, err := dial.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("the receiver is not reached: %w", err)
	}
	return conn.Close()
}

// Answers implements [sdk.Channel]. It stops listening when it ends.
func (c *Channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	if c.listener == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	srv := &http.Server{
		Handler: c.inbox.handler(answer), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(c.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("taking decisions: %w", err)
	case <-ctx.Done():
		err := srv.Close()
		<-served
		return errors.Join(ctx.Err(), err)
	}
}

// checkURL refuses to send in the clear to another machine.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return errors.New("url is not set: where do events go?")
	case err != nil:
		return errors.New("url is no URL")
	case u.User != nil:
		return errors.New("url holds a password; the signature proves who sends")
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme == "http" && sdk.Loopback(u.Hostname()):
		return nil
	}
	return errors.New("url must be https, or http to a loopback address")
}
