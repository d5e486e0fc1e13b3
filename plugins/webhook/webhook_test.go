package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

const shared = "a secret of some length"

func secretFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(shared+"\n"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// A receiver is the other system: a real server that keeps what it was sent.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	status  []int // what it answers, one after the other; then 200
	bodies  [][]byte
	headers []http.Header
}

func newReceiver(t *testing.T, status ...int) *receiver {
	t.Helper()
	r := &receiver{status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies, r.headers = append(r.bodies, body), append(r.headers, req.Header)
		if len(r.status) > 0 {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(r.status[0])
			r.status = r.status[1:]
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func newChannel(t *testing.T, edit func(*Config)) *Channel {
	t.Helper()
	conf := Config{SecretFile: secretFile(t, 0o600), Listen: "127.0.0.1:0"}
	edit(&conf)
	raw, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	c := New(slog.New(slog.DiscardHandler))
	c.pause = time.Millisecond
	if err := c.Configure(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.client.CloseIdleConnections()
		if c.listener != nil {
			_ = c.listener.Close()
		}
	})
	return c
}

func TestConformance(t *testing.T) {
	sdktest.Run(t, sdktest.Subject{
		New: func(*testing.T) sdk.Channel { return New(slog.New(slog.DiscardHandler)) },
		Good: func(t *testing.T) string {
			return fmt.Sprintf(`{"url": %q, "secret_file": %q, "listen": ":0"}`, newReceiver(t).URL, secretFile(t, 0o600))
		},
		Bad: map[string]string{
			"nowhere to send to":    `{}`,
			"in the clear":          `{"url": "http://example.com/hook"}`,
			"another scheme":        `{"url": "ftp://127.0.0.1/hook"}`,
			"a password in the URL": `{"url": "https://a:b@example.com/hook"}`,
			"no secret":             `{"url": "https://example.com/hook"}`,
			"no such secret":        `{"url": "https://example.com/hook", "secret_file": "/nowhere"}`,
			"a folder as secret":    `{"url": "https://example.com/hook", "secret_file": "/"}`,
		},
	})
}

func TestTheSecretIsNotPrinted(t *testing.T) {
	if got := fmt.Sprintf("%s %v %q %x %+v", secret(shared), secret(shared), secret(shared), secret(shared), struct{ S secret }{secret(shared)}); strings.Contains(got, "length") || strings.Contains(got, "61207365") {
		t.Errorf("the secret prints as %s", got)
	}
}

func TestAnEventIsSignedAndSaysEverything(t *testing.T) {
	r := newReceiver(t)
	c := newChannel(t, func(conf *Config) { conf.URL = r.URL })
	n := sdktest.Notice("r1")
	if err := c.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), sdktest.Ended(n)); err != nil {
		t.Fatal(err)
	}
	if got := r.headers[0].Get("Content-Type"); got != "application/cloudevents+json; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	for i := range r.bodies {
		if _, _, err := secret(shared).verify(r.headers[i].Get(signatureHeader), r.bodies[i], time.Now()); err != nil {
			t.Errorf("signature %d: %v", i, err)
		}
	}
	var events [2]event
	var told [2]data
	for i := range events {
		events[i].Data = &told[i]
		if err := json.Unmarshal(r.bodies[i], &events[i]); err != nil {
			t.Fatal(err)
		}
		events[i].Data = told[i]
	}
	want := event{
		SpecVersion: "1.0", ID: "r1.requested.pending.0.0123456789ab", Source: "urn:holdgate", Type: "com.github.holdgate.approval.requested",
		Subject: "r1", Time: events[0].Time, DataContentType: "application/json", Data: c.data(n),
	}
	if diff := cmp.Diff(want, events[0]); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	if u := events[1]; u.ID == want.ID || u.Type != "com.github.holdgate.approval.updated" || told[1].Outcome.By != "ada" || told[1].AnswerURL != "" {
		t.Errorf("update %+v", u)
	}
	if !strings.HasPrefix(told[0].AnswerURL, "http://127.0.0.1:") {
		t.Errorf("answers go to %q", told[0].AnswerURL)
	}
}

func TestWhichAnswersOfTheReceiverAreTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name      string
		status    []int
		tries     int
		permanent bool
	}{
		{name: "too many requests", status: []int{429, 429}, tries: 3},
		{name: "unavailable", status: []int{503}, tries: 2},
		{name: "a request that came too slowly", status: []int{408}, tries: 2},
		{name: "too early", status: []int{425}, tries: 2},
		{name: "not found is final", status: []int{404}, tries: 1, permanent: true},
		{name: "unauthorised is final", status: []int{401}, tries: 1, permanent: true},
		{name: "redirects are not followed", status: []int{307}, tries: 1, permanent: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReceiver(t, c.status...)
			ch := newChannel(t, func(conf *Config) { conf.URL = r.URL + "/secret-path" })
			err := ch.Notify(t.Context(), sdktest.Notice("r1"))
			if errors.Is(err, sdk.ErrPermanent) != c.permanent || (err != nil) != c.permanent {
				t.Errorf("Notify = %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret-path") {
				t.Errorf("the error names the URL: %v", err)
			}
			if len(r.bodies) != c.tries {
				t.Errorf("tried %d times, want %d", len(r.bodies), c.tries)
			}
			for _, b := range r.bodies {
				if !bytes.Equal(b, r.bodies[0]) {
					t.Error("an event changed on its second try")
				}
			}
		})
	}
}

func TestAReceiverThatIsGoneIsAnErrorInTime(t *testing.T) {
	c := newChannel(t, func(conf *Config) { conf.URL = "http://127.0.0.1:1" })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.Notify(ctx, sdktest.Notice("r1")); err == nil || errors.Is(err, sdk.ErrPermanent) {
		t.Errorf("Notify = %v", err)
	}
}

// A poster sends decisions to a channel that takes them.
type poster struct {
	t    *testing.T
	url  string
	mu   sync.Mutex
	got  []sdk.Answer
	says func(sdk.Answer) (string, error)
}

func newPoster(t *testing.T) *poster {
	t.Helper()
	c := newChannel(t, func(conf *Config) { conf.URL = "http://127.0.0.1:1" })
	p := &poster{t: t, url: c.answerURL, says: func(sdk.Answer) (string, error) { return "approved", nil }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.Answers(ctx, func(_ context.Context, a sdk.Answer) (string, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.got = append(p.got, a)
			return p.says(a)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Answers = %v", err)
		}
	})
	return p
}

func (p *poster) do(method, body string, header map[string]string) (int, string, problem) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var said problem
	if resp.StatusCode >= 400 {
		if err := json.Unmarshal(raw, &said); err != nil || resp.Header.Get("Content-Type") != "application/problem+json" || said.Status != resp.StatusCode {
			p.t.Errorf("%d is no problem document: %s", resp.StatusCode, raw)
		}
	}
	return resp.StatusCode, string(raw), said
}

func (p *poster) signed(body string, at time.Time) (int, string, problem) {
	p.t.Helper()
	return p.do(http.MethodPost, body, map[string]string{signatureHeader: secret(shared).sign(at, []byte(body))})
}

const approval = `{"id":"r1","nonce":"n1","digest":"d1","decision":"approve","by":"ada"}`

func TestASignedDecisionIsAnAnswer(t *testing.T) {
	p := newPoster(t)
	code, raw, _ := p.signed(approval, time.Now())
	if code != http.StatusOK || strings.TrimSpace(raw) != `{"status":"approved"}` {
		t.Errorf("%d %s", code, raw)
	}
	code, _, _ = p.signed(`{"id":"r2","nonce":"n2","digest":"d2","decision":"steer","by":"bob","reason":"risky","instructions":"use the trash","choice":"x"}`, time.Now())
	if code != http.StatusOK {
		t.Errorf("code %d", code)
	}
	want := []sdk.Answer{
		{ID: "r1", Nonce: "n1", Digest: "d1", Decision: "approve", By: "ada"},
		{ID: "r2", Nonce: "n2", Digest: "d2", Decision: "steer", By: "bob", Reason: "risky", Instructions: "use the trash", Choice: "x"},
	}
	if diff := cmp.Diff(want, p.got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoSignedDecisionIsRefused(t *testing.T) {
	now := time.Now()
	good := secret(shared).sign(now, []byte(approval))
	padded := approval[:len(approval)-1] + strings.Repeat(" ", maxDecision) + "}"
	for _, c := range []struct {
		name, method, body string
		header             map[string]string
		want               int
	}{
		{name: "no signature", body: approval, want: 401},
		{name: "no time", body: approval, header: map[string]string{signatureHeader: "v1=" + strings.Repeat("0", 64)}, want: 401},
		{name: "a forged signature", body: approval, header: map[string]string{signatureHeader: secret("another secret, as long").sign(now, []byte(approval))}, want: 401},
		{name: "the signature of another body", body: strings.Replace(approval, "ada", "eve", 1), header: map[string]string{signatureHeader: good}, want: 401},
		{name: "the signature with another time", body: approval, header: map[string]string{signatureHeader: strings.Replace(good, "t=", "t=1", 1)}, want: 401},
		{name: "an old one", body: approval, header: map[string]string{signatureHeader: secret(shared).sign(now.Add(-window-5*time.Second), []byte(approval))}, want: 401},
		{name: "one from the future", body: approval, header: map[string]string{signatureHeader: secret(shared).sign(now.Add(window+5*time.Second), []byte(approval))}, want: 401},
		{name: "an oversized one", body: padded, header: map[string]string{signatureHeader: secret(shared).sign(now, []byte(padded))}, want: 413},
		{name: "another method", method: http.MethodGet, want: 405},
		{name: "what a web page can send", body: approval, header: map[string]string{signatureHeader: good, "Content-Type": "text/plain"}, want: 415},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPoster(t)
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			if code, raw, _ := p.do(method, c.body, c.header); code != c.want {
				t.Errorf("code %d, want %d: %s", code, c.want, raw)
			}
			if len(p.got) > 0 {
				t.Errorf("answered %v", p.got)
			}
		})
	}
}

