package mcpproxy

import (
	"net/url"
	"testing"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
)

func TestMetadataAreForAServerOrNot(t *testing.T) {
	server := &url.URL{Scheme: "https", Host: "host.example:443", Path: "/a/b/"}
	for resource, want := range map[string]bool{
		"https://host.example/a/b": true, "https://HOST.example/a/": true, "https://host.example": true, "https://host.example/a/b/../..": true,
		"http://host.example/a/b": false, "https://host.example:444/a/b": false, "https://host.example/a/bc": false,
		"https://host.example/a/b/c": false, "https://evil.example/a/b": false, "": false, "%": false,
	} {
		if got := isFor(resource, server); got != want {
			t.Errorf("%q: %v", resource, got)
		}
	}
}

// Only servers that the configuration names, and those on standard streams, have tools
// that are remembered: hosts that agents name would be too many.
func TestHostsThatAgentsNameTeachNothing(t *testing.T) {
	m := &relay{exchange: &exchange{Exchange: &steps.Exchange{Target: route.Target{Name: "evil.example"}}, p: &Proxy{}}} // without a queue that could learn
	list := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"remove","description":"Removes.","inputSchema":{"type":"object"}}]}}`
	if err := m.takeTools(t.Context(), []byte(list)); err != nil {
		t.Error(err)
	}
}
