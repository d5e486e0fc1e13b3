package email

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	o := newOffice(t)
	bad := func(edit func(*Config)) string {
		c := o.config()
		edit(&c)
		return text(t, c)
	}
	sdktest.Run(t, sdktest.Subject{
		New:  func(*testing.T) sdk.Channel { return New(slog.New(slog.DiscardHandler)) },
		Good: func(*testing.T) string { return text(t, o.config()) },
		Bad: map[string]string{
			"nothing":                   `{}`,
			"from nobody":               bad(func(c *Config) { c.From = "" }),
			"a header in an address":    bad(func(c *Config) { c.From = "a@b.example\r\nBcc: eve@c.example" }),
			"a name before an address":  bad(func(c *Config) { c.From = "Holdgate <a@b.example>" }),
			"to nobody":                 bad(func(c *Config) { c.To = nil }),
			"to no address":             bad(func(c *Config) { c.To = []string{"ann"} }),
			"no mail server":            bad(func(c *Config) { c.SMTP.Addr = "" }),
			"mail in the clear":         bad(func(c *Config) { c.SMTP = Server{Addr: "mx.example.com:25", TLS: "none"} }),
			"replies in the clear":      bad(func(c *Config) { c.IMAP = &Server{Addr: "mx.example.com:143", TLS: "none"} }),
			"an unknown kind of TLS":    bad(func(c *Config) { c.SMTP.TLS = "ssl3" }),
			"a user without a password": bad(func(c *Config) { c.SMTP.PasswordFile = "" }),
			"no folder":                 bad(func(c *Config) { c.Folder = "" }),
			"no key":                    bad(func(c *Config) { c.KeyFile = "" }),
			"a short key":               bad(func(c *Config) { c.KeyFile = file(t, "key", "short") }),
			"a page for everybody":      bad(func(c *Config) { c.Listen = "0.0.0.0:0" }),
			"a page in the clear":       bad(func(c *Config) { c.PageURL = "http://approve.example.com" }),
			"a page that is not served": bad(func(c *Config) { c.Listen, c.PageURL = "", "https://approve.example.com" }),
			"an authenticator of words": bad(func(c *Config) { c.Authenticators = map[string]string{ann: file(t, "x", "not in base32 at all!")} }),
			"an unknown follow-up":      bad(func(c *Config) { c.FollowUp = "each" }),
			"a bundle of no time":       bad(func(c *Config) { c.Bundle = "soon" }),
		},
	})
}

func TestAPasswordIsNotPrinted(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprintf("%s %v %q %x %+v", secret("hush"), secret("hush"), secret("hush"), secret("hush"), server{password: secret("hush")}); strings.Contains(got, "hush") || strings.Contains(got, "68757368") {
		t.Errorf("a password prints as %s", got)
	}
}

func TestAQuestionIsAMailForEach(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Life("r1")[0]
	n.To = nil
	mails := b.ask(n)
	if len(mails) != 2 || o.logins.Load() == 0 {
		t.Fatalf("mails to %d people after %d logins", len(mails), o.logins.Load())
	}
	ids := make(map[string]bool)
	for to, m := range mails {
		if got := m.head.Get("Subject"); got != "[Holdgate] medium risk: Deletes ./build and everything in it (claude)" {
			t.Errorf("subject %q", got)
		}
		if m.head.Get("Auto-Submitted") != "auto-generated" || m.head.Get("From") != "<holdgate@example.com>" || m.head.Get("To") != "<"+to+">" {
			t.Errorf("head %v", m.raw[:min(len(m.raw), 600)])
		}
		ids[m.head.Get("Message-Id")] = true
		for _, body := range []string{m.text, m.html} {
			for _, want := range []string{above, "medium", "rm -rf build", "Bash", "A reply cannot approve", b.conf.page + "/#"} {
				if !strings.Contains(body, want) {
					t.Errorf("the mail to %s does not say %q:\n%s", to, want, body)
				}
			}
			if at, call := strings.Index(body, "risk"), strings.Index(body, "rm -rf"); at < 0 || at > call {
				t.Error("the risk does not stand before the call")
			}
		}
		for _, remote := range []string{"<img", "src=", "url(", "<link", "<script"} {
			if strings.Contains(m.html, remote) {
				t.Errorf("the mail has %s in it", remote)
			}
		}
		if strings.Index(m.raw, "text/plain") > strings.Index(m.raw, "text/html") {
			t.Error("HTML stands before text")
		}
		if got := strings.Contains(m.text, "authenticator"); got != (to == ann) {
			t.Errorf("%s is told of an authenticator: %v", to, got)
		}
	}
	if len(ids) != 2 {
		t.Errorf("two mails have the ids %v", ids)
	}
}

