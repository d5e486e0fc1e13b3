package email

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-message"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/holdgate/holdgate/plugins/sdk"
)

const patience = 3 * time.Minute

const (
	ann = "ann@example.com" // has an authenticator
	bob = "bob@example.com" // has none
)

const password = "the password of the mailbox"

// authenticator is ann's secret, and in base32 what her file holds.
const (
	authenticator     = "12345678901234567890"
	authenticatorText = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
)

// An office is a mail server: SMTP for what goes out, IMAP for what comes in.
type office struct {
	t          *testing.T
	smtp, imap string // addresses
	ca         string
	user       *imapmemserver.User
	down       atomic.Bool // whoever calls is hung up on
	refuse     atomic.Pointer[smtp.SMTPError]
	refused    atomic.Pointer[string] // the one address that is refused, if any
	loseReply  atomic.Bool            // a mail is taken, and the connection lost
	mails      chan letterSeen
	logins     atomic.Int32
}

// A letterSeen is a mail as it arrived.
type letterSeen struct {
	to         string
	raw        string
	head       message.Header
	text, html string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, mails: make(chan letterSeen, 1000), user: imapmemserver.NewUser("holdgate", password)}
	cert := httptest.NewUnstartedServer(http.NotFoundHandler())
	cert.StartTLS()
	t.Cleanup(cert.Close)
	conf := &tls.Config{Certificates: cert.TLS.Certificates}
	o.ca = file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate().Raw})))

	out := smtp.NewServer(smtp.BackendFunc(func(conn *smtp.Conn) (smtp.Session, error) { return &visit{o: o, conn: conn.Conn()}, nil }))
	out.Domain, out.TLSConfig, out.ErrorLog = "mx.example.com", conf, slog.NewLogLogger(slog.DiscardHandler, 0)
	outside := o.listen()
	o.smtp = outside.Addr().String()

	if err := o.user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	boxes := imapmemserver.New()
	boxes.AddUser(o.user)
	in := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return boxes.NewSession(), nil, nil
		},
		TLSConfig: conf, Logger: slog.NewLogLogger(slog.DiscardHandler, 0),
	})
	inside := o.listen()
	o.imap = inside.Addr().String()

	var serving sync.WaitGroup
	serving.Go(func() { _ = out.Serve(outside) })
	serving.Go(func() { _ = in.Serve(tls.NewListener(inside, conf)) })
	t.Cleanup(func() {
		_, _ = out.Close(), in.Close()
		serving.Wait()
	})
	return o
}

// A door hangs up on everybody while the office is down.
type door struct {
	net.Listener
	o *office
}

func (d door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil || !d.o.down.Load() {
			return conn, err
		}
		_ = conn.Close()
	}
}

func (o *office) listen() net.Listener {
	o.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.t.Fatal(err)
	}
	return door{Listener: l, o: o}
}

// A visit is one conversation over SMTP.
type visit struct {
	o      *office
	conn   net.Conn
	to     string
	logged bool
}

func (v *visit) Reset()                 {}
func (v *visit) Logout() error          { return nil }
func (*visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != "holdgate" || pass != password {
			return errors.New("wrong password")
		}
		v.logged = true
		v.o.logins.Add(1)
		return nil
	}), nil
}

