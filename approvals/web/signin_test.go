package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/web"
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
		if l, err := h.page.Link(api.Credential{Person: "ada", Token: api.HashToken("ada")}, path); err == nil {
			t.Errorf("a link to %q: %s", path, l.URL)
		}
	}
}

// Whoever was on the way to a request, and pastes the end of a link, lands on the request;
// no form leads away from the page.
func TestSigningInGoesOnToWhereOneWanted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{})
	request := "/requests/" + r.ID
	for _, tt := range []struct{ link, back, want string }{
		{"/", request, request},
		{"/agents", request, "/agents"}, // a link of its own says where to
		{"/", "", "/"},
		{"/", "//evil.example/", "/"},
		{"/", "https://evil.example/", "/"},
		{"/", `/\evil.example`, "/"},
	} {
		b := &browser{house: h}
		if _, text, _ := b.do(http.MethodGet, request, nil); !strings.Contains(text, `name="back" value="`+request+`"`) {
			t.Fatalf("the door has forgotten where to:\n%s", text)
		}
		if _, text, _ := b.do(http.MethodPost, "/open", url.Values{"code": {"wrong"}, "back": {request}}); !strings.Contains(text, `name="back" value="`+request+`"`) {
			t.Errorf("after a wrong code it has forgotten where to:\n%s", text)
		}
		_, code, _ := strings.Cut(h.link("ada", tt.link), "#")
		status, _, head := b.do(http.MethodPost, "/open", url.Values{"code": {code}, "back": {tt.back}})
		if status != http.StatusSeeOther || head.Get("Location") != tt.want {
			t.Errorf("%+v: %d to %q", tt, status, head.Get("Location"))
		}
	}
}

// Whoever signs in without end ends nobody else's sign-ins and links.
func TestNobodysSignInsEndAnothers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	bob := h.signIn("bob")
	_, waits, _ := strings.Cut(h.link("bob", "/agents"), "#")
	var first, last *browser
	for i := range 101 {
		if last = h.signIn("ada"); i == 0 {
			first = last
		}
		h.link("ada", "/")
	}
	bob.get("/")
	if status, _, _ := (&browser{house: h}).do(http.MethodPost, "/open", url.Values{"code": {waits}}); status != http.StatusSeeOther {
		t.Errorf("bob's link: %d", status)
	}
	last.get("/")
	if status, _, _ := first.do(http.MethodGet, "/", nil); status != http.StatusUnauthorized {
		t.Errorf("the oldest of as many as one may have: %d", status)
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
	approve := url.Values{"digest": {string(r.Call.Digest)}, "decision": {"approve"}, "sure": {"1"}}
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

// A browser at another name of the port is told how to come to a request, by a command
// that holds nothing but what can be a request's id.
func TestThePortSaysHowARequestIsOpened(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := &browser{house: h}
	_, port, _ := strings.Cut(strings.TrimPrefix(h.http.URL, "http://"), ":")
	for path, want := range map[string]string{
		"/":                                "  holdgate open\n",
		"/requests/k7f2m9-xqbtr4-c3vwz8":   "  holdgate open k7f2m9-xqbtr4-c3vwz8\n",
		"/requests/k7f2m9/edit":            "  holdgate open\n",
		"/requests/--print":                "  holdgate open\n",
		"/requests/x;reboot":               "  holdgate open\n",
		"/requests/x%0Areboot":             "  holdgate open\n",
		"/requests/" + longer(64):          "  holdgate open\n",
		"/requests/" + longer(63):          "  holdgate open " + longer(63) + "\n",
		"/requests/%E2%80%AEk7f2m9-xqbtr4": "  holdgate open\n",
	} {
		status, text, head := b.do(http.MethodGet, path, nil, "Host", "127.0.0.1:"+port, "Accept", "text/html")
		if status != http.StatusOK || !strings.Contains(text, want) || head.Get("Content-Type") != "text/plain; charset=utf-8" || head.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d\n%s", path, status, text)
		}
	}
}

// longer is a text of one letter more than n.
func longer(n int) string { return strings.Repeat("a", n+1) }

// The page's name is what keeps its cookie from other ports: who does not know it, and
// has no token, is not told it.
func TestNobodyIsToldThePagesName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{})
	b := &browser{house: h}
	_, port, _ := strings.Cut(strings.TrimPrefix(h.http.URL, "http://"), ":")
	paths := []string{"/", "/requests/" + r.ID, "/requests/r1", "/requests/" + r.ID + "/edit", "/requests/", "//requests/" + r.ID, "/open", "/open/provider", "/open/provider/back", "/static/x",
		"/agents", "/people", "/live", "/out", "/v1/links", "/v1/link", "/v1/status", "/v1/approvals", "/healthz", "/readyz", "/metrics", "/none"}
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port, "localhost", "evil.test:" + port, "hg-other.localhost:" + port, ""} {
		for _, path := range paths {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
				for _, accept := range []string{"text/html", "application/json"} {
					_, text, head := b.do(method, path, nil, "Host", host, "Accept", accept)
					if strings.Contains(text+fmt.Sprint(head), name) {
						t.Errorf("%s %s of %q (%s): %v\n%s", method, path, host, accept, head, text)
					}
				}
			}
		}
	}
}

// A mirror is a provider that brings everybody back to where they wanted to go.
type mirror struct{ path string }

func (m *mirror) Begin(_ context.Context, path string) (to, state string, err error) {
	m.path = path
	return "https://provider.example/", "state", nil
}

func (m *mirror) Finish(context.Context, url.Values, string) (api.Credential, string, error) {
	return api.Credential{Person: "ada", Token: api.HashToken("ada")}, m.path, nil
}

func (m *mirror) Leave(context.Context, api.Credential) {}

// After a sign-in at the provider a browser goes on to the page, whatever a link says.
func TestASignInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	page, err := web.New(web.Config{API: h.door, People: h.queue.People, Name: name, Login: &mirror{}, Address: func() string { return h.http.Listener.Addr().String() }})
	must(t, err)
	port := httptest.NewServer(page)
	t.Cleanup(port.Close)
	b := &browser{house: &house{t: t, http: port}}
	for back, want := range map[string]string{
		"":                             "/",
		"/people":                      "/people",
		"/requests/r1?full=1":          "/requests/r1?full=1",
		"/history?rule=a%2Fb&q=%2F%2F": "/history?rule=a%2Fb&q=%2F%2F",
		"/sessions/a%2Fb?agent=x":      "/sessions/a%2Fb?agent=x",
		"//evil.example/":              "/evil.example/",
		"/%2F%2Fevil.example":          "/%2F%2Fevil.example",
		"/%2Fevil.example":             "/%2Fevil.example",
		"/%5Cevil.example":             "/%5Cevil.example",
		`/\evil.example`:               "/evil.example",
		`\/\evil.example`:              "/evil.example",
		"/%09/evil.example":            "/%09/evil.example",
		"/\t/evil.example":             "/",
		"/\n/evil.example":             "/",
		"https://evil.example/":        "/https://evil.example/",
		"javascript:alert(1)":          "/javascript:alert(1)",
		"/%zz":                         "/",
	} {
		b.do(http.MethodGet, "/open/provider?back="+url.QueryEscape(back), nil)
		status, _, head := b.do(http.MethodGet, "/open/provider/back?state=state", nil, "Cookie", "holdgate-state=state")
		if got := head.Get("Refresh"); status != http.StatusOK || got != "0; url="+want {
			t.Errorf("%q: %d, %q, want %q", back, status, got, want)
		}
	}
}
