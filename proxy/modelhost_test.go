package proxy_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/store/audit"
)

// Any host can take what is written as a request to a model: the shipped policy asks about
// those that nobody has named, whether a key is shown or not.
func TestAModelRequestToAHostThatNobodyNamedIsHeld(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) {
		c.Network.ProxyLooksUp = true
		c.Network.ProxyFor = func(*url.URL) *url.URL { return &url.URL{Scheme: "http", Host: "127.0.0.1:9"} }
		c.Limits.Budget = time.Nanosecond // who waits is told at once to ask again
	})
	for _, c := range []struct {
		address, key string
		held         int // after it
		status       int
	}{
		{"http://collect.example/v1/messages", "", 1, http.StatusServiceUnavailable},
		{"http://evilopenrouter.ai/v1/chat/completions", "Bearer theirs", 2, http.StatusServiceUnavailable},
		{"http://[2606:4700::1]/v1/messages", "", 3, http.StatusServiceUnavailable},
		{"http://api.openai.com/v1/chat/completions", "", 3, http.StatusBadGateway}, // for the proxy does not answer
		{"http://127.0.0.1:9/v1/messages", "", 3, http.StatusForbidden},             // an address that nobody is sent to
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.address, strings.NewReader(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"secret"}]}`))
		proxytest.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		if c.key != "" {
			r.Header.Set("Authorization", c.key)
		}
		resp, err := g.Proxied().Do(r)
		proxytest.Must(t, err)
		if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != c.status {
			t.Fatalf("%s: status %d, want %d: %s", c.address, resp.StatusCode, c.status, body)
		}
		resp.Body.Close()
		for _, r := range g.Pending(c.held) {
			if r.Rule != "model.host" {
				t.Errorf("asked by %s", r.Rule)
			}
		}
	}
	for _, e := range g.Entries(audit.TypeDecision) {
		if e.Call.Model == "" || len(e.Seen) > 0 && !strings.Contains(string(e.Seen), `"host":`) {
			t.Errorf("the log does not name the host: %+v", e)
		}
	}
}