func (v *visit) Mail(string, *smtp.MailOptions) error {
	if !v.logged {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := v.o.refuse.Load(); err != nil {
		if only := v.o.refused.Load(); only == nil || *only == to {
			return err
		}
	}
	v.to = to
	return nil
}

func (v *visit) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	e, err := message.Read(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	seen := letterSeen{to: v.to, raw: string(raw), head: e.Header}
	if seen.text, seen.html, err = texts(e); err != nil {
		return err
	}
	v.o.mails <- seen
	if v.o.loseReply.CompareAndSwap(true, false) {
		return v.conn.Close()
	}
	return nil
}

// next waits for the next mail.
func (o *office) next() letterSeen {
	o.t.Helper()
	select {
	case m := <-o.mails:
		return m
	case <-time.After(patience):
		o.t.Fatal("no mail came")
		return letterSeen{}
	}
}

// nothing sees that no mail has come.
func (o *office) nothing() {
	o.t.Helper()
	select {
	case m := <-o.mails:
		o.t.Errorf("a mail came to %s: %s", m.to, m.head.Get("Subject"))
	default:
	}
}

// deliver puts a mail into the mailbox that replies go to.
func (o *office) deliver(raw string) {
	o.t.Helper()
	if _, err := o.user.Append("INBOX", bytes.NewReader([]byte(strings.ReplaceAll(raw, "\n", "\r\n"))), &imap.AppendOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// config is one that works with the office.
func (o *office) config() Config {
	pass := file(o.t, "password", password+"\n")
	return Config{
		From: "holdgate@example.com", To: []string{ann, bob},
		SMTP:   Server{Addr: o.smtp, CAFile: o.ca, User: "holdgate", PasswordFile: pass},
		IMAP:   &Server{Addr: o.imap, CAFile: o.ca, User: "holdgate", PasswordFile: pass},
		Listen: "127.0.0.1:0", Authenticators: map[string]string{ann: file(o.t, "ann.totp", authenticatorText)},
		Folder: filepath.Join(o.t.TempDir(), "mail"), KeyFile: file(o.t, "key", strings.Repeat("k", minKey)), Bundle: "1ms",
	}
}

func text(t *testing.T, conf Config) string {
	t.Helper()
	// A field that is not set would be null, and is to be absent.
	raw, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	for k, v := range members {
		if v == nil {
			delete(members, k)
		}
	}
	raw, err = json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A bench is a channel at work, and the Holdgate that takes its answers.
type bench struct {
	*Channel
	t       *testing.T
	o       *office
	answers chan sdk.Answer
	says    atomic.Pointer[func(sdk.Answer) (string, error)]
	now     atomic.Int64 // unix seconds, 0 is the real time
	stop    func()
}

func newBench(t *testing.T, o *office, conf Config) *bench {
	t.Helper()
	b := &bench{Channel: New(slog.New(slog.DiscardHandler)), t: t, o: o, answers: make(chan sdk.Answer, 1000)}
	b.say(func(a sdk.Answer) (string, error) {
		return map[string]string{"approve": "approved", "deny": "denied", "steer": "steered"}[a.Decision], nil
	})
	b.poll = 5 * time.Millisecond
	b.clock = func() time.Time {
		if at := b.now.Load(); at != 0 {
			return time.Unix(at, 0)
		}
		return time.Now()
	}
	if err := b.Configure(t.Context(), []byte(text(t, conf))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.Answers(ctx, func(_ context.Context, a sdk.Answer) (string, error) {
			b.answers <- a
			return (*b.says.Load())(a)
		})
	}()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Answers = %v", err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

func (b *bench) say(f func(sdk.Answer) (string, error)) { b.says.Store(&f) }

// ask tells of a request and returns the mails, by address.
func (b *bench) ask(n sdk.Notice) map[string]letterSeen {
	b.t.Helper()
	if err := b.Notify(b.t.Context(), n); err != nil {
		b.t.Fatal(err)
	}
	mails := make(map[string]letterSeen)
	for range max(len(n.To), 1) + btoi(len(n.To) == 0) {
		m := b.o.next()
		mails[m.to] = m
	}
	return mails
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// answered waits for the next answer.
func (b *bench) answered() sdk.Answer {
	b.t.Helper()
	select {
	case a := <-b.answers:
		return a
	case <-time.After(patience):
		b.t.Fatal("no answer came")
		return sdk.Answer{}
	}
}

func (b *bench) unanswered() {
	b.t.Helper()
	select {
	case a := <-b.answers:
		b.t.Errorf("it was answered: %+v", a)
	default:
	}
}

// replyTo is a mail that answers another, as mail programs write it.
func replyTo(m letterSeen, from, words string, edit ...string) string {
	r := fmt.Sprintf("From: Somebody <%s>\nTo: holdgate@example.com\nSubject: Re: %s\nMessage-ID: <%d@mua.example>\nIn-Reply-To: %s\nReferences: %s %s\nContent-Type: text/plain; charset=utf-8\n\n%s\n\nOn Sunday, Holdgate wrote:\n> deny everything\n",
		from, m.head.Get("Subject"), serial.Add(1), m.head.Get("Message-Id"), m.head.Get("References"), m.head.Get("Message-Id"), words)
	return strings.NewReplacer(edit...).Replace(r)
}

var serial atomic.Int64
