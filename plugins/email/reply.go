package email

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"regexp"
	"strings"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // so that letters from anywhere can be read
	"github.com/emersion/go-msgauth/authres"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// A reply is a mail as far as it matters.
type reply struct {
	from   string // the one address that it says it comes from
	id     string // Message-ID, as it is written
	tokens []string
	auto   bool // a machine has sent it
	auth   []string
	text   string // what its writer wrote, without what it quotes
}

// Limits of what is read of a mail.
const (
	maxMail  = 1 << 20  // bytes: a longer one is not read
	maxParts = 50       // parts that are looked at
	maxWords = 16 << 10 // bytes of what its writer wrote
)

// replyID finds the tokens of Message-IDs that this channel has given.
var replyID = regexp.MustCompile(`<r\.([a-z2-7]{32})@[^<>\s]*>`)

// plusToken finds the token in an address such as name+token@example.com.
var plusToken = regexp.MustCompile(`(?i)\+([a-z2-7]{32})@`)

// readReply reads a mail. Whatever cannot be read is an error.
func readReply(raw []byte) (r reply, err error) {
	e, err := message.Read(bytes.NewReader(raw))
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return r, fmt.Errorf("reading the mail: %w", err)
	}
	if r.from, err = writer(e.Header); err != nil {
		return r, err
	}
	r.id = strings.TrimSpace(e.Header.Get("Message-Id"))
	r.tokens = tokensOf(e.Header)
	r.auto = automatic(e.Header)
	r.auth = e.Header.Values("Authentication-Results")
	plain, html, err := texts(e)
	if err != nil {
		return r, err
	}
	if strings.TrimSpace(plain) == "" {
		plain = textOf(html)
	}
	r.text = unquoted(plain)
	return r, nil
}

// writer is the address of the one writer (RFC 5322, section 3.6.2).
func writer(h message.Header) (string, error) {
	from := h.Values("From")
	if len(from) != 1 {
		return "", fmt.Errorf("the mail has %d From headers", len(from))
	}
	all, err := mail.ParseAddressList(from[0])
	if err != nil || len(all) != 1 {
		return "", errors.New("the mail is not from one address")
	}
	return all[0].Address, nil
}

// tokensOf are the tokens that a reply brings, the surest first: of the address
// that it went to, of the mail that it answers, of the mails before.
func tokensOf(h message.Header) (tokens []string) {
	for _, name := range []string{"To", "Cc", "Delivered-To", "X-Original-To"} {
		for _, v := range h.Values(name) {
			for _, m := range plusToken.FindAllStringSubmatch(v, 10) {
				tokens = append(tokens, strings.ToLower(m[1]))
			}
		}
	}
	for _, name := range []string{"In-Reply-To", "References"} {
		found := replyID.FindAllStringSubmatch(h.Get(name), 100)
		for i := len(found) - 1; i >= 0; i-- {
			tokens = append(tokens, found[i][1])
		}
	}
	return tokens
}

// automatic reports whether a machine has sent the mail: an absence notice, a
// bounce, a list (RFC 3834, and what is usual besides).
func automatic(h message.Header) bool {
	if v := strings.ToLower(strings.TrimSpace(h.Get("Auto-Submitted"))); v != "" && v != "no" {
		return true
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Precedence"))) {
	case "bulk", "junk", "list", "auto_reply":
		return true
	}
	for _, name := range []string{"X-Autoreply", "X-Autorespond", "X-Auto-Reply", "List-Id", "X-Failed-Recipients"} {
		if h.Has(name) {
			return true
		}
	}
	if h.Has("Return-Path") && strings.TrimSpace(h.Get("Return-Path")) == "<>" {
		return true
	}
	kind, _, _ := h.ContentType()
	from := strings.ToLower(h.Get("From"))
	return kind == "multipart/report" || strings.Contains(from, "mailer-daemon@") || strings.Contains(from, "postmaster@")
}

// texts returns the first text and the first HTML of a mail that are no
// attachments.
func texts(e *message.Entity) (plain, html string, err error) {
	parts := 0
	err = e.Walk(func(_ []int, p *message.Entity, err error) error {
		if parts++; parts > maxParts {
			return errors.New("the mail has too many parts")
		}
		if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			return err
		}
		if d, _, _ := p.Header.ContentDisposition(); d == "attachment" {
			return nil
		}
		into := &plain
		switch kind, _, _ := p.Header.ContentType(); kind {
		case "text/plain":
		case "text/html":
			into = &html
		default:
			return nil
		}
		if *into != "" {
			return nil
		}
		if err != nil {
			return errors.New("the mail's text is in a charset or encoding that is not known")
		}
		b, err := io.ReadAll(io.LimitReader(p.Body, maxMail))
		*into = strings.ToValidUTF8(string(b), "\uFFFD")
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("reading the mail: %w", err)
	}
	return plain, html, nil
}

// proven reports whether the server that is trusted says that the mail comes
// from the domain of its sender. Only that server's first word counts: it
// stands above all that the mail brought along (RFC 8601, section 5).
func proven(results []string, server, from string) bool {
	host := strings.ToLower(from[strings.LastIndexByte(from, '@')+1:])
	for _, v := range results {
		by, all, err := authres.Parse(v)
		if name, _, _ := strings.Cut(strings.TrimSpace(by), " "); !strings.EqualFold(name, server) {
			continue
		}
		if err != nil {
			return false
		}
		return passes(all, host)
	}
	return false
}

// passes reports whether one of the results speaks for the domain. Where DMARC
// has a result it is the last word.
func passes(all []authres.Result, host string) bool {
	other := false
	for _, r := range all {
		switch r := r.(type) {
		case *authres.DMARCResult:
			return r.Value == authres.ResultPass && aligned(r.From, host)
		case *authres.DKIMResult:
			other = other || r.Value == authres.ResultPass && aligned(r.Domain, host)
		case *authres.SPFResult:
			other = other || r.Value == authres.ResultPass && aligned(r.From, host)
		}
	}
	return other
}

// aligned reports whether a domain, or the address in it, is exactly the
// sender's.
func aligned(said, host string) bool {
	return host != "" && strings.EqualFold(said[strings.LastIndexByte(said, '@')+1:], host)
}

// Words that begin a reply.
var (
	errApproval = errors.New("a reply can deny or steer, and never approve: open the link of the mail to approve")
	errUnclear  = errors.New("it is not clear what you mean: begin your reply with the word \"deny\" and a reason, or with \"steer\" and what to do instead")
	errNoWords  = errors.New("say what the agent shall do instead, behind the word \"steer\"")
)

// meaning is what the words of a reply say.
func meaning(text string) (decision, words string, err error) {
	text = strings.TrimSpace(text)
	if len(text) > maxWords {
		return "", "", errors.New("your reply is too long: at most 16 KiB")
	}
	end := strings.IndexFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end < 0 {
		end = len(text)
	}
	words = strings.TrimSpace(strings.TrimLeft(text[end:], ":,.;!-–— \t"))
	switch strings.ToLower(text[:end]) {
	case "deny", "denied", "reject", "rejected":
		return sdk.Deny, words, nil
	case "steer", "instead":
		if words == "" {
			return "", "", errNoWords
		}
		return sdk.Steer, words, nil
	case "approve", "approved", "yes", "ok", "okay", "lgtm", "allow":
		return "", "", errApproval
	}
	return "", "", errUnclear
}
