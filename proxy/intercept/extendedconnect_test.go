package intercept_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// An h2Peer is a client that writes frames as a test says.
type h2Peer struct {
	t     *testing.T
	fr    *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// h2 opens a tunnel to a host and begins HTTP/2 inside. It returns what the
// server says of itself.
func h2(g *proxytest.Sidecar, host string) (p *h2Peer, settings *http2.SettingsFrame) {
	g.T.Helper()
	c, resp := g.Tunnel(host)
	if resp.StatusCode != http.StatusOK {
		g.T.Fatalf("CONNECT: status %d", resp.StatusCode)
	}
	proxytest.Must(g.T, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	conf := g.Trusting(route.HostOnly(host))
	conf.NextProtos = []string{"h2"}
	tc := tls.Client(c, conf)
	proxytest.Must(g.T, tc.Handshake())
	_, err := tc.Write([]byte(http2.ClientPreface))
	proxytest.Must(g.T, err)
	p = &h2Peer{t: g.T.(*testing.T), fr: http2.NewFramer(tc, tc)}
	p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.enc = hpack.NewEncoder(&p.block)
	proxytest.Must(g.T, p.fr.WriteSettings())
	f, err := p.fr.ReadFrame()
	proxytest.Must(g.T, err)
	settings, ok := f.(*http2.SettingsFrame)
	if !ok {
		g.T.Fatalf("the server began with %v", f)
	}
	return p, settings
}

// asks sends a request's header, and returns what comes of it: a status, or the
// code with which the stream is reset.
func (p *h2Peer) asks(id uint32, end bool, fields ...string) string {
	p.t.Helper()
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		proxytest.Must(p.t, p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	proxytest.Must(p.t, p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: end}))
	for {
		f, err := p.fr.ReadFrame()
		proxytest.Must(p.t, err)
		if f.Header().StreamID != id && f.Header().StreamID != 0 {
			continue // what is left of another request
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return f.ErrCode.String()
		case *http2.GoAwayFrame:
			p.t.Fatalf("the connection was ended: %v", f)
		}
	}
}

// A WebSocket over HTTP/2 (RFC 8441) is not offered, which is what clients go by
// that fall back to HTTP/1.1, and where one is asked for all the same nothing of
// it goes on: the stream is reset, and the connection serves the next request.
func TestAWebSocketOverHTTP2IsNotOffered(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g, up := proxytest.NewTLS(t, proxytest.Answer(&seen, 200, `{}`))
	host := proxytest.ParseURL(t, up).Host
	p, settings := h2(g, host)
	if v, ok := settings.Value(http2.SettingEnableConnectProtocol); ok && v != 0 {
		t.Error("extended CONNECT is offered")
	}
	if got := p.asks(1, false, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", host, ":path", "/echo", "sec-websocket-version", "13"); got != "PROTOCOL_ERROR" {
		t.Errorf("an extended CONNECT got %s", got)
	}
	if got := p.asks(3, false, ":method", "CONNECT", ":authority", host); got != "400" {
		t.Errorf("a CONNECT inside got %s", got)
	}
	if n := len(g.Entries(audit.TypeDecision)); n != 0 || len(seen.All()) != 0 {
		t.Errorf("policy was asked %d times, and the upstream %d times", n, len(seen.All()))
	}
	if got := p.asks(5, true, ":method", "GET", ":scheme", "https", ":authority", host, ":path", "/nothing"); got != "200" {
		t.Errorf("the next request got %s", got)
	}
	if e := g.Entries(audit.TypeDecision); len(e) != 1 || e[0].Call.HTTP != fmt.Sprintf("GET %s/nothing", host) {
		t.Errorf("judged: %+v", e)
	}
}
