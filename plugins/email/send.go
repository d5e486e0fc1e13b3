package email

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// How long one conversation with the mail server may take, and after how long
// without any it is called at to see whether it is there.
const (
	smtpTimeout = 20 * time.Second
	probeAfter  = 5 * time.Minute
)

// A sender sends mails through one server. It is safe for concurrent use.
type sender struct {
	to   server
	opts []mail.Option

	mu   sync.Mutex
	last time.Time // when it was last reached
}

func newSender(conf settings) (*sender, error) {
	port, err := strconv.Atoi(conf.smtp.port)
	if err != nil {
		return nil, fmt.Errorf("smtp: %q is no port", conf.smtp.port)
	}
	opts := []mail.Option{
		mail.WithPort(port), mail.WithTimeout(smtpTimeout), mail.WithTLSConfig(conf.smtp.tls), mail.WithHELO(domain(conf.from)),
	}
	switch conf.smtp.mode {
	case modeTLS:
		opts = append(opts, mail.WithSSL())
	case modeStartTLS:
		opts = append(opts, mail.WithTLSPolicy(mail.TLSMandatory))
	case modeNone:
		opts = append(opts, mail.WithTLSPolicy(mail.NoTLS))
	}
	if conf.smtp.user != "" {
		opts = append(opts, mail.WithUsername(conf.smtp.user), mail.WithPassword(string(conf.smtp.password)), mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover))
	}
	if _, err := mail.NewClient(conf.smtp.host, opts...); err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	return &sender{to: conf.smtp, opts: opts}, nil
}

// send sends one mail. The error is permanent where the server refuses that
// mail for good.
func (s *sender) send(ctx context.Context, m *mail.Msg, now time.Time) error {
	err := s.talk(ctx, func(c *mail.Client) error { return c.DialAndSendWithContext(ctx, m) })
	if refused, ok := errors.AsType[*mail.SendError](err); ok && !refused.IsTemp() && refused.ErrorCode() >= 500 {
		return sdk.Permanent(fmt.Errorf("the mail server %s refuses the mail: %w", s.to.addr(), err))
	}
	if err != nil {
		return fmt.Errorf("sending through %s: %w", s.to.addr(), err)
	}
	s.reached(now)
	return nil
}

// probe calls at the server and logs in, and sends nothing.
func (s *sender) probe(ctx context.Context, clock func() time.Time) error {
	err := s.talk(ctx, func(c *mail.Client) error {
		if err := c.DialWithContext(ctx); err != nil {
			return err
		}
		return c.Close()
	})
	if err != nil {
		return fmt.Errorf("calling at %s: %w", s.to.addr(), err)
	}
	s.reached(clock())
	return nil
}

// talk makes a client of its own: one is not safe for concurrent use.
func (s *sender) talk(ctx context.Context, do func(*mail.Client) error) error {
	timeout := smtpTimeout
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(end), time.Millisecond))
	}
	c, err := mail.NewClient(s.to.host, append(s.opts[:len(s.opts):len(s.opts)], mail.WithTimeout(timeout))...)
	if err != nil {
		return err
	}
	return do(c)
}

func (s *sender) reached(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
}

// idle reports whether the server has not been reached for a while.
func (s *sender) idle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.last) >= probeAfter
}
