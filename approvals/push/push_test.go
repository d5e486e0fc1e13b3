package push

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func b64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	must(t, err)
	return b
}

// The example of RFC 8291, appendix A.
func TestTheExampleOfTheStandard(t *testing.T) {
	ours, err := ecdh.P256().NewPrivateKey(b64(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	must(t, err)
	sub := Subscription{Key: b64(t, "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"), Secret: b64(t, "BTBZMqHH6r4Tts7J_aSIgg")}
	got, err := sealed(sub, []byte("When I grow up, I want to be a watermelon"), ours, b64(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	must(t, err)
	if want := "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"; base64.RawURLEncoding.EncodeToString(got) != want {
		t.Errorf("got %s", base64.RawURLEncoding.EncodeToString(got))
	}
}

// A browser is what a browser keeps of its subscription.
type browser struct {
	key    *ecdh.PrivateKey
	secret []byte
}

func newBrowser(t testing.TB) browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	return browser{key, []byte("0123456789abcdef")}
}

func (b browser) subscription(person, endpoint string) Subscription {
	return Subscription{Person: person, Browser: "Firefox", Endpoint: endpoint, Key: b.key.PublicKey().Bytes(), Secret: b.secret}
}

// open decrypts a message, as RFC 8188 and 8291 say.
func (b browser) open(t testing.TB, body []byte) []byte {
	t.Helper()
	if len(body) < 86 || body[20] != 65 {
		t.Fatalf("no message: %x", body)
	}
	salt, public := body[:16], body[21:86]
	theirs, err := ecdh.P256().NewPublicKey(public)
	must(t, err)
	shared, err := b.key.ECDH(theirs)
	must(t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		k, err := hkdf.Key(sha256.New, secret, salt, info, n)
		must(t, err)
		return k
	}
	ikm := derive(shared, b.secret, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(public), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	must(t, err)
	gcm, err := cipher.NewGCM(block)
	must(t, err)
	text, err := gcm.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), body[86:], nil)
	must(t, err)
	return bytes.TrimSuffix(text, []byte{2})
}

// vouches verifies who sends, as RFC 8292 says.
func vouches(t testing.TB, s *Sender, header, audience string) {
	t.Helper()
	token, key, _ := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if len(parts) != 3 || key != s.PublicKey() {
		t.Fatalf("it is vouched for by %q", header)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), b64(t, key))
	must(t, err)
	signature, sum := b64(t, parts[2]), sha256.Sum256([]byte(parts[0]+"."+parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature is not the sidecar's")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	must(t, json.Unmarshal(b64(t, parts[1]), &claims))
	if left := time.Until(time.Unix(claims.Exp, 0)); claims.Aud != audience || claims.Sub != "mailto:ops@example.com" || left <= 0 || left > 24*time.Hour {
		t.Errorf("it claims %+v", claims)
	}
}

// A post is what a service was sent.
type post struct {
	path, vouched, encoding, ttl string
	body                         []byte
}

// house is a sender over a real queue, with people ada and bob.
func house(t *testing.T) (*Sender, *approvals.Queue, *audit.Log) {
	ctx, key := t.Context(), []byte(strings.Repeat("k", 32))
	st := teststore.Open(t, t.TempDir())
	log, err := audit.Open(ctx, st, key)
	must(t, err)
	digester, err := holdgate.NewDigester(key)
	must(t, err)
	persons, err := people.New("ada", []people.Person{{Name: "ada", Roles: []string{people.RoleApprove}}, {Name: "bob", Roles: []string{people.RoleApprove}}})
	must(t, err)
	q, err := approvals.Open(ctx, approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key, People: persons, Redeem: time.Hour})
	must(t, err)
	s, err := New(Config{Store: st, Queue: q, People: q.People, Seed: key, Contact: func() string { return "mailto:ops@example.com" },
		Refuse: func(netip.Addr) string { return "it is not public" }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(q.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, q, log
}

func hold(t *testing.T, q *approvals.Queue, n int, risk holdgate.Risk, people ...string) approvals.Request {
	t.Helper()
	x, err := q.Enter(t.Context(), approvals.Caller{Agent: holdgate.Agent{ID: "secretagent"}, Session: holdgate.Session{ID: "s1"}, Door: "up/test"},
		func() (holdgate.Digest, error) { return holdgate.Digest(fmt.Sprintf("%064d", n)), nil })
	must(t, err)
	defer x.Leave()
	call := holdgate.Call{Kind: holdgate.KindToolCall, Time: time.Now(), Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"rm -rf secretplan"}`)}}
	r, err := x.RequestApproval(t.Context(), approvals.HeldCall{Call: call, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "r", Risk: risk,
		Hold: holdgate.HoldSpec{Timeout: time.Hour, Approvers: holdgate.Approvers{Users: people}}, Facts: &holdgate.Facts{}}})
	must(t, err)
	return r
}

// A service is told of what waits, whom it is for, and nothing more.
func TestBrowsersAreTold(t *testing.T) {
	s, q, log := house(t)
	s.apart = time.Hour
	posts := make(chan post, 10)
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/away":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		default:
			w.WriteHeader(http.StatusCreated)
		}
		posts <- post{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Encoding"), r.Header.Get("TTL"), body}
	}))
	defer service.Close()
	// Names of the public network lead to the test's service.
	transport := s.client.Transport.(*http.Transport)
	s.client.Timeout, transport.TLSHandshakeTimeout = 0, 0 // however slow the machine is
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, service.Listener.Addr().String())
	}
	transport.TLSClientConfig = service.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	roots := x509.NewCertPool()
	roots.AddCert(service.Certificate())
	transport.TLSClientConfig.RootCAs = roots
	defer transport.CloseIdleConnections()

	ada := newBrowser(t)
	must(t, s.Add(t.Context(), ada.subscription("ada", "https://example.com/ada")))
	must(t, s.Add(t.Context(), newBrowser(t).subscription("ada", "https://example.com/away")))
	must(t, s.Add(t.Context(), newBrowser(t).subscription("bob", "https://example.com/gone")))
	head, err := log.Head(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, head.Seq) }()

	r := hold(t, q, 1, holdgate.RiskHigh, "ada")
	for range 2 {
		p := <-posts
		if p.path == "/gone" || p.path == "/elsewhere" {
			t.Errorf("sent to %s", p.path)
		}
		if p.path != "/ada" {
			continue
		}
		vouches(t, s, p.vouched, "https://example.com")
		text := ada.open(t, p.body)
		if got, want := strings.TrimSpace(string(text)), fmt.Sprintf(`{"risk":"high","request":%q}`, r.ID); got != want || len(text) != sizeOfText {
			t.Errorf("got %q, %d bytes; want %s", got, len(text), want)
		}
		if p.encoding != "aes128gcm" || p.ttl == "" {
			t.Errorf("headers %q, %q", p.encoding, p.ttl)
		}
		if bytes.Contains(p.body, []byte("secret")) || bytes.Contains(p.body, []byte(r.ID)) {
			t.Error("the service can read it")
		}
	}
	hold(t, q, 2, holdgate.RiskLow, "ada") // so soon after one of high risk: not told
	hold(t, q, 3, holdgate.RiskLow, "bob")
	if p := <-posts; p.path != "/gone" {
		t.Errorf("sent to %s, want /gone", p.path)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if len(posts) > 0 {
		t.Errorf("sent to %s too", (<-posts).path)
	}
}

func TestSomebodyAloneIsTold(t *testing.T) {
	if got := able(approvals.Request{}, people.Alone("ada")); len(got) != 1 || got[0].Name != "ada" {
		t.Errorf("told: %v", got)
	}
}

// What a service knows no longer is forgotten.
func TestWhatABrowserEndsIsForgotten(t *testing.T) {
	s, _, _ := house(t)
	must(t, s.Add(t.Context(), newBrowser(t).subscription("ada", "https://example.com/gone")))
	list, err := s.List(t.Context(), "ada")
	must(t, err)
	s.client = &http.Client{Transport: answers(http.StatusGone)}
	s.deliver(t.Context(), parcel{list[0], message{"low", "r1"}})
	if list, _ := s.List(t.Context(), "ada"); len(list) > 0 {
		t.Errorf("kept: %+v", list)
	}
}

// answers is a service that answers with one status.
type answers int

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Status: http.StatusText(int(a)), Body: http.NoBody, Request: r}, nil
}

func TestWhereMessagesDoNotGo(t *testing.T) {
	s, _, _ := house(t)
	b := newBrowser(t)
	for _, endpoint := range []string{"http://push.example/x", "https://127.0.0.1/x", "https://[::1]/x", "https://10.0.0.1/x", "https://203.0.113.7/x", "https://localhost/x", "https://a.localhost/x",
		"https://gateway/x", "https://ada@push.example/x", "https://push.example:7301/x", "file:///etc/passwd", "https://push.example/" + strings.Repeat("x", maxEndpoint), ""} {
		if err := s.Add(t.Context(), b.subscription("ada", endpoint)); !errors.Is(err, ErrSubscription) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	wrong := b.subscription("ada", "https://push.example/x")
	wrong.Key = bytes.Repeat([]byte{4}, 65)
	if err := s.Add(t.Context(), wrong); !errors.Is(err, ErrSubscription) {
		t.Errorf("a key that is none: %v", err)
	}
	// A name that leads to this machine is refused when it is dialled.
	service := httptest.NewTLSServer(http.NotFoundHandler())
	defer service.Close()
	to := b.subscription("ada", service.URL)
	if _, err := s.send(t.Context(), parcel{to, message{"low", "r1"}}); err == nil || !strings.Contains(err.Error(), "it is not public") || strings.Contains(err.Error(), "https://") {
		t.Errorf("sent to this machine: %v", err)
	}
}

func TestAPersonsBrowsers(t *testing.T) {
	s, _, _ := house(t)
	for i := range MaxOf + 2 {
		must(t, s.Add(t.Context(), newBrowser(t).subscription("ada", fmt.Sprintf("https://push.example/%d", i))))
	}
	list, err := s.List(t.Context(), "ada")
	must(t, err)
	if len(list) != MaxOf {
		t.Fatalf("%d browsers", len(list))
	}
	must(t, s.Remove(t.Context(), "bob", list[0].ID))
	must(t, s.Remove(t.Context(), "ada", list[1].ID))
	must(t, s.Remove(t.Context(), "ada", "none"))
	must(t, s.Add(t.Context(), newBrowser(t).subscription("bob", list[2].Endpoint))) // the browser is bob's by now
	now, err := s.List(t.Context(), "ada")
	must(t, err)
	if len(now) != MaxOf-2 || now[0].ID != list[0].ID {
		t.Errorf("%d browsers are left", len(now))
	}
	if again, err := New(s.c); err != nil || again.PublicKey() != s.PublicKey() {
		t.Errorf("another key after a restart: %v", err)
	}
}