func TestTheMailsOfASessionAreOneThread(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	ask := func(id, thread string) letterSeen {
		n := sdktest.Notice(id)
		n.Thread, n.To = thread, []string{ann}
		return b.ask(n)[ann]
	}
	one, two, other := ask("r1", "5e551015"), ask("r2", "5e551015"), ask("r3", "07e3")
	if one.head.Get("References") != two.head.Get("References") || one.head.Get("In-Reply-To") == "" {
		t.Errorf("references %q and %q", one.head.Get("References"), two.head.Get("References"))
	}
	if other.head.Get("References") == one.head.Get("References") {
		t.Error("another session is in the same thread")
	}
}

func TestWhatIsToldAgainIsNoSecondMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	conf := o.config()
	b := newBench(t, o, conf)
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	first := b.ask(n)[ann]
	if err := b.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	b.stop()
	b = newBench(t, o, conf) // after a restart
	if err := b.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	o.nothing()

	n.To = []string{ann, bob} // an escalation
	if err := b.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if m := o.next(); m.to != bob {
		t.Errorf("%s was asked again", m.to)
	}
	o.nothing()
	n.Digest, n.To = "another", []string{ann} // another form of the call
	if m := b.ask(n)[ann]; m.head.Get("Message-Id") == first.head.Get("Message-Id") {
		t.Error("two forms of the call have one mail")
	}
}

func TestAMailWhoseArrivalIsUnknownIsTheSameMailAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	o.loseReply.Store(true)
	if err := b.Notify(t.Context(), n); err == nil || errors.Is(err, sdk.ErrPermanent) {
		t.Fatalf("Notify = %v", err)
	}
	first := o.next()
	if second := b.ask(n)[ann]; second.head.Get("Message-Id") != first.head.Get("Message-Id") {
		t.Errorf("it came as %s and %s", first.head.Get("Message-Id"), second.head.Get("Message-Id"))
	}
}

func TestWhileTheServerIsDownNothingIsLost(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	asked := b.ask(n)[ann]
	b.smtp.reached(time.Time{})
	o.down.Store(true)
	late := sdktest.Notice("r2")
	late.To = []string{ann, bob}
	for range 5 {
		if err := b.Notify(t.Context(), late); err == nil || errors.Is(err, sdk.ErrPermanent) || strings.Contains(err.Error(), password) {
			t.Fatalf("Notify = %v", err)
		}
	}
	if err := b.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "sending") {
		t.Errorf("Health = %v", err)
	}
	o.nothing()
	o.deliver(replyTo(asked, ann, "deny it came while nobody could read"))
	o.down.Store(false)
	if got := b.ask(late); len(got) != 2 {
		t.Errorf("%d mails", len(got))
	}
	o.nothing()
	if a := b.answered(); a.Reason != "it came while nobody could read" {
		t.Errorf("answered %+v", a)
	}
	if err := b.Health(t.Context()); err != nil && strings.Contains(err.Error(), "sending") {
		t.Errorf("Health = %v", err)
	}
}

func TestWhatAServerRefusesForGoodIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	o.refuse.Store(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"})
	if err := b.Notify(t.Context(), n); !errors.Is(err, sdk.ErrPermanent) {
		t.Errorf("Notify = %v", err)
	}
	one := ann
	o.refused.Store(&one) // the other one is told
	if err := b.Notify(t.Context(), n); err != nil {
		t.Errorf("Notify = %v", err)
	}
	if m := o.next(); m.to != bob {
		t.Errorf("%s was told", m.to)
	}
	o.refuse.Store(&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "greylisted"})
	if err := b.Notify(t.Context(), n); err == nil || errors.Is(err, sdk.ErrPermanent) {
		t.Errorf("Notify = %v", err)
	}
}

