package email

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Config is the channel's configuration.
type Config struct {
	From string   `json:"from"` // the address that mails come from
	To   []string `json:"to"`   // who is asked where Holdgate names nobody
	SMTP Server   `json:"smtp"`
	// IMAP is where replies arrive; without it none are read.
	IMAP *Server `json:"imap"`
	// ReplyTo is where replies go if not to From. With Plus each mail has an
	// address of its own there, NAME+TOKEN@DOMAIN, for servers that change
	// Message-IDs.
	ReplyTo string `json:"reply_to"`
	Plus    bool   `json:"plus"`
	// TrustedAuthserv is the name that the receiving server has in
	// Authentication-Results (RFC 8601). With it a reply counts only if that
	// server says that its sender is proven.
	TrustedAuthserv string `json:"trusted_authserv"`
	// Listen is where the page is served, "HOST:PORT"; without it mails have
	// no links. AllowRemote lets it be an address that others can reach.
	Listen      string `json:"listen"`
	AllowRemote bool   `json:"allow_remote"`
	// PageURL is the address of the page as people reach it, https or loopback;
	// that of the listener if empty.
	PageURL string `json:"page_url"`
	// Authenticators are files with the secrets of people's authenticator apps
	// (RFC 6238, in base32), by address: only those people may approve.
	Authenticators map[string]string `json:"authenticators"`
	// Folder keeps what was asked of whom; KeyFile holds the secret that it is
	// sealed with, and that links are made from: at least 32 bytes. A file with
	// a secret must be readable by its owner alone.
	Folder  string `json:"folder"`
	KeyFile string `json:"key_file"`
	// FollowUp says what people who were asked are told of the end: "bundled"
	// (the default) or "none". Bundle is how long ends are gathered for one
	// mail: "1m" by default.
	FollowUp string `json:"follow_up"`
	Bundle   string `json:"bundle"`
}

// A Server is a mail server.
type Server struct {
	Addr string `json:"addr"` // HOST:PORT
	// TLS is "tls" from the start, "starttls", or "none" to a loopback address;
	// "starttls" if empty, for IMAP "tls".
	TLS          string `json:"tls"`
	CAFile       string `json:"ca_file"` // who signs the server's certificate, if not the system knows
	User         string `json:"user"`    // empty is no login
	PasswordFile string `json:"password_file"`
	Mailbox      string `json:"mailbox"` // IMAP: "INBOX" if empty
}

// settings are a configuration that has been checked.
type settings struct {
	from, replyTo  *mail.Address
	plus           bool
	to             []string
	smtp           server
	imap           *server
	authserv       string
	listen, page   string
	folder         string
	key            []byte
	authenticators map[string][]byte // by the address in lower case
	followUp       bool
	bundle         time.Duration
}

type server struct {
	host, port, mode string
	tls              *tls.Config
	user             string
	password         secret
	mailbox          string
}

func (s server) addr() string { return net.JoinHostPort(s.host, s.port) }

// A secret prints as nothing.
type secret []byte

// Format implements [fmt.Formatter].
func (secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("<secret>")) }

// What mail servers are spoken to with.
const (
	modeTLS      = "tls"
	modeStartTLS = "starttls"
	modeNone     = "none"
)

const minKey = 32

func (c Config) settings() (s settings, err error) {
	if s.from, err = bare(c.From); err != nil {
		return s, fmt.Errorf("from: %w", err)
	}
	s.replyTo, s.plus = s.from, c.Plus
	if c.ReplyTo != "" {
		if s.replyTo, err = bare(c.ReplyTo); err != nil {
			return s, fmt.Errorf("reply_to: %w", err)
		}
	}
	if len(c.To) == 0 {
		return s, errors.New("to names nobody: who is asked where no person is configured?")
	}
	for _, a := range c.To {
		if _, err := bare(a); err != nil {
			return s, fmt.Errorf("to: %w", err)
		}
	}
	s.to, s.authserv, s.folder = c.To, c.TrustedAuthserv, c.Folder
	if s.folder == "" {
		return s, errors.New("folder is not set: where is it kept what was asked of whom?")
	}
	if s.smtp, err = c.SMTP.check(modeStartTLS); err != nil {
		return s, fmt.Errorf("smtp: %w", err)
	}
	if c.IMAP != nil {
		in, err := c.IMAP.check(modeTLS)
		if err != nil {
			return s, fmt.Errorf("imap: %w", err)
		}
		s.imap = &in
	}
	if s.key, err = sdk.ReadSecret("key_file", c.KeyFile, minKey, maxSecret); err != nil {
		return s, err
	}
	if err := s.pageOf(c); err != nil {
		return s, err
	}
	return s, s.followUps(c)
}

