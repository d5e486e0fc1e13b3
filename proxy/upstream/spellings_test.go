package upstream_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
)

// lenient are names that resolvers which read numbers as inet_aton does take for
// addresses, and names that lead to one.
var lenient = map[string]string{
	"2130706433": "127.0.0.1", "0x7f000001": "127.0.0.1", "017700000001": "127.0.0.1", "127.1": "127.0.0.1", "127.0.1": "127.0.0.1",
	"0x7f.1": "127.0.0.1", "0177.0.0.1": "127.0.0.1", "127.0.0.01": "127.0.0.1", "0x7f.0x0.0x0.0x1": "127.0.0.1", "0": "0.0.0.0",
	"inside.example": "127.0.0.1", "2852039166": "169.254.169.254", "0xa9fea9fe": "169.254.169.254", "0251.0376.0251.0376": "169.254.169.254",
	"169.16689662": "169.254.169.254", "metadata.google.internal": "169.254.169.254", "private.example": "10.0.0.1",
}

func lenientNames() *proxytest.NameServer {
	return &proxytest.NameServer{Answer: func(name string, _ int) []netip.Addr {
		if a, ok := lenient[strings.ToLower(name)]; ok {
			return []netip.Addr{netip.MustParseAddr(a)}
		}
		return nil
	}}
}

var ownSpellings = []string{
	"127.0.0.1", "127.0.0.2", "127.255.255.254", "127.0.0.1.", "localhost", "LOCALHOST", "localhost.", "LocalHost.",
	"2130706433", "0x7f000001", "0X7F000001", "017700000001", "127.1", "127.0.1", "0x7f.1", "0177.0.0.1", "127.0.0.01", "0x7f.0x0.0x0.0x1",
	"0", "0.0.0.0", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[0::1%25lo]", "[::1%25lo]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]",
	"[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]",
	"[2002:7f00:1::]", "[2001:0:7f00:1::]", "[::ffff:0.0.0.0]", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７.0.0.1", "ⓛocalhost", "ｌocalhost",
	"127%2e0%2e0%2e1", "%31%32%37.0.0.1", "127%E3%80%820%E3%80%820%E3%80%821", "inside.example", "INSIDE.example.",
}

var metadataSpellings = []string{
	"169.254.169.254", "169.254.169.254.", "169.254.170.2", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.16689662", "[::ffff:169.254.169.254]",
	"[::ffff:a9fe:a9fe]", "[::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "[fe80::a9fe:a9fe%25lo]", "169。254。169。254",
	"metadata.google.internal", "METADATA.GOOGLE.INTERNAL.", "100.100.100.200", "192.0.0.192", "168.63.129.16", "private.example", "10.1.2.3", "[fec0::1]",
}

// TestNoSpellingOfAnAddressLeadsInside asks each door for hosts inside, under
// each name that some resolver or library takes for one: a server of this host
// that nobody named, the approvers' door, and the metadata of clouds.
func TestNoSpellingOfAnAddressLeadsInside(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(secret.Close)
	approvers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(approvers.Close)
	names := lenientNames()
	resolver := names.Resolver(t)
	g := proxytest.New(t, http.NotFoundHandler(), func(c *proxy.Config) { c.Engine = proxytest.AllowEverything(t) }, proxytest.WithNames(resolver))
	g.Server.Own(approvers.Listener.Addr())
	_, own, _ := net.SplitHostPort(approvers.Listener.Addr().String())
	_, unnamed, _ := net.SplitHostPort(secret.Listener.Addr().String())
	moved := g.Redirect("203.0.113.9:"+unnamed, nil)

	var hosts []string
	for _, h := range ownSpellings {
		hosts = append(hosts, h+":"+own, h+":"+unnamed)
	}
	for _, h := range metadataSpellings {
		hosts = append(hosts, h+":80")
	}
	insecure := &tls.Config{InsecureSkipVerify: true}
	for i, host := range hosts {
		if testing.Short() && i%5 != 0 {
			continue
		}
		t.Run(host, func(t *testing.T) {
			get := "GET /x HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
			ways := map[string]int{
				"the forward proxy": proxytest.SayRaw(t, g.Addr, "GET http://"+host+"/x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", nil),
				"over TLS":          proxytest.SayRaw(t, g.Addr, "GET https://"+host+"/x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", nil),
				"a tunnel":          inTunnel(g, host, get, nil),
				"a TLS tunnel":      inTunnel(g, host, get, insecure),
			}
			if strings.HasSuffix(host, ":"+unnamed) {
				ways["the transparent door"] = proxytest.SayRaw(t, moved, get, nil)
			}
			for way, status := range ways {
				if status != 0 && status/100 != 4 && status != http.StatusBadGateway {
					t.Errorf("%s: status %d", way, status)
				}
			}
			if n := reached.Load(); n > 0 {
				t.Fatalf("a host inside was reached %d times", n)
			}
		})
	}
	t.Run("where nothing stands in the way", func(t *testing.T) {
		tr := &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext}
		defer tr.CloseIdleConnections()
		for _, h := range []string{"127.0.0.1", "0x7f.1", "127。0。0。1", "inside.example", "[::ffff:7f00:1]"} {
			resp, err := (&http.Client{Transport: tr}).Get("http://" + h + ":" + unnamed + "/x")
			proxytest.Must(t, err)
			resp.Body.Close()
		}
		if reached.Load() != 5 {
			t.Errorf("reached %d times", reached.Load())
		}
	})
}

// inTunnel sends a request inside a CONNECT and returns the status of its
// answer, or that of a refused CONNECT.
func inTunnel(g *proxytest.Sidecar, host, request string, conf *tls.Config) int {
	g.T.Helper()
	c, err := net.Dial("tcp", g.Addr)
	proxytest.Must(g.T, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
	return proxytest.InTunnel(c, host, request, conf)
}

// TestANameThatIsReboundLeadsNowhereElse: a name has a public address when it is
// looked at, and one of this host when it is dialled.
func TestANameThatIsReboundLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	approvers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(approvers.Close)
	_, port, _ := net.SplitHostPort(approvers.Listener.Addr().String())
	for _, way := range []string{"plain", "https", "tunnel", "transparent"} {
		t.Run(way, func(t *testing.T) {
			names := &proxytest.NameServer{Answer: func(_ string, asked int) []netip.Addr {
				if asked == 0 {
					return []netip.Addr{netip.MustParseAddr("203.0.113.5")}
				}
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
			}}
			g := proxytest.New(t, http.NotFoundHandler(), func(c *proxy.Config) { c.Engine = proxytest.AllowEverything(t) }, proxytest.WithNames(names.Resolver(t)))
			g.Server.Own(approvers.Listener.Addr())
			host := "rebound.example:" + port
			get := "GET /x HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
			var status int
			switch way {
			case "plain":
				status = proxytest.SayRaw(t, g.Addr, "GET http://"+host+"/x HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n", nil)
			case "https":
				status = proxytest.SayRaw(t, g.Addr, "GET https://"+host+"/x HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n", nil)
			case "tunnel":
				status = inTunnel(g, host, get, nil)
			case "transparent":
				status = proxytest.SayRaw(t, g.Redirect("203.0.113.5:"+port, nil), get, nil)
			}
			if status != http.StatusForbidden || reached.Load() != 0 {
				t.Errorf("status %d, reached %d times", status, reached.Load())
			}
			if n := names.Times("rebound.example"); n < 2 {
				t.Errorf("the name was asked for %d times: it was not rebound", n)
			}
			if rules := g.Refusals(); !slices.Contains(rules, holdgate.RuleAddress) {
				t.Errorf("logged: %v", rules)
			}
		})
	}
}
