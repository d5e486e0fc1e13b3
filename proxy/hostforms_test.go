package proxy_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

// A label that is empty is no label (RFC 1035, section 2.3.1), and some programs take it
// away. A zone is dialled past, and other characters end a name for some programs: neither
// may be what a host is known by.
func TestAHostThatProgramsReadInTwoWaysIsRefused(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, nil, proxytest.WithPolicy(t, `package holdgate
decision := {"action": "allow", "rule": "all", "reason": "all"}
`), func(c *proxy.Config) {
		c.Network.ProxyLooksUp = true
		c.Network.ProxyFor = func(*url.URL) *url.URL { return &url.URL{Scheme: "http", Host: "127.0.0.1:9"} }
	})
	for _, host := range []string{"127.0.0.1...", "localhost..", "a..invalid", ".invalid",
		"[2606:4700::1%25.api.openai.com]", "[2606:4700::1%25eth0]", "evil.invalid,.api.openai.com", "evil.invalid;.api.openai.com", "evil.invalid*.api.openai.com", "(evil.invalid).api.openai.com"} {
		c, err := net.Dial("tcp", g.Addr)
		proxytest.Must(t, err)
		fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		proxytest.Must(t, err)
		resp.Body.Close()
		c.Close()
		if resp.StatusCode != 400 {
			t.Errorf("%s: status %d, want 400", host, resp.StatusCode)
		}
		if c, resp := g.Tunnel(host + ":443"); resp.StatusCode != 400 {
			t.Errorf("CONNECT %s: status %d, want 400", host, resp.StatusCode)
			c.Close()
		}
	}
}

// An authority may end in a colon and no port (RFC 3986, section 3.2.3), and a
// port may begin with zeros: it is the same host still.
func TestAHostIsTheSameHoweverItsPortIsWritten(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, map[string]string{"files": "http://mcp.invalid/mcp"}, proxytest.WithPolicy(t, `package holdgate
decision := {"action": "deny", "rule": "mcp", "reason": "mcp"} if input.kind == "mcp_request"
decision := {"action": "deny", "rule": "host", "reason": "host"} if input.http.host == "evil.invalid"
`))
	for _, tt := range []struct{ authority, path, rule string }{
		{"evil.invalid", "/", "host"}, {"evil.invalid:", "/", "host"}, {"evil.invalid:80", "/", "host"}, {"evil.invalid:0080", "/", "host"},
		{"EVIL.invalid", "/", "host"}, {"evil.invalid.", "/", "host"}, {"evil.invalid.:80", "/", "host"},
		{"mcp.invalid", "/mcp", "mcp"}, {"mcp.invalid:", "/mcp", "mcp"}, {"mcp.invalid:0080", "/mcp", "mcp"},
	} {
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		for _, way := range []string{"absolute form", "tunnel"} {
			refused := len(g.Refusals())
			before := len(g.Entries(audit.TypeDecision))
			c, err := net.Dial("tcp", g.Addr)
			proxytest.Must(t, err)
			start := "POST http://" + tt.authority + tt.path
			if way == "tunnel" {
				at := tt.authority
				if _, _, err := net.SplitHostPort(at); err != nil {
					at += ":80"
				}
				var resp *http.Response
				if c, resp = g.Tunnel(at); resp.StatusCode != 200 {
					if tt.authority[len(tt.authority)-1] != ':' || len(g.Refusals()) != refused+1 {
						t.Errorf("CONNECT %s: status %d", at, resp.StatusCode)
					}
					c.Close()
					continue
				}
				start = "POST " + tt.path
			}
			fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", start, tt.authority, len(body), body)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			proxytest.Must(t, err)
			resp.Body.Close()
			c.Close()
			decided := g.Entries(audit.TypeDecision)[before:]
			if len(decided) != 1 || decided[0].Decision.Action != holdgate.Deny || decided[0].Decision.Rule != tt.rule {
				t.Errorf("%s by %s: status %d, decided %+v, want a denial by the rule %s", tt.authority, way, resp.StatusCode, decided, tt.rule)
			}
		}
	}
}
