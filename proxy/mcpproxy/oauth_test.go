package mcpproxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/store/audit"
)

func TestMetadataOfServersAreServedForTheDoor(t *testing.T) {
	t.Parallel()
	var up string
	where := ""    // of the metadata, as the challenge names it
	resource := "" // what they are for
	var seen []string
	up = proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case where:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"resource": "`+resource+`", "authorization_servers":["https://as.example"] ,"x":1.50}`)
		case "/tools/mcp":
			w.Header().Set("WWW-Authenticate", `Bearer realm="x", resource_metadata="`+up+where+`", scope="a"`)
			w.WriteHeader(401)
		default:
			w.WriteHeader(404)
		}
	}))
	for _, tt := range []struct {
		name, where, resource string
		challenged            bool
		own                   bool // the door's URL stands in the place of the resource
	}{
		{"where the challenge says", "/hidden/metadata", up + "/tools/mcp", true, true},
		{"where clients look", mcpproxy.ResourceMetadataPath + "/tools/mcp", up + "/tools/mcp", false, true},
		{"where clients look next", mcpproxy.ResourceMetadataPath, up + "/tools", false, true},
		{"for another host", "/hidden/metadata", "https://bank.example/tools/mcp", true, false},
		{"for another path", "/hidden/metadata", up + "/tools/mcp-other", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			where, resource, seen = tt.where, tt.resource, nil
			g := proxytest.NewTo(t, nil, map[string]string{"files": up + "/tools/mcp"})
			door := g.URL + "/mcp/files"
			at := g.URL + mcpproxy.ResourceMetadataPath + "/mcp/files"
			if tt.challenged {
				resp, err := g.Client.Post(door, "application/json", strings.NewReader(proxytest.ToolCall("1", "x")))
				proxytest.Must(t, err)
				defer resp.Body.Close()
				if want := `Bearer realm="x", resource_metadata="` + at + `", scope="a"`; resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != want {
					t.Fatalf("status %d, %v", resp.StatusCode, resp.Header)
				}
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
			proxytest.Must(t, err)
			req.Header.Set("Authorization", "Bearer secret")
			resp, err := g.Client.Do(req)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			want := strings.Replace(`{"resource": "R", "authorization_servers":["https://as.example"] ,"x":1.50}`, "R", tt.resource, 1)
			if tt.own {
				want = strings.Replace(want, tt.resource, door, 1)
			}
			if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 200 || body != want {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			if strings.Contains(strings.Join(seen, "\n"), "secret") {
				t.Errorf("a token was sent for metadata: %q", seen)
			}
			if n := len(g.Entries(audit.TypeDecision)); n == 0 {
				t.Error("policy was not asked")
			}
		})
	}
}

func TestAServerOfTheFirstRevisionWithOAuthNamesItself(t *testing.T) {
	t.Parallel()
	up := proxytest.NewUpstream(t, http.NotFoundHandler())
	g := proxytest.NewTo(t, nil, map[string]string{"old": up + "/mcp"})
	for _, path := range []string{"/mcp/old", "/mcp/other"} {
		resp, err := g.Client.Get(g.URL + mcpproxy.ResourceMetadataPath + path)
		proxytest.Must(t, err)
		defer resp.Body.Close()
		body := proxytest.ReadAll(t, resp.Body)
		if ok := resp.StatusCode == 200 && body == `{"resource":"`+g.URL+`/mcp/old","authorization_servers":["`+up+`"]}`; ok != (path == "/mcp/old") {
			t.Errorf("%s: status %d: %s", path, resp.StatusCode, body)
		}
	}
}