func TestWhatIsSignedMustBeADecision(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"a repeated member", strings.Replace(approval, `"by"`, `"decision":"deny","by"`, 1)},
		{"an unknown member", strings.Replace(approval, `"by"`, `"extra":1,"by"`, 1)},
		{"another spelling", strings.Replace(approval, `"by"`, `"BY"`, 1)},
		{"no object", `[]`},
		{"nothing", ``},
		{"two of them", approval + approval},
		{"not UTF-8", strings.Replace(approval, "ada", "\xff", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPoster(t)
			if code, raw, _ := p.signed(c.body, time.Now()); code != http.StatusBadRequest {
				t.Errorf("code %d: %s", code, raw)
			}
			if len(p.got) > 0 {
				t.Errorf("answered %v", p.got)
			}
		})
	}
}

func TestADecisionThatIsSentAgainIsRefused(t *testing.T) {
	p := newPoster(t)
	now := time.Now()
	if code, _, _ := p.signed(approval, now); code != http.StatusOK {
		t.Fatalf("code %d", code)
	}
	if code, _, said := p.signed(approval, now); code != http.StatusConflict || !strings.Contains(said.Detail, "sent before") {
		t.Errorf("code %d, %q", code, said.Detail)
	}
	// The same in other letters is the same.
	header := strings.ToUpper(secret(shared).sign(now, []byte(approval)))
	header = strings.NewReplacer("T=", "t=", "V1=", "v1=").Replace(header)
	if code, _, _ := p.do(http.MethodPost, approval, map[string]string{signatureHeader: header}); code != http.StatusConflict {
		t.Errorf("code %d", code)
	}
	if len(p.got) != 1 {
		t.Errorf("answered %d times", len(p.got))
	}
	if code, _, _ := p.signed(approval, now.Add(time.Second)); code != http.StatusOK {
		t.Errorf("signed anew: code %d", code)
	}
}

func TestWhatHoldgateSaysReachesTheSender(t *testing.T) {
	p := newPoster(t)
	p.says = func(sdk.Answer) (string, error) { return "", &sdk.Refused{Reason: "this channel was never asked"} }
	if code, _, said := p.signed(approval, time.Now()); code != http.StatusConflict || said.Detail != "this channel was never asked" {
		t.Errorf("code %d, %q", code, said.Detail)
	}
	p.says = func(sdk.Answer) (string, error) { return "", errors.New("inner workings") }
	if code, _, said := p.signed(approval, time.Now().Add(time.Second)); code != http.StatusServiceUnavailable || strings.Contains(said.Detail, "inner") {
		t.Errorf("code %d, %q", code, said.Detail)
	}
}

func TestTheMemoryOfSignaturesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(slog.New(slog.DiscardHandler))
		remember := func(i int) *problem {
			now := time.Now()
			return b.remember([32]byte{byte(i), byte(i >> 8)}, now.Add(window), now)
		}
		for n := range maxSeen {
			b.seen[[32]byte{byte(n), byte(n >> 8), 1}] = time.Now().Add(window)
		}
		if p := remember(1); p == nil || p.Status != http.StatusTooManyRequests {
			t.Errorf("one more: %v", p)
		}
		<-time.After(window + time.Second) // of the bubble
		if p := remember(0); p != nil {
			t.Errorf("after the window: %v", p)
		}
		if len(b.seen) != 1 {
			t.Errorf("%d are remembered", len(b.seen))
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add(secret(shared).sign(time.Unix(1, 0), []byte("{}")), []byte("{}"))
	f.Add("t=1,v1=", []byte(""))
	f.Add("t=,v1=00,v1=00", []byte("{}"))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		_, at, err := secret(shared).verify(header, body, time.Unix(1, 0))
		if err == nil && !strings.EqualFold(header, secret(shared).sign(at, body)) {
			t.Errorf("%q passes for %q", header, body)
		}
	})
}
