package api_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// What a page in the approver's browser can send must decide nothing, even if
// it had come by the token.
func TestAWebPageDecidesNothing(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	u, err := url.Parse(d.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"decision":"approve","digest":%q}`, r.Call.Digest)
	tests := []struct {
		name    string
		headers []string
		status  int
	}{
		{"a form without the token", []string{"Authorization", "", "Content-Type", "text/plain"}, 401},
		{"a form with the token", []string{"Content-Type", "text/plain"}, 415},
		{"a form of another encoding", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"no content type", []string{"Content-Type", ""}, 415},
		{"a script of another origin", []string{"Origin", "https://evil.example"}, 403},
		{"a script of another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a sandboxed frame", []string{"Origin", "null"}, 403},
		{"a cross-site fetch", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a same-site fetch", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a rebound name", []string{"Host", "evil.example:" + u.Port()}, 403},
		{"a rebound name with our own beginning", []string{"Host", "127.0.0.1.evil.example:" + u.Port()}, 403},
		{"our name at another port", []string{"Host", "127.0.0.1:1"}, 403},
		{"no port", []string{"Host", "localhost"}, 403},
		{"a basic credential", []string{"Authorization", "Basic " + token}, 401},
		{"a wrong token", []string{"Authorization", "Bearer " + strings.Repeat("0", len(token))}, 401},
		{"the beginning of the token", []string{"Authorization", "Bearer " + token[:40]}, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, text := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", body, tt.headers...)
			if status != tt.status {
				t.Errorf("got %d %s, want %d", status, text, tt.status)
			}
			if got, err := d.queue.Request(t.Context(), r.ID); err != nil || got.Status != holdgate.StatusPending {
				t.Fatalf("the request is %s (%v), want pending", got.Status, err)
			}
		})
	}
	for _, host := range []string{"127.0.0.1:" + u.Port(), "localhost:" + u.Port(), "LOCALHOST:" + u.Port(), "[::1]:" + u.Port()} {
		status, text := d.ask("GET", "/v1/status", "", "Host", host, "Origin", "http://"+host, "Sec-Fetch-Site", "same-origin")
		if status != 200 {
			t.Errorf("our own page at %s is refused: %d %s", host, status, text)
		}
	}
	if status, text := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", body); status != 200 {
		t.Errorf("the same without a web page: %d %s, want 200", status, text)
	}
}

func TestTheTokenIsAskedForEverywhereButTwice(t *testing.T) {
	d := newDoor(t)
	for _, path := range []string{"/v1/approvals", "/v1/approvals/x", "/v1/audit", "/v1/audit/head", "/v1/audit/export", "/v1/events", "/v1/status", "/v1/openapi.json", "/", "/none"} {
		if status, _ := d.ask("GET", path, "", "Authorization", ""); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
			t.Errorf("GET %s without the token: %d, want 401 or 429", path, status)
		}
	}
	if status, body := d.ask("GET", "/healthz", "", "Authorization", ""); status != 200 || strings.TrimSpace(body) != `{"health":"ok"}` {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if status, body := d.ask("GET", "/readyz", "", "Authorization", ""); status != 200 || strings.TrimSpace(body) != `{"ready":true}` {
		t.Errorf("/readyz: %d %s", status, body)
	}
}

// A probe learns that the sidecar is not ready and why, but no details; it is alive all
// the while, and starting it anew would mend nothing.
func TestReadyzSaysWhyNothingIsDecided(t *testing.T) {
	d := newDoor(t)
	wrong := "the policy that was pushed does not load, and no call is let through: /srv/secret/rule.rego:3"
	d.health.Store(&wrong)
	if status, body := d.ask("GET", "/readyz", "", "Authorization", ""); status != 503 || !strings.Contains(body, "policy: the policy that was pushed does not load") || strings.Contains(body, "secret") {
		t.Errorf("a broken policy: %d %s", status, body)
	}
	if status, _ := d.ask("GET", "/healthz", "", "Authorization", ""); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
	d.health.Store(nil)
	d.api.Close()
	if status, body := d.ask("GET", "/readyz", "", "Authorization", ""); status != 503 || !strings.Contains(body, "ending: the sidecar is about to end") {
		t.Errorf("while it ends: %d %s", status, body)
	}
}

func TestGuessingIsSlowedDownAndLocksNobodyOut(t *testing.T) {
	d := newDoor(t)
	limited := false
	for range 30 {
		status, _ := d.ask("GET", "/v1/status", "", "Authorization", "Bearer wrong")
		limited = limited || status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("30 wrong tokens in a row were all answered with 401")
	}
	if status, body := d.ask("GET", "/v1/status", ""); status != 200 {
		t.Errorf("the right token after them: %d %s", status, body)
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	d := newDoor(t)
	if status, _ := d.ask("GET", "/v1/none", ""); status != 404 {
		t.Errorf("unknown path: %d", status)
	}
	if status, body := d.ask("DELETE", "/v1/approvals", ""); status != 405 || !strings.Contains(body, "GET") {
		t.Errorf("unknown method: %d %s", status, body)
	}
}

func TestTheProofNamesTheAddressAndTheCaller(t *testing.T) {
	d := newDoor(t)
	nonce := strings.Repeat("5a", 32)
	prove := func(of string) string {
		t.Helper()
		status, body := d.ask("POST", "/v1/prove", fmt.Sprintf(`{"nonce":%q,"caller":%q}`, nonce, api.CallerMark(api.HashToken(of), nonce)), "Authorization", "")
		if status != 200 {
			t.Fatalf("proving: %d %s", status, body)
		}
		return decode[api.Proven](t, body).Proof
	}
	here := d.http.Listener.Addr()
	for name, of := range map[string]string{"ada": token, "bob": tokenOfBob} {
		if got, want := prove(of), api.Proof(api.HashToken(of), nonce, here); got != want {
			t.Errorf("proof for %s is %s, want %s", name, got, want)
		}
	}
	if other := api.Proof(api.HashToken(token), nonce, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}); prove(token) == other {
		t.Error("the proof is good for another port too")
	}
	stranger := strings.Repeat("e", 64)
	got := prove(stranger)
	if len(got) != len(prove(token)) {
		t.Errorf("a caller whom nobody knows is told %q", got)
	}
	for name, of := range map[string]string{"their own": stranger, "ada's": token, "bob's": tokenOfBob} {
		if got == api.Proof(api.HashToken(of), nonce, here) {
			t.Errorf("a caller whom nobody knows is given a proof under %s token", name)
		}
	}
	mark := api.CallerMark(api.HashToken(token), nonce)
	for _, bad := range []string{
		`{"nonce":"","caller":"` + mark + `"}`, `{"nonce":"5a","caller":"` + mark + `"}`, `{"nonce":"` + strings.Repeat("zz", 32) + `","caller":"` + mark + `"}`,
		`{"nonce":"` + nonce + `00","caller":"` + mark + `"}`, `{"nonce":"` + nonce + `"}`, `{"nonce":"` + nonce + `","caller":"` + strings.Repeat("zz", 32) + `"}`,
	} {
		if status, _ := d.ask("POST", "/v1/prove", bad); status != 400 {
			t.Errorf("%s: %d, want 400", bad, status)
		}
	}
}

func TestATokenSpeaksForItsOwnPersonOnly(t *testing.T) {
	d := newDoor(t)
	for person, of := range map[string]string{"ada": token, "bob": tokenOfBob} {
		r := d.hold(holdgate.HoldSpec{})
		status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", `{"decision":"deny"}`, "Authorization", "Bearer "+of)
		if got := decode[approvals.Request](t, body); status != 200 || got.Outcome.By != person || got.Votes[0].By != person {
			t.Errorf("with the token of %s: %d %s", person, status, body)
		}
	}
	hash := api.HashToken(token)
	for name, wrong := range map[string]string{"its hash": hex.EncodeToString(hash[:]), "more behind it": token + "0", "nothing": ""} {
		if status, _ := d.ask("GET", "/v1/status", "", "Authorization", "Bearer "+wrong); status != 401 {
			t.Errorf("%s passes for the token: %d", name, status)
		}
	}
}

func TestAUnixSocketTakesAnyHostAndStillWantsTheToken(t *testing.T) {
	d := newDoor(t)
	path := filepath.Join(sockettest.Folder(t), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(d.api)
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	defer srv.Close()
	hc := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer hc.CloseIdleConnections()
	for auth, want := range map[string]int{"": 401, "Bearer " + token: 200} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://anything/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		resp, err := hc.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("over the socket with %q: %d, want %d", auth, resp.StatusCode, want)
		}
	}
}

func TestWithoutAnAddressOfItsOwnTheDoorRefuses(t *testing.T) {
	d := newDoor(t)
	rec := httptest.NewRecorder()
	req := httptest.NewRequest("GET", "/v1/approvals", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	d.api.ServeHTTP(rec, req)
	if rec.Code != http.StatusForbidden {
		t.Errorf("got %d, want 403", rec.Code)
	}
}

func TestNewRefusesWhatIsUnsafe(t *testing.T) {
	d := newDoor(t)
	good := api.Config{Queue: d.queue, Log: d.log, Store: d.store, Digester: d.digester, Credentials: known(api.Credential{Person: "ada", Token: api.HashToken(token)}), Status: func(context.Context) api.Status { return api.Status{} }}
	if _, err := api.New(good); err != nil {
		t.Fatalf("a good configuration: %v", err)
	}
	for name, spoil := range map[string]func(*api.Config){
		"no queue":       func(c *api.Config) { c.Queue = (*approvals.Queue)(nil) },
		"no log":         func(c *api.Config) { c.Log = nil },
		"no credentials": func(c *api.Config) { c.Credentials = nil },
		"no credential":  func(c *api.Config) { c.Credentials = known() },
		"no token":       func(c *api.Config) { c.Credentials = known(api.Credential{Person: "ada"}) },
		"nobody's token": func(c *api.Config) { c.Credentials = known(api.Credential{Token: api.HashToken(token)}) },
		"two people's token": func(c *api.Config) {
			one := c.Credentials()[0]
			c.Credentials = known(one, api.Credential{Person: "bob", Token: one.Token})
		},
		"no status": func(c *api.Config) { c.Status = nil },
	} {
		c := good
		spoil(&c)
		if _, err := api.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
