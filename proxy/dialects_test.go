package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

func TestAnthropicsModelsOnVertexAreGated(t *testing.T) {
	t.Parallel()
	const road = "/up/test/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:rawPredict"
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, strings.Replace(proxytest.MessageWithCall, `"x"`, `"forbidden"`, 1)))
	if status, body := g.Send(g.Client, http.MethodPost, g.URL+road, `{"anthropic_version":"vertex-2023-10-16","messages":[]}`, proxytest.TypeJSON); strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := g.Send(g.Client, http.MethodPost, g.URL+road, `{"messages":[]}`, proxytest.TypeJSON); status != 400 || len(seen.All()) != 1 || !strings.Contains(body, "anthropic_version") {
		t.Errorf("another model's body: status %d: %s", status, body)
	}
}
