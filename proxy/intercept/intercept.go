// Package intercept takes the connections that agents mean for other hosts: by CONNECT,
// or because a firewall redirected them. It opens them, also where TLS is spoken, with
// leaves of its own CA, and offers what is inside as a listener. Hosts that the
// configuration names are passed on as they come, once policy has let it. [Names] gives
// out the addresses by which a redirected connection is known.
//
// Connections that were taken from a server of net/http come back to it here, too.
package intercept

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"

	"github.com/elazarl/goproxy"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
)

// Config is what an [Interceptor] needs. All fields but Original must be set.
type Config struct {
	*steps.Steps

	CA          *tls.Certificate // signs the leaves of connections that are opened; see [OpenCA]
	PassThrough []PassThrough    // hosts whose TLS is passed on as it comes
	Table       *route.Table     // where models are, whose connections are not passed on
	Running     *sync.WaitGroup  // of what goes on without its handler

	// Tracer makes spans of requests; nil: none are made.
	Tracer oteltrace.Tracer
	// Original says where a redirected connection was to go; nil: as netfilter has it.
	Original func(net.Conn) (netip.AddrPort, error)
}

// An Interceptor takes connections that lead elsewhere. It may be used by several
// goroutines.
type Interceptor struct {
	c        Config
	leaves   leaves
	tunnels  *tunnelListener
	opening  opening
	returned *handed // connections that are given back to the server they came in by
	connect  *goproxy.ProxyHttpServer
}

// New returns an interceptor, or says what it may not pass on.
func New(c Config) (*Interceptor, error) {
	i := &Interceptor{c: c, tunnels: newTunnelListener(), returned: newHanded()}
	if c.Original == nil {
		i.c.Original = originalDst
	}
	i.connect = i.connectProxy()
	return i, i.check()
}

// Inside is what comes out of tunnels, as a listener. The context of a connection is
// [TunnelContext]'s.
func (i *Interceptor) Inside() net.Listener { return i.tunnels }

// GivenBack are connections of a server's own that go on there. The context of a
// connection is [OuterContext]'s.
func (i *Interceptor) GivenBack() net.Listener { return i.returned }

// Settle waits until the connections that have come are with the inner server, or ctx ends.
// It is for a shutdown, between that of the outer server and that of the inner one.
func (i *Interceptor) Settle(ctx context.Context) { i.opening.wait(ctx) }

// Close closes the two listeners, and all tunnels.
func (i *Interceptor) Close() {
	_ = i.tunnels.Close()
	_ = i.returned.Close()
	i.tunnels.closeConns()
}
