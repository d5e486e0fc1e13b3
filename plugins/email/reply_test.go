package email

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestARepliesMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, decision, words string
		err                   error
	}{
		{"Deny: not today", "deny", "not today", nil},
		{"  reject\nIt is Friday.\n\nReally.", "deny", "It is Friday.\n\nReally.", nil},
		{"DENY", "deny", "", nil},
		{"steer - use the trash", "steer", "use the trash", nil},
		{"Instead, use the trash", "steer", "use the trash", nil},
		{"steer", "", "", errNoWords},
		{"Approve", "", "", errApproval},
		{"yes, go ahead", "", "", errApproval},
		{"No problem, go ahead", "", "", errUnclear},
		{"denyall", "", "", errUnclear},
		{"", "", "", errUnclear},
	} {
		if decision, words, err := meaning(c.text); decision != c.decision || words != c.words || !errors.Is(err, c.err) {
			t.Errorf("%q means %q %q %v", c.text, decision, words, err)
		}
	}
	if _, _, err := meaning("deny " + strings.Repeat("x", maxWords)); err == nil {
		t.Error("a long reply is taken")
	}
}

func TestQuotationsAreCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, mail, want string }{
		{"Gmail", "Content-Type: text/plain\n\ndeny x\n\nOn Sun, 22 Nov 2026 at 10:00, Holdgate\n<h@example.com> wrote:\n> deny y", "deny x"},
		{"Outlook", "Content-Type: text/plain\n\ndeny x\n\n________________________________\nFrom: Holdgate\nSent: now", "deny x"},
		{"German", "Content-Type: text/plain\n\ndeny x\nAm 22.11.26 um 10:00 schrieb Holdgate:\n> y", "deny x"},
		{"signature", "Content-Type: text/plain\n\ndeny x\n-- \nAnn, Chief", "deny x"},
		{"our own line", "Content-Type: text/plain\n\ndeny x\n" + above + "\ny", "deny x"},
		{"HTML alone", "Content-Type: text/html; charset=utf-8\n\n<html><head><style>deny</style></head><body><div>deny <b>x</b>&nbsp;&amp; y</div><div class=\"gmail_quote\">On x wrote<blockquote>z</blockquote></div></body></html>", "deny x & y"},
		{"HTML lines", "Content-Type: text/html\n\n<p>steer</p><p>use<br>trash</p><blockquote>z</blockquote><p>z</p>", "steer\n\nuse\ntrash"},
		{"both", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\ndeny gr=FC=DFe\n--b\nContent-Type: text/html\n\n<p>deny z</p>\n--b--\n", "deny grüße"},
		{"an attachment", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\nContent-Disposition: attachment\n\ndeny z\n--b\nContent-Type: text/plain\n\ndeny x\n--b--\n", "deny x"},
		{"base64", "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nZGVueSB4\n", "deny x"},
	} {
		r, err := readReply([]byte(strings.ReplaceAll("From: a@b.example\n"+c.mail, "\n", "\r\n")))
		if err != nil || r.text != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, r.text, err, c.want)
		}
	}
}

func TestAReplyDeniesAndSteers(t *testing.T) {
	t.Parallel()
	for _, plus := range []bool{false, true} {
		t.Run(fmt.Sprintf("plus %v", plus), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			conf := o.config()
			conf.Plus = plus
			b := newBench(t, o, conf)
			for i, c := range []struct{ words, decision, reason, instructions string }{
				{"deny: it is Friday", "deny", "it is Friday", ""},
				{"steer\nuse the trash", "steer", "", "use the trash"},
			} {
				n := sdktest.Notice(fmt.Sprintf("r%d", i))
				n.To = []string{ann}
				m := b.ask(n)[ann]
				b.stop() // and in between the sidecar is restarted
				b = newBench(t, o, conf)
				mail := replyTo(m, "Ann@Example.com", c.words)
				if plus {
					to := strings.Trim(m.head.Get("Reply-To"), "<>")
					mail = "From: ann@example.com\nTo: " + to + "\nMessage-ID: <plus" + n.ID + "@x>\n\n" + c.words
				}
				o.deliver(mail)
				a := b.answered()
				if a != (sdk.Answer{ID: n.ID, Nonce: n.Nonce, Digest: n.Digest, Decision: c.decision, By: ann, Reason: c.reason, Instructions: c.instructions, Assurance: sdk.Text}) {
					t.Errorf("answered %+v", a)
				}
			}
		})
	}
}

// TestWhatDoesNotCountAsAReply puts each mail before one that counts: that is
// the first to be answered.
func TestWhatDoesNotCountAsAReply(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	mails := b.ask(n)
	m := mails[ann]
	token := b.keys.token(forReply, n.ID, n.Digest, ann)
	for _, raw := range []string{
		replyTo(m, "eve@example.com", "deny forged"),
		replyTo(m, bob, "deny with another's mail"),
		replyTo(m, ann, "deny forged", token, strings.Repeat("a", 32)),
		replyTo(m, ann, "deny forged", token, linkOf(t, m)),
		replyTo(m, ann, "deny I am away", "Subject:", "Auto-Submitted: auto-replied\nSubject:"),
		replyTo(m, ann, "deny I am away", "Subject:", "Precedence: bulk\nSubject:"),
		replyTo(m, ann, "deny bounced", "text/plain; charset=utf-8", "multipart/report; boundary=x"),
		replyTo(m, ann, "deny bounced", "Subject:", "Return-Path: <>\nSubject:"),
		replyTo(m, "mailer-daemon@example.com", "deny bounced"),
		replyTo(m, ann, "deny twice from", "Subject:", "From: eve@example.com\nSubject:"),
		replyTo(m, ann+">, <eve@example.com", "deny two writers"),
		"no mail at all", "",
		"From: ann@example.com\n\ndeny without saying what",
	} {
		o.deliver(raw)
	}
	o.deliver(replyTo(m, ann, "deny this one"))
	if a := b.answered(); a.Reason != "this one" {
		t.Errorf("answered %+v", a)
	}
	o.nothing() // nobody who is not proven gets an answer
}

func TestOneReplyCountsOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	m := b.ask(n)[ann]
	once := replyTo(m, ann, "deny once")
	o.deliver(once)
	o.deliver(once)
	o.deliver(replyTo(m, ann, "deny once more"))
	n2 := sdktest.Notice("r2")
	n2.To = []string{ann}
	o.deliver(replyTo(b.ask(n2)[ann], ann, "deny the other"))
	if a := b.answered(); a.Reason != "once" {
		t.Errorf("answered %+v", a)
	}
	if a := b.answered(); a.ID != "r2" {
		t.Errorf("answered %+v", a)
	}
}

func TestARepliesWriterIsToldWhyItDoesNotCount(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	b.say(func(sdk.Answer) (string, error) { return "", &sdk.Refused{Reason: "you do not have the role lead"} })
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	m := b.ask(n)[ann]
	for words, want := range map[string]string{"approve": errApproval.Error(), "well...": errUnclear.Error(), "deny": "you do not have the role lead"} {
		o.deliver(replyTo(m, ann, words))
		said := o.next()
		if flat := strings.Join(strings.Fields(said.text), " "); said.to != ann || !strings.Contains(flat, want) || !strings.Contains(said.head.Get("References"), m.head.Get("Message-Id")) {
			t.Errorf("%q is told %s", words, said.text)
		}
	}
	if a := b.answered(); a.Decision != sdk.Deny {
		t.Errorf("answered %+v", a)
	}
	b.unanswered()
}

func TestAReplyIsHandedOnAgainWhereNobodyKnows(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	m := b.ask(n)[ann]
	b.say(func(sdk.Answer) (string, error) { return "", errors.New("the store is down") })
	o.deliver(replyTo(m, ann, "deny it"))
	b.answered()
	b.say(func(sdk.Answer) (string, error) { return "denied", nil })
	if a := b.answered(); a.Reason != "it" {
		t.Errorf("answered %+v", a)
	}
}

func TestOnlyATrustedServersWordProvesASender(t *testing.T) {
	t.Parallel()
	const us = "mx.example.com"
	for _, c := range []struct {
		name    string
		results []string
		want    bool
	}{
		{"none", nil, false},
		{"DMARC", []string{us + "; dmarc=pass header.from=example.com"}, true},
		{"DMARC of another domain", []string{us + "; dmarc=pass header.from=evil.example"}, false},
		{"DMARC failed, SPF passed", []string{us + "; dmarc=fail header.from=example.com; spf=pass smtp.mailfrom=example.com"}, false},
		{"DKIM", []string{us + "; dkim=pass header.d=example.com"}, true},
		{"DKIM of a mailing service", []string{us + "; dkim=pass header.d=mail.example"}, false},
		{"SPF", []string{us + "; spf=pass smtp.mailfrom=ann@example.com"}, true},
		{"SPF failed", []string{us + "; spf=softfail smtp.mailfrom=ann@example.com"}, false},
		{"another server", []string{"mx.evil.example; dmarc=pass header.from=example.com"}, false},
		{"forged below", []string{us + "; dmarc=fail header.from=example.com", us + "; dmarc=pass header.from=example.com"}, false},
		{"a relay above", []string{"relay.example.com; none", us + "; dmarc=pass header.from=example.com"}, true},
		{"nonsense", []string{us + "; ;;=\x00"}, false},
	} {
		if got := proven(c.results, us, "ann@example.com"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	o := newOffice(t)
	conf := o.config()
	conf.TrustedAuthserv = us
	b := newBench(t, o, conf)
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	m := b.ask(n)[ann]
	o.deliver(replyTo(m, ann, "deny unproven"))
	o.deliver("Authentication-Results: " + us + "; dmarc=pass header.from=example.com\n" + replyTo(m, ann, "deny proven"))
	if a := b.answered(); a.Reason != "proven" {
		t.Errorf("answered %+v", a)
	}
}

func FuzzReadReply(f *testing.F) {
	f.Add([]byte("From: a@b.example\r\nIn-Reply-To: <r." + strings.Repeat("a", 32) + "@x>\r\n\r\ndeny x"))
	f.Add([]byte("From: a@b.example\r\nContent-Type: text/html\r\n\r\n<p>deny</p><blockquote>"))
	f.Add([]byte("From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b--"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := readReply(raw)
		if err != nil {
			return
		}
		for _, token := range r.tokens {
			if !isToken(token) {
				t.Errorf("%q is no token", token)
			}
		}
		if decision, _, err := meaning(r.text); err == nil && decision != sdk.Deny && decision != sdk.Steer {
			t.Errorf("a reply means %q", decision)
		}
		_ = proven(r.auth, "mx.example.com", r.from)
	})
}
