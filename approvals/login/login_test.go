package login

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// newProvider is a provider that says what it can do, and no more.
func newProvider(t *testing.T) *Provider {
	t.Helper()
	var at *httptest.Server
	at = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": at.URL, "authorization_endpoint": at.URL + "/auth", "token_endpoint": at.URL + "/token", "jwks_uri": at.URL + "/keys"})
	}))
	t.Cleanup(at.Close)
	return New(Config{Issuer: at.URL, ClientID: "holdgate", NameClaim: "email", GroupsClaim: "groups", Redirect: func() string { return "http://page.localhost/back" }})
}

// Many sign-ins that are begun cost the oldest, and no others: nobody can end all that
// are under way.
func TestManySignInsEndTheOldestAlone(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	states := make([]string, maxBegun+2)
	for i := range states {
		var err error
		if _, states[i], err = p.Begin(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
	}
	for i, state := range states {
		if i > 3 && i < len(states)-1 {
			continue
		}
		_, _, err := p.Finish(t.Context(), url.Values{"state": {state}, "code": {"c"}}, state)
		if err == nil || strings.Contains(err.Error(), "not begun here") != (i < 2) {
			t.Errorf("sign-in %d: %v", i, err)
		}
	}
}