// pageOf takes up what is said about the page.
func (s *settings) pageOf(c Config) (err error) {
	if c.Listen == "" {
		if c.PageURL != "" || len(c.Authenticators) > 0 {
			return errors.New("page_url and authenticators need listen: the page is served by this channel")
		}
		return nil
	}
	if s.listen, err = sdk.ListenAddr(c.Listen, c.AllowRemote); err != nil {
		return err
	}
	if c.PageURL != "" {
		u, err := url.Parse(c.PageURL)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			u.Scheme != "https" && (u.Scheme != "http" || !sdk.Loopback(u.Hostname())) {
			return errors.New("page_url must be https, or http to a loopback address, without a query")
		}
		s.page = strings.TrimSuffix(c.PageURL, "/")
	}
	s.authenticators = make(map[string][]byte)
	for who, path := range c.Authenticators {
		if _, err := bare(who); err != nil {
			return fmt.Errorf("authenticators: %w", err)
		}
		text, err := sdk.ReadSecret("authenticators", path, 16, maxSecret)
		if err != nil {
			return err
		}
		key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(strings.ToUpper(strings.ReplaceAll(string(text), " ", "")), "="))
		if err != nil || len(key) < 10 {
			return fmt.Errorf("authenticators: %s must hold a secret of 10 bytes or more in base32", path)
		}
		s.authenticators[strings.ToLower(who)] = key
	}
	return nil
}

func (s *settings) followUps(c Config) (err error) {
	switch c.FollowUp {
	case "", "bundled":
		s.followUp = true
	case "none":
	default:
		return fmt.Errorf("follow_up is %q: want bundled or none", c.FollowUp)
	}
	s.bundle = time.Minute
	if c.Bundle != "" {
		if s.bundle, err = time.ParseDuration(c.Bundle); err != nil || s.bundle < 0 {
			return fmt.Errorf("bundle is %q: want a time such as 1m", c.Bundle)
		}
	}
	return nil
}

// check checks one mail server.
func (c Server) check(mode string) (s server, err error) {
	if s.host, s.port, err = net.SplitHostPort(c.Addr); err != nil || s.host == "" {
		return s, errors.New("addr must be HOST:PORT")
	}
	if c.TLS != "" {
		mode = c.TLS
	}
	s.mode, s.user, s.mailbox = mode, c.User, c.Mailbox
	switch {
	case mode == modeNone && !sdk.Loopback(s.host):
		return s, errors.New("tls is none, and the server is on another machine: mails would go in the clear")
	case mode != modeNone && mode != modeTLS && mode != modeStartTLS:
		return s, fmt.Errorf("tls is %q: want tls, starttls or none", mode)
	}
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return s, fmt.Errorf("ca_file: %w", err)
		}
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM(pem) {
			return s, errors.New("ca_file holds no certificate")
		}
	}
	if s.mailbox == "" {
		s.mailbox = "INBOX"
	}
	if s.user == "" {
		return s, nil
	}
	s.password, err = sdk.ReadSecret("password_file", c.PasswordFile, 1, maxSecret)
	return s, err
}

// maxAddress bounds an address, in bytes, as Holdgate does a person's name.
const maxAddress = 128

// bare reads an address that stands alone, without a name or comments.
func bare(text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text || len(text) > maxAddress || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%q is no mail address such as ann@example.com", text)
	}
	return a, nil
}

func domain(a *mail.Address) string { return a.Address[strings.LastIndexByte(a.Address, '@')+1:] }

const maxSecret = 4096
