package upstream_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"golang.org/x/net/websocket"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/store/audit"
)

// upgradePolicy decides on what changes the protocol by its path.
const upgradePolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.plain"}

decision := {"action": "deny", "rule": "test.deny", "reason": "no sockets there"} if {
	input.http.upgrade == "websocket"
	contains(input.http.path, "forbidden")
} else := {"action": "hold", "rule": "test.hold", "reason": "a socket"} if {
	input.http.upgrade == "websocket"
	contains(input.http.path, "gated")
} else := {"action": "allow", "rule": "test.socket"} if {
	input.http.upgrade == "websocket"
}
`

// echoes is a server of WebSockets on a host that serves no models.
func echoes(t *testing.T, secure bool) (url string, opts proxytest.Option) {
	t.Helper()
	up := httptest.NewUnstartedServer(websocket.Handler(func(c *websocket.Conn) {
		var words string
		for websocket.Message.Receive(c, &words) == nil && websocket.Message.Send(c, words) == nil {
		}
	}))
	up.EnableHTTP2 = secure
	opts = func(*proxy.Config) {}
	if secure {
		up.StartTLS()
		opts = func(c *proxy.Config) {
			c.Network.RootCAs = up.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		}
	} else {
		up.Start()
	}
	t.Cleanup(up.Close)
	return up.URL, opts
}

// socket opens a WebSocket through the forward proxy.
func socket(g *proxytest.Sidecar, up, path string) (*websocket.Conn, error) {
	g.T.Helper()
	host := strings.SplitN(up, "://", 2)[1]
	var c net.Conn
	c, resp := g.Tunnel(host)
	if resp.StatusCode != http.StatusOK {
		g.T.Fatalf("CONNECT: status %d", resp.StatusCode)
	}
	proxytest.Must(g.T, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	if strings.HasPrefix(up, "https://") {
		c = tls.Client(c, g.Trusting(route.HostOnly(host)))
	}
	conf, err := websocket.NewConfig(strings.Replace(up, "http", "ws", 1)+path, "http://a.example")
	proxytest.Must(g.T, err)
	return websocket.NewClient(conf, c)
}

// sockets is a gate whose MCP table names the upstream's address: it is loopback,
// and no host that serves models.
func sockets(t *testing.T, secure bool) (*proxytest.Sidecar, string) {
	up, trust := echoes(t, secure)
	g := proxytest.NewTo(t, nil, map[string]string{"named": up + "/mcp"}, proxytest.WithPolicy(t, upgradePolicy), trust)
	return g, up
}

func says2(t *testing.T, c *websocket.Conn, words string) {
	t.Helper()
	proxytest.Must(t, websocket.Message.Send(c, words))
	var got string
	proxytest.Must(t, websocket.Message.Receive(c, &got))
	if got != words {
		t.Errorf("got %.100q", got)
	}
}

func TestAWebSocketThatPolicyAllowsPasses(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "over TLS": true} {
		t.Run(name, func(t *testing.T) {
			g, up := sockets(t, secure)
			c, err := socket(g, up, "/echo")
			proxytest.Must(t, err)
			defer c.Close()
			says2(t, c, "one")
			says2(t, c, strings.Repeat("two", 5_000))
			e := g.Entries(audit.TypeDecision)
			if len(e) != 1 || e[0].Decision.Rule != "test.socket" || !strings.Contains(e[0].Note, upstream.UnseenFrames) {
				t.Errorf("logged: %+v", e)
			}
		})
	}
}

func TestAWebSocketThatPolicyRefusesIsNotOpened(t *testing.T) {
	t.Parallel()
	g, up := sockets(t, false)
	if c, err := socket(g, up, "/forbidden"); err == nil {
		c.Close()
		t.Fatal("it was opened")
	}
	if e := g.Entries(audit.TypeDecision); len(e) != 1 || e[0].Decision.Rule != "test.deny" {
		t.Errorf("logged: %+v", e)
	}
}

func TestAHeldWebSocketOpensOnceItIsApproved(t *testing.T) {
	t.Parallel()
	g, up := sockets(t, true)
	opened := make(chan error, 1)
	go func() {
		c, err := socket(g, up, "/gated")
		if err == nil {
			defer c.Close()
			if err = websocket.Message.Send(c, "x"); err == nil {
				var got string
				err = websocket.Message.Receive(c, &got)
			}
		}
		opened <- err
	}()
	r := g.Pending(1)[0]
	select {
	case err := <-opened:
		t.Fatalf("it was opened before it was approved: %v", err)
	default:
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	proxytest.Must(t, <-opened)
}

// What people stop ends, and so does what outlives the server.
func TestAWebSocketEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	g, up := sockets(t, false)
	c, err := socket(g, up, "/echo")
	proxytest.Must(t, err)
	defer c.Close()
	says2(t, c, "one")
	g.Intervene(holdgate.AgentDefault, "stop")
	var got string
	if err := websocket.Message.Receive(c, &got); err == nil {
		t.Errorf("a stopped agent's socket brought %q", got)
	}
}

// Another protocol could be HTTP again, whose requests nobody would see.
func TestOtherUpgradesGoOnAsPlainHTTP(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Mu.Lock()
		seen.Bodies = append(seen.Bodies, strings.Join(r.Header["Upgrade"], ",")+strings.Join(r.Header["Connection"], ","))
		seen.Mu.Unlock()
	}))
	g := proxytest.NewTo(t, nil, map[string]string{"named": up + "/mcp"}, proxytest.WithPolicy(t, upgradePolicy))
	host := strings.TrimPrefix(up, "http://")
	for _, headers := range []string{
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
		"Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n",
		"Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n",
		"Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n",
		"Upgrade: websocket\r\n",
		"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n",
	} {
		before := len(seen.All())
		body := ""
		if strings.Contains(headers, "Content-Length") {
			body = "x"
		}
		resp, _ := g.SendRaw("GET " + up + "/x HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n" + body)
		if got := seen.All()[before:]; resp.StatusCode != 200 || len(got) != 1 || got[0] != "" {
			t.Errorf("%q: status %d, the upstream got %q", headers, resp.StatusCode, got)
		}
	}
	for _, e := range g.Entries(audit.TypeDecision) {
		if e.Decision.Rule != "test.plain" {
			t.Errorf("judged by %s", e.Decision.Rule)
		}
	}
}

// TestAnUpstreamThatChangesTheProtocolUnasked would have the client's next
// request read as something else.
func TestAnUpstreamThatChangesTheProtocolUnasked(t *testing.T) {
	t.Parallel()
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		to := "Upgrade: x\r\n"
		if r.URL.Path == "/unsaid" {
			to = ""
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"+to+"\r\nHTTP/1.1 200 OK\r\n\r\n")
	}))
	g := proxytest.NewTo(t, nil, map[string]string{"named": up + "/mcp"}, proxytest.WithPolicy(t, upgradePolicy))
	host := strings.TrimPrefix(up, "http://")
	for headers, path := range map[string]string{"": "/x", "X-Plain: 1\r\n": "/unsaid", "Connection: Upgrade\r\nUpgrade: websocket\r\n": "/x"} {
		if resp, body := g.SendRaw("GET " + up + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n"); resp.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d: %s", resp.StatusCode, body)
		}
	}
}
