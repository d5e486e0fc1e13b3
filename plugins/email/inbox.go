package email

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// How the mailbox is read.
const (
	imapDial    = 20 * time.Second
	imapPerPoll = time.Minute
	firstWindow = 24 * time.Hour // how old replies are taken where the mailbox was never read
	maxReplies  = 50             // to one request that are remembered, and answered
)

// read reads the mailbox, again and again, until ctx ends.
func (c *Channel) read(ctx context.Context, answer sdk.Answerer) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = c.poll, time.Minute
	for {
		began := c.clock()
		err := c.connected(ctx, answer)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.trouble("reading replies", err)
		c.log.Warn("replies cannot be read just now", "err", err)
		if c.clock().Sub(began) > time.Minute {
			pause.Reset()
		}
		if !sleep(ctx, pause.NextBackOff()) {
			return ctx.Err()
		}
	}
}

// connected reads the mailbox over one connection, until that breaks.
func (c *Channel) connected(ctx context.Context, answer sdk.Answerer) error {
	client, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("calling at %s: %w", c.conf.imap.addr(), err)
	}
	defer func() { _ = client.Close() }()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	if c.conf.imap.user != "" {
		if err := client.Login(c.conf.imap.user, string(c.conf.imap.password)).Wait(); err != nil {
			return fmt.Errorf("logging in at %s: %w", c.conf.imap.addr(), err)
		}
	}
	for {
		late := time.AfterFunc(imapPerPoll, func() { _ = client.Close() })
		err := c.readNew(ctx, client, answer)
		late.Stop()
		if err != nil {
			return fmt.Errorf("reading at %s: %w", c.conf.imap.addr(), err)
		}
		c.trouble("reading replies", nil)
		if !sleep(ctx, c.poll) {
			return ctx.Err()
		}
	}
}