func TestEndsAreToldTogetherToThoseWhoDidNotDecide(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	conf := o.config()
	conf.Bundle = "500ms"
	b := newBench(t, o, conf)
	for _, id := range []string{"r1", "r2"} {
		n := sdktest.Notice(id)
		b.ask(n)
		n.Votes, n.Event = 1, sdk.Voted
		if err := b.Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	o.deliver("From: " + ann + "\nIn-Reply-To: <r." + b.keys.token(forReply, "r2", sdktest.Notice("r2").Digest, ann) + "@example.com>\n\ndeny not today")
	b.answered()
	waitFor(t, func() bool { r, _ := b.store.record("r2"); return r.Done[ann] != "" })
	for _, id := range []string{"r1", "r2"} {
		if err := b.Update(t.Context(), sdktest.Ended(sdktest.Notice(id))); err != nil {
			t.Fatal(err)
		}
	}
	told := make(map[string]int)
	for told[ann] < 1 || told[bob] < 2 { // one mail says both, or two say one each
		m := o.next()
		told[m.to] += strings.Count(m.text, "not today")
		if !strings.Contains(m.head.Get("Subject"), "nothing to do") || !strings.Contains(m.text, "denied by ada") {
			t.Errorf("%s: %s", m.head.Get("Subject"), m.text)
		}
	}
	if told[ann] != 1 || told[bob] != 2 {
		t.Errorf("told %v", told)
	}
	waitFor(t, func() bool { r, _ := b.store.record("r2"); return len(r.Owed) == 0 })
	o.nothing()
}

func TestEndsAreNotToldWhereThatIsSaid(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	conf := o.config()
	conf.FollowUp = "none"
	b := newBench(t, o, conf)
	b.ask(sdktest.Notice("r1"))
	if err := b.Update(t.Context(), sdktest.Ended(sdktest.Notice("r1"))); err != nil {
		t.Fatal(err)
	}
	if r, _ := b.store.record("r1"); len(r.Owed) > 0 || !r.Notice.Ended() {
		t.Errorf("owed %v", r.Owed)
	}
}

func TestAnExpiredRequestIsToldAsSuch(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	m := b.ask(n)[ann]
	n.Status, n.Answers, n.Outcome = "expired", nil, &sdk.Outcome{Decision: "timeout", By: "policy"}
	if err := b.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	end := o.next()
	if !strings.Contains(end.text, "expired by policy, for nobody answered in time") || !strings.Contains(end.head.Get("References"), m.head.Get("Message-Id")) {
		t.Errorf("%s\n%s", end.head.Get("References"), end.text)
	}
	o.deliver(replyTo(m, ann, "deny too late"))
	if got := o.next(); !strings.Contains(got.text, "the request has ended: it is expired") {
		t.Errorf("a late reply is told %s", got.text)
	}
	b.unanswered()
}

func TestNewsAreToldOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.News("n1")
	n.To = []string{ann}
	for range 2 {
		if err := b.Tell(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if m := o.next(); !strings.Contains(m.text, "revision 3") || m.head.Get("Subject") != "[Holdgate] the policy has changed" {
		t.Errorf("%s: %s", m.head.Get("Subject"), m.text)
	}
	o.nothing()
}

func TestWhatIsKeptIsSealed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	conf := o.config()
	b := newBench(t, o, conf)
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	b.ask(n)
	b.stop()
	names, err := filepath.Glob(filepath.Join(conf.Folder, "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{n.Nonce, "rm -rf", ann, n.Digest} {
			if strings.Contains(string(raw), s) {
				t.Errorf("%s holds %q in the clear", name, s)
			}
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	conf.KeyFile = file(t, "other", strings.Repeat("x", minKey))
	if err := New(slog.New(slog.DiscardHandler)).Configure(t.Context(), []byte(text(t, conf))); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("Configure with another key = %v", err)
	}
}

func TestWhatEndedLongAgoIsForgotten(t *testing.T) {
	t.Parallel()
	k, err := newKeys([]byte(strings.Repeat("k", minKey)))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "mail")
	s, err := openStore(dir, k, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range map[string]sdk.Notice{"open": sdktest.Notice("open"), "ended": sdktest.Ended(sdktest.Notice("ended"))} {
		if err := s.change(id, func(r *record) { r.Notice = n }); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {keepEnded + time.Minute, 1}, {keepAny + time.Minute, 0}} {
		s, err := openStore(dir, k, time.Now().Add(c.after))
		if err != nil || len(s.all()) != c.want {
			t.Errorf("after %v: %d, %v", c.after, len(s.all()), err)
		}
	}
}

// waitFor waits for what cannot be waited for otherwise.
func waitFor(t *testing.T, met func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not come to that")
		}
	}
}
