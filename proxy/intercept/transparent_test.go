package intercept_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// synthetic is the address that a name got.
func synthetic(t *testing.T, n *intercept.Names, name string) string {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	proxytest.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx, pc) }()
	defer func() { cancel(); proxytest.Must(t, <-done) }()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	addrs, err := r.LookupNetIP(ctx, "ip4", name+".")
	proxytest.Must(t, err)
	return addrs[0].Unmap().String()
}

func TestWhereARedirectedConnectionLeads(t *testing.T) {
	t.Parallel()
	const get = "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n"
	insecure := func(sni string) *tls.Config { return &tls.Config{ServerName: sni, InsecureSkipVerify: true} }
	tests := []struct {
		name, dst, asked string // asked: a name for whose address it goes
		request          string
		tls              *tls.Config
		status           int
		judged, refused  string
	}{
		{name: "plain, by its Host", dst: "203.0.113.9:80", request: fmt.Sprintf(get, "a.example"), status: 403, judged: "GET a.example/x"},
		{name: "plain, by the name that was asked for", asked: "A.Example.", dst: ":80", request: fmt.Sprintf(get, "a.example"), status: 403, judged: "GET a.example/x"},
		{name: "plain on another port", dst: "203.0.113.9:8080", request: fmt.Sprintf(get, "a.example:8080"), status: 403, judged: "GET a.example:8080/x"},
		{name: "plain with the Host of another port", dst: "203.0.113.9:8080", request: fmt.Sprintf(get, "a.example"), status: 421, refused: "the request is for a.example"},
		{name: "plain without a Host", dst: "203.0.113.9:80", request: "GET /x HTTP/1.0\r\n\r\n", status: 421, refused: "the tunnel leads to 203.0.113.9:80"},
		{name: "plain, the name and the Host differ", asked: "a.example", dst: ":80", request: fmt.Sprintf(get, "b.example"), status: 421, refused: "the request is for b.example"},
		{name: "absolute form to another host", asked: "a.example", dst: ":80", request: "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", status: 400, refused: "its own host only"},
		{name: "a CONNECT inside", dst: "203.0.113.9:80", request: "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", status: 400, refused: "its own host only"},
		{name: "TLS by its server name", dst: "203.0.113.9:443", tls: insecure("a.example"), request: fmt.Sprintf(get, "a.example"), status: 403, judged: "GET a.example/x"},
		{name: "TLS, and the Host of another", dst: "203.0.113.9:443", tls: insecure("a.example"), request: fmt.Sprintf(get, "b.example"), status: 421, refused: "the request is for b.example"},
		{name: "TLS without a server name, by the name asked for", asked: "a.example", dst: ":443", tls: insecure(""), request: fmt.Sprintf(get, "a.example"), status: 403, judged: "GET a.example/x"},
		{name: "TLS without any name", dst: "203.0.113.9:443", tls: insecure(""), request: fmt.Sprintf(get, "203.0.113.9"), status: 403, judged: "GET 203.0.113.9/x"},
		{name: "TLS without any name, and a Host", dst: "203.0.113.9:443", tls: insecure(""), request: fmt.Sprintf(get, "a.example"), status: 421, refused: "the request is for a.example"},
		{name: "TLS in the name of another", asked: "a.example", dst: ":443", tls: insecure("b.example"), request: fmt.Sprintf(get, "b.example"), refused: "the connection leads to a.example and its TLS names b.example"},
		{name: "IPv6", dst: "[2001:db8::1]:80", request: fmt.Sprintf(get, "[2001:db8::1]"), status: 403, judged: "GET [2001:db8::1]/x"},
		{name: "an address that no name has", dst: "198.18.77.1:80", request: fmt.Sprintf(get, "a.example"), refused: "no address of a name"},
		{name: "a made-up address, version 6", dst: "[2001:2::4000]:80", request: fmt.Sprintf(get, "a.example"), refused: "no address of a name"},
		{name: "SSH", dst: "203.0.113.9:22", request: "SSH-2.0-OpenSSH_9.9\r\n", refused: "neither TLS nor HTTP"},
		{name: "binary", dst: "203.0.113.9:5432", request: "\x00\x00\x00\x08\x04\xd2\x16\x2f", refused: "neither TLS nor HTTP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := proxytest.New(t, http.NotFoundHandler(), proxytest.WithPolicy(t, proxytest.DenyAll))
			names := &intercept.Names{}
			dst := tt.dst
			if tt.asked != "" {
				dst = synthetic(t, names, route.LowerHost(tt.asked)) + dst
			}
			if status := proxytest.SayRaw(t, g.Redirect(dst, names), tt.request, tt.tls); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if tt.judged != "" {
				e := g.Eventually(audit.TypeDecision, 1)[0]
				if e.Call.HTTP != tt.judged || e.Door != "transparent" {
					t.Errorf("judged: %s by the door %s", e.Call.HTTP, e.Door)
				}
			}
			if tt.refused != "" {
				e := g.Eventually(audit.TypeRefused, 1)[0]
				if !strings.Contains(e.Note, tt.refused) || e.Door != "transparent" {
					t.Errorf("refused: %s by the door %s", e.Note, e.Door)
				}
			}
		})
	}
}

// A connection that does not name such a host itself is looked into.
func TestAHostIsPassedOnByItsNameInTLSAlone(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.NotFoundHandler(), proxytest.WithPolicy(t, proxytest.DenyAll), func(c *proxy.Config) { c.PassThrough = []intercept.PassThrough{{Host: "a.api.example"}} })
	names := &intercept.Names{}
	dst := synthetic(t, names, "a.api.example") + ":443"
	if status := proxytest.SayRaw(t, g.Redirect(dst, names), "GET /x HTTP/1.1\r\nHost: a.api.example\r\n\r\n", &tls.Config{InsecureSkipVerify: true}); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
	if e := g.Eventually(audit.TypeDecision, 1)[0]; e.Call.HTTP != "GET a.api.example/x" {
		t.Errorf("judged: %s", e.Call.HTTP)
	}
}

func TestAConnectionMadeToTheTransparentDoorIsRefused(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.NotFoundHandler())
	if status := proxytest.SayRaw(t, g.Redirect("", nil), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", nil); status != 0 {
		t.Errorf("status %d", status)
	}
	if e := g.Eventually(audit.TypeRefused, 1)[0]; !strings.Contains(e.Note, "was made to it") {
		t.Errorf("refused: %s", e.Note)
	}
}

// What is redirected is gated as what comes through the proxy is: a call that
// policy holds waits for a person.
func TestRedirectedTrafficIsGated(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g, up := proxytest.NewTLS(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
	host := strings.TrimPrefix(up, "https://")
	addr := g.Redirect(host, nil)
	tr := &http.Transport{TLSClientConfig: g.Trusting(""), ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}}
	t.Cleanup(tr.CloseIdleConnections)
	got := make(chan string, 1)
	go func() {
		resp, err := (&http.Client{Transport: tr}).Post(up+"/v1/messages", "application/json", strings.NewReader(proxytest.AskStream))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- resp.Proto + "\n" + string(b)
	}()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if body := <-got; !strings.HasPrefix(body, "HTTP/2.0") || !strings.Contains(body, proxytest.MessageTool("0", "toolu_1", "gated")) {
		t.Errorf("got:\n%s", body)
	}
}