func (c *Channel) dial(ctx context.Context) (*imapclient.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, imapDial)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.conf.imap.addr())
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(imapDial)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	opts := &imapclient.Options{TLSConfig: c.conf.imap.tls}
	var client *imapclient.Client
	switch c.conf.imap.mode {
	case modeStartTLS:
		client, err = imapclient.NewStartTLS(conn, opts)
	case modeTLS:
		client, err = encrypted(ctx, conn, opts)
	default:
		client = imapclient.New(conn, opts)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := client.WaitGreeting(); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// readNew takes the replies that have come.
func (c *Channel) readNew(ctx context.Context, client *imapclient.Client, answer sdk.Answerer) error {
	box, err := client.Select(c.conf.imap.mailbox, &imap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		return fmt.Errorf("opening %s: %w", c.conf.imap.mailbox, err)
	}
	from, criteria := c.since(box.UIDValidity)
	found, err := client.UIDSearch(criteria, nil).Wait()
	if err != nil {
		return fmt.Errorf("searching: %w", err)
	}
	uids := found.AllUIDs()
	slices.Sort(uids)
	for _, uid := range uids {
		if uint32(uid) < from { // "N:*" finds the last one, whatever N is
			continue
		}
		if err := c.fetch(ctx, client, uid, answer); err != nil {
			return err
		}
		if err := c.store.changeState(func(s *mailState) bool {
			s.Validity, s.Next = box.UIDValidity, uint32(uid)+1
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

// since says what has not been read of a mailbox. UIDs of another validity mean
// nothing (RFC 9051, section 2.3.1.1).
func (c *Channel) since(validity uint32) (from uint32, criteria *imap.SearchCriteria) {
	s := c.store.known()
	if s.Next == 0 || s.Validity != validity {
		return 0, &imap.SearchCriteria{Since: c.clock().Add(-firstWindow)}
	}
	return s.Next, &imap.SearchCriteria{UID: []imap.UIDSet{{imap.UIDRange{Start: imap.UID(s.Next), Stop: 0}}}}
}

// fetch reads one mail, and takes it if it is a reply. An error means that it
// is to be read again.
func (c *Channel) fetch(ctx context.Context, client *imapclient.Client, uid imap.UID, answer sdk.Answerer) error {
	set := imap.UIDSetNum(uid)
	sizes, err := client.Fetch(set, &imap.FetchOptions{UID: true, RFC822Size: true}).Collect()
	if err != nil {
		return fmt.Errorf("asking for the size of a mail: %w", err)
	}
	if len(sizes) == 0 {
		return nil // somebody has deleted it
	}
	if sizes[0].RFC822Size > maxMail {
		c.log.Warn("a mail is too long to be read", "bytes", sizes[0].RFC822Size)
		return nil
	}
	whole := &imap.FetchItemBodySection{Peek: true}
	mails, err := client.Fetch(set, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{whole}}).Collect()
	if err != nil {
		return fmt.Errorf("fetching a mail: %w", err)
	}
	if len(mails) == 0 {
		return nil
	}
	return c.readMail(ctx, mails[0].FindBodySection(whole), answer)
}

// readMail takes one mail. It is an error only where it should be taken again.
func (c *Channel) readMail(ctx context.Context, raw []byte, answer sdk.Answerer) error {
	m, err := readReply(raw)
	if err != nil {
		c.log.Info("a mail could not be read", "err", err)
		return nil
	}
	t, rec, ok := c.asked(m)
	if !ok {
		return nil
	}
	sum := sha256.Sum256([]byte(m.id))
	name := hex.EncodeToString(sum[:])
	log := c.log.With("approval", t.id, "address", t.address)
	switch {
	case m.auto:
		log.Info("a reply was sent by a machine, and does not count")
		return nil
	case !strings.EqualFold(m.from, t.address):
		log.Warn("a reply is not from whom the mail went to, and does not count")
		return nil
	case c.conf.authserv != "" && !proven(m.auth, c.conf.authserv, m.from):
		log.Warn("the sender of a reply is not proven, and it does not count")
		return nil
	case slices.Contains(rec.Replies, name), rec.Done[t.address] != "", len(rec.Replies) >= maxReplies:
		log.Info("a reply came again, or after the answer, and does not count")
		return nil
	}
	status, err := c.reply(ctx, m, t, rec, answer)
	if err != nil && !says(err) {
		return fmt.Errorf("handing on a reply: %w", err)
	}
	if err := c.store.change(t.id, func(r *record) { r.Replies = append(r.Replies, name) }); err != nil {
		return err
	}
	if err == nil {
		log.Info("a reply counts", "status", status)
		return nil
	}
	log.Info("a reply does not count", "err", err)
	return c.complain(ctx, t, rec.Notice, err)
}

// asked returns what a mail is an answer to.
func (c *Channel) asked(m reply) (ticket, record, bool) {
	for _, token := range m.tokens {
		if t, r, ok := c.store.find(forReply, token); ok {
			return t, r, true
		}
	}
	return ticket{}, record{}, false
}

// reply gives the answer that a reply means.
func (c *Channel) reply(ctx context.Context, m reply, t ticket, rec record, answer sdk.Answerer) (string, error) {
	n := rec.Notice
	decision, words, err := meaning(m.text)
	switch {
	case err != nil:
		return "", &sdk.Refused{Reason: err.Error()}
	case n.Ended():
		return "", &sdk.Refused{Reason: "the request has ended: it is " + n.Status}
	case t.digest != n.Digest:
		return "", &sdk.Refused{Reason: "the call has changed since that mail: answer the newer one"}
	case decision != sdk.Deny && decision != sdk.Steer:
		return "", &sdk.Refused{Reason: errApproval.Error()}
	case !n.May(decision):
		return "", &sdk.Refused{Reason: "it cannot be answered with " + decision}
	}
	a := n.Answer(decision, t.address)
	a.Assurance = sdk.Text
	if decision == sdk.Deny {
		a.Reason = words
	} else {
		a.Instructions = words
	}
	return c.give(ctx, a, answer)
}

// says reports whether an error is meant for the person who answered.
func says(err error) bool {
	_, ok := errors.AsType[*sdk.Refused](err)
	return ok
}

// complain tells the writer of a reply why it does not count. Where that fails
// it is left.
func (c *Channel) complain(ctx context.Context, t ticket, n sdk.Notice, why error) error {
	if err := c.claimPost(ctx); err != nil {
		return err
	}
	defer func() { <-c.posting }()
	now := c.clock()
	l := letter{
		to: t.address, subject: "[Holdgate] your reply does not count" + inSession(n), thread: c.thread(n.Thread, t.address),
		id:     "c." + c.keys.token(forMail, "complaint", t.id, t.address, now.Format(time.RFC3339Nano)),
		parent: "r." + c.keys.token(forReply, t.id, t.digest, t.address), lines: ended(n),
	}
	l.say("Your reply did not count: " + why.Error() + ".")
	ctx, cancel := context.WithTimeout(ctx, smtpTimeout)
	defer cancel()
	if err := c.post(ctx, l); err != nil {
		c.log.Warn("a person could not be told that a reply does not count", "err", err)
	}
	return nil
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
