package e2e_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-message"
	"github.com/emersion/go-smtp"
)

// A mailRoom takes mails and hands them on.
type mailRoom struct {
	mails chan string
	to    string
}

func (*mailRoom) Reset()                                      {}
func (*mailRoom) Logout() error                               { return nil }
func (*mailRoom) Mail(string, *smtp.MailOptions) error        { return nil }
func (m *mailRoom) Rcpt(to string, _ *smtp.RcptOptions) error { m.to = to; return nil }

func (m *mailRoom) Data(r io.Reader) error {
	e, err := message.Read(r)
	if err != nil {
		return err
	}
	text := m.to + "\n"
	err = e.Walk(func(_ []int, part *message.Entity, err error) error {
		if err != nil || part.MultipartReader() != nil {
			return err
		}
		raw, err := io.ReadAll(part.Body)
		text += string(raw)
		return err
	})
	m.mails <- text
	return err
}

var (
	mailLink   = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/#([a-z2-7]{32})`)
	pageDigest = regexp.MustCompile(`name="digest" value="([^"]+)"`)
)

// emailPlace is a mail server and the browser and authenticator of those who get
// mails. A code of an authenticator counts once, so each approval is another
// person's.
func emailPlace(t *testing.T) askingPlace {
	rounds, _ := strconv.Atoi(os.Getenv("HOLDGATE_FIGURES"))
	mails := make(chan string, 10_000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailRoom{mails: mails}, nil }))
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { _ = srv.Close(); serving.Wait() })
	var people []string
	secrets, files := map[string]string{}, map[string]string{}
	for i := range max(rounds, 1) {
		who := fmt.Sprintf("p%d@example.com", i)
		people, secrets[who] = append(people, who), fmt.Sprintf("the secret of number %04d", i)
		files[who] = write(t, "totp", base32.StdEncoding.EncodeToString([]byte(secrets[who])))
	}
	config, err := json.Marshal(map[string]any{
		"from": "holdgate@example.com", "to": people, "smtp": map[string]string{"addr": l.Addr().String(), "tls": "none"}, "listen": "127.0.0.1:0",
		"authenticators": files, "folder": filepath.Join(t.TempDir(), "mail"), "key_file": write(t, "key", strings.Repeat("k", 32)), "follow_up": "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	post := func(address string, form url.Values) string {
		resp, err := http.PostForm(address, form)
		if err != nil {
			t.Fatal(err)
		}
		return body(t, resp)
	}
	round := 0
	return askingPlace{
		config: string(config),
		approve: func(command string, decided func()) {
			who := people[round]
			round++
			link := ""
			for range people { // so that nothing is being sent meanwhile
				for {
					m := next(t, "a mail", mails)
					if !strings.Contains(m, command) {
						continue
					}
					if strings.HasPrefix(m, who+"\n") {
						link = mailLink.FindString(m)
					}
					break
				}
			}
			page, secret, ok := strings.Cut(link, "#")
			if !ok {
				t.Fatalf("the mail to %s has no link", who)
			}
			var digest []string
			until(t, "the page of a link, which is known once the mail is out", func() bool {
				digest = pageDigest.FindStringSubmatch(post(page+"show", url.Values{"code": {secret}}))
				return digest != nil
			})
			form := url.Values{"code": {secret}, "digest": {digest[1]}, "decision": {"approve"}, "totp": {totp(secrets[who], time.Now())}}
			decided()
			if text := post(page+"decide", form); !strings.Contains(text, "The request is approved") {
				t.Fatalf("the page says %s", text)
			}
		},
	}
}

// totp is the code of an authenticator (RFC 6238): six digits, each for 30 s.
func totp(secret string, at time.Time) string {
	mac := hmac.New(sha1.New, []byte(secret))
	for step, shift := at.Unix()/30, 56; shift >= 0; shift -= 8 {
		mac.Write([]byte{byte(step >> shift)})
	}
	sum := mac.Sum(nil)
	code := 0
	for _, b := range sum[sum[len(sum)-1]&0xf:][:4] {
		code = code<<8 | int(b)
	}
	return fmt.Sprintf("%06d", code&0x7fffffff%1_000_000)
}
