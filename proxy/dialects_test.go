package proxy_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAnthropicsModelsOnVertexAreGated(t *testing.T) {
	t.Parallel()
	const road = "/up/test/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:rawPredict"
	var seen counter
	g := newGate(t, plainly(&seen, 200, strings.Replace(messageWithCall, `"x"`, `"forbidden"`, 1)))
	if status, body := g.send(g.client, http.MethodPost, g.url+road, `{"anthropic_version":"vertex-2023-10-16","messages":[]}`, typeJSON); strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := g.send(g.client, http.MethodPost, g.url+road, `{"messages":[]}`, typeJSON); status != 400 || len(seen.all()) != 1 || !strings.Contains(body, "anthropic_version") {
		t.Errorf("another model's body: status %d: %s", status, body)
	}
}
