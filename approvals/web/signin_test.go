package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
)

func TestALinkWorksOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, code, _ := strings.Cut(h.link("ada", "/agents"), "#")
	b := &browser{house: h}
	if status, _, _ := b.do(http.MethodGet, "/agents", nil); status != http.StatusUnauthorized {
		t.Errorf("before signing in: %d", status)
	}
	status, _, head := b.do(http.MethodPost, "/open", url.Values{"code": {code}})
	if status != http.StatusSeeOther || head.Get("Location") != "/agents" {
		t.Fatalf("signing in: %d to %q", status, head.Get("Location"))
	}
	if c := head.Get("Set-Cookie"); !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") || strings.Contains(c, "Domain") {
		t.Errorf("the cookie is %q", c)
	}
	if status, text, _ := b.do(http.MethodPost, "/open", url.Values{"code": {code}}); status != http.StatusForbidden || !strings.Contains(text, "used already") {
		t.Errorf("the link once more: %d", status)
	}
	for _, path := range []string{"//evil.example/", "https://evil.example/", "agents", `/\evil.example`} {
		if l, err := h.page.Link(api.Credential{Person: "ada", Token: api.HashToken("ada")}, path); err == nil && !strings.HasPrefix(path, "/\\") {
			t.Errorf("a link to %q: %s", path, l.URL)
		}
	}
}

// A token that was taken back, and a sign-in that was ended, are worth nothing.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{})
	one, two := h.signIn("bob"), h.signIn("bob")
	if text := one.get("/people"); strings.Count(text, "/close") != 2 {
		t.Errorf("not two sign-ins:\n%s", text)
	}
	one.do(http.MethodPost, "/out", url.Values{})
	if status, _, _ := one.do(http.MethodGet, "/", nil); status != http.StatusUnauthorized {
		t.Errorf("signed out: %d", status)
	}
	two.get("/")
	h.known.Store(&[]api.Credential{{Person: "ada", Token: api.HashToken("ada")}})
	if status, _, now := two.answer(r, "decision", "approve"); status != http.StatusUnauthorized || now.Status != holdgate.StatusPending {
		t.Errorf("the token taken back: %d, %s", status, now.Status)
	}
}

// Neither origin serves the other's visitors, and no other site's page does anything.
func TestOrigins(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{})
	b := h.signIn("ada")
	_, port, _ := strings.Cut(strings.TrimPrefix(h.http.URL, "http://"), ":")
	approve := url.Values{"digest": {string(r.Call.Digest)}, "decision": {"approve"}}
	tests := []struct {
		name, method, path string
		form               url.Values
		headers            []string
		status             int
	}{
		{"the API at the page's host", http.MethodGet, "/v1/approvals", nil, nil, 404},
		{"the page at the API's host", http.MethodGet, "/requests/" + r.ID, nil, []string{"Host", "localhost:" + port}, 401},
		{"the API with the cookie", http.MethodGet, "/v1/approvals", nil, []string{"Host", "localhost:" + port}, 401},
		{"another name of the machine", http.MethodGet, "/", nil, []string{"Host", "evil.example:" + port}, 403},
		{"another name below localhost", http.MethodGet, "/", nil, []string{"Host", "hg-other.localhost:" + port}, 403},
		{"a form of another site", http.MethodPost, "/requests/" + r.ID, approve, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a form of the same machine's other server", http.MethodPost, "/requests/" + r.ID, approve, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a form of another origin", http.MethodPost, "/requests/" + r.ID, approve, []string{"Sec-Fetch-Site", "", "Origin", "http://localhost:3000"}, 403},
		{"a page for a browser that has lost its way", http.MethodGet, "/", nil, []string{"Host", "localhost:" + port, "Accept", "text/html"}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if status, text, _ := b.do(tt.method, tt.path, tt.form, tt.headers...); status != tt.status {
				t.Errorf("got %d, want %d\n%s", status, tt.status, text)
			}
		})
	}
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusPending {
		t.Errorf("it is %s", now.Status)
	}
	_, _, head := b.do(http.MethodGet, "/", nil)
	for k, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if !strings.Contains(head.Get(k), want) {
			t.Errorf("%s is %q", k, head.Get(k))
		}
	}
	if strings.Contains(head.Get("Content-Security-Policy"), "unsafe") {
		t.Error("scripts in the page would run")
	}
}

// The approvers' port at this machine's own names leads to a request's page: nobody has
// to know the page's name.
func TestThePortLeadsToARequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := &browser{house: h}
	_, port, _ := strings.Cut(strings.TrimPrefix(h.http.URL, "http://"), ":")
	for host, want := range map[string]string{
		"127.0.0.1:" + port: "http://" + name + ".localhost:" + port + "/requests/r1",
		"localhost:" + port: "http://" + name + ".localhost:" + port + "/requests/r1",
		"evil.test:" + port: "",
	} {
		status, text, head := b.do(http.MethodGet, "/requests/r1", nil, "Host", host, "Accept", "text/html")
		if got := head.Get("Location"); got != want || (status == http.StatusSeeOther) != (want != "") || strings.Contains(text, name) && want == "" {
			t.Errorf("%s: %d to %q, want %q", host, status, got, want)
		}
	}
}
