package email

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Notify implements [sdk.Channel]. Whoever has been asked about this form of
// the call gets no second mail.
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	if c.store == nil {
		return errors.New("not configured")
	}
	if err := c.claimPost(ctx); err != nil {
		return err
	}
	defer func() { <-c.posting }()
	if err := c.store.change(n.ID, func(r *record) { r.Notice = n }); err != nil {
		return err
	}
	return c.each(c.recipients(n.To), func(address string) error {
		if r, ok := c.store.record(n.ID); ok {
			if digest, sent := r.Sent[address]; sent && digest == n.Digest {
				return nil
			}
		}
		if err := c.post(ctx, c.question(n, address, c.clock())); err != nil {
			return err
		}
		return c.store.change(n.ID, func(r *record) {
			r.Sent[address] = n.Digest
			delete(r.Done, address)
		})
	})
}

// Update implements [sdk.Channel]. What is to be told of an end is told with
// others, a little later.
func (c *Channel) Update(_ context.Context, n sdk.Notice) error {
	if c.store == nil {
		return errors.New("not configured")
	}
	old, known := c.store.record(n.ID)
	if !known {
		return nil
	}
	return c.store.change(n.ID, func(r *record) {
		r.Notice = n
		if !n.Ended() || old.Notice.Ended() || !c.conf.followUp {
			return
		}
		for address := range r.Sent {
			r.Owed[address] = c.clock()
		}
	})
}

// Tell implements [sdk.Newscaster].
func (c *Channel) Tell(ctx context.Context, n sdk.News) error {
	if c.store == nil {
		return errors.New("not configured")
	}
	if err := c.claimPost(ctx); err != nil {
		return err
	}
	defer func() { <-c.posting }()
	return c.each(c.recipients(n.To), func(address string) error {
		key := c.keys.token(forMail, n.ID, address)
		if slices.Contains(c.store.known().News, key) {
			return nil
		}
		if err := c.post(ctx, c.newsLetter(n, address)); err != nil {
			return err
		}
		return c.store.changeState(func(s *mailState) bool {
			s.News = append(s.News, key)
			s.News = s.News[max(len(s.News)-maxNews, 0):]
			return true
		})
	})
}

// maxNews is how many pieces of news are known as told.
const maxNews = 500

// claimPost waits until nobody else mails.
func (c *Channel) claimPost(ctx context.Context) error {
	select {
	case c.posting <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recipients are the addresses among users, or those of the configuration where
// there is none: a question that nobody sees is the worse fault.
func (c *Channel) recipients(users []string) []string {
	if found := c.addresses(users); len(found) > 0 {
		return found
	}
	return c.addresses(c.conf.to)
}

func (c *Channel) addresses(users []string) (addresses []string) {
	known := make(map[string]bool)
	for _, u := range users {
		if _, err := bare(u); err != nil {
			c.log.Warn("a person has no address in this channel", "err", err)
			continue
		}
		if low := strings.ToLower(u); !known[low] {
			known[low] = true
			addresses = append(addresses, u)
		}
	}
	return addresses
}

// each mails everybody. It is permanent only where nobody can ever be reached;
// where anybody may be with another try, that is made, for those who have not
// been.
func (c *Channel) each(addresses []string, mail func(string) error) error {
	var later, never []error
	for _, a := range addresses {
		switch err := mail(a); {
		case err == nil:
		case errors.Is(err, sdk.ErrPermanent):
			c.log.Error("a person cannot be reached by mail", "address", a, "err", err)
			never = append(never, err)
		default:
			later = append(later, err)
		}
	}
	switch {
	case len(later) > 0:
		return errors.Join(later...)
	case len(never) == len(addresses):
		return errors.Join(never...)
	}
	return nil
}

// post sends a letter.
func (c *Channel) post(ctx context.Context, l letter) error {
	m, err := c.mail(l)
	if err != nil {
		return err
	}
	err = c.smtp.send(ctx, m, c.clock())
	if errors.Is(err, sdk.ErrPermanent) {
		c.trouble("sending", nil) // the server is there
		return err
	}
	c.trouble("sending", err)
	return err
}

// followUp mails what has ended, until ctx does.
func (c *Channel) followUp(ctx context.Context) error {
	tick := time.NewTicker(max(min(c.conf.bundle/4, 15*time.Second), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := c.settle(ctx); err != nil {
				c.log.Warn("people could not be told what has ended, and are told later", "err", err)
			}
		}
	}
}

// settle tells everybody whose news are old enough of all that they are owed.
func (c *Channel) settle(ctx context.Context) error {
	owed, due := make(map[string][]record), make(map[string]bool)
	for _, r := range c.store.all() {
		for address, since := range r.Owed {
			owed[address] = append(owed[address], r)
			due[address] = due[address] || c.clock().Sub(since) >= c.conf.bundle
		}
	}
	var errs []error
	for address, records := range owed {
		if due[address] {
			errs = append(errs, c.settleOne(ctx, address, records))
		}
	}
	return errors.Join(errs...)
}

func (c *Channel) settleOne(ctx context.Context, address string, records []record) error {
	if err := c.claimPost(ctx); err != nil {
		return err
	}
	defer func() { <-c.posting }()
	var news []sdk.Notice
	for _, r := range records {
		// Who has decided it knows.
		if o := r.Notice.Outcome; o == nil || r.Done[address] != o.Decision {
			news = append(news, r.Notice)
		}
	}
	if len(news) > 0 {
		ctx, cancel := context.WithTimeout(ctx, smtpTimeout)
		defer cancel()
		if err := c.post(ctx, c.ends(news, address)); err != nil && !errors.Is(err, sdk.ErrPermanent) {
			return err
		}
	}
	for _, r := range records {
		if err := c.store.change(r.Notice.ID, func(r *record) { delete(r.Owed, address) }); err != nil {
			return err
		}
	}
	return nil
}

// ends is the mail that tells what has ended without an answer of its reader's.
func (c *Channel) ends(all []sdk.Notice, address string) letter {
	first := all[0]
	l := letter{
		to: address, subject: "[Holdgate] nothing to do: 1 request has ended" + inSession(first), thread: c.thread(first.Thread, address),
		parent: "r." + c.keys.token(forReply, first.ID, first.Digest, address),
	}
	if len(all) > 1 {
		l.subject = fmt.Sprintf("[Holdgate] nothing to do: %d requests have ended", len(all))
	}
	ids := []string{address, "ends"}
	for _, n := range all {
		ids = append(ids, n.ID, n.Digest)
		l.lines = append(l.lines, ended(n)...)
	}
	l.id = "e." + c.keys.token(append([]string{forMail}, ids...)...)
	return l
}
