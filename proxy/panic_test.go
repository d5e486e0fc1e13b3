package proxy_test

import (
	"net/http"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

func TestAPanicCostsOneRequest(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g, up := proxytest.NewTLSWith(t, handling(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/broken" {
				w = &spy{w, func([]byte) error { panic("a mistake of ours") }}
			}
			h.ServeHTTP(w, r)
		})
	}), proxytest.Answer(&seen, 200, `{}`))
	for _, h2 := range []bool{false, true} {
		client := g.Proxied()
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = h2
		if resp, err := client.Get(up + "/broken"); err == nil {
			resp.Body.Close()
			t.Errorf("HTTP/2 %t: a request that failed inside was answered with %d", h2, resp.StatusCode)
		}
		resp, err := client.Get(up + "/x")
		proxytest.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("HTTP/2 %t: status %d after a panic", h2, resp.StatusCode)
		}
	}
}
