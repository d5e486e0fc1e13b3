// Package upstream is the way out: which addresses may be dialled, proxies, TLS, and
// the credentials that are put into requests. It knows nothing of policy.
package upstream

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/http1"
	"github.com/holdgate/holdgate/proxy/openfiles"
	"github.com/holdgate/holdgate/proxy/route"
)

// A Config says how what agents ask for goes out.
type Config struct {
	// Named are URLs that the configuration names. Only their hosts may have
	// loopback, private or metadata addresses.
	Named []*url.URL
	// RootCAs verify upstream servers; nil means the system's.
	RootCAs *x509.CertPool
	// ProxyFor is the proxy through which a URL is asked for, or nil for none; the
	// function itself may be nil. ProxyLooksUp leaves it to proxies to look up the
	// names of hosts that no configuration names: otherwise each is looked up here
	// first, and refused where its address is private.
	ProxyFor     func(*url.URL) *url.URL
	ProxyLooksUp bool
	// Credentials are put into requests to where they belong. It is asked for each
	// request; nil: there are none.
	Credentials func() []*credential.Credential
	// Resolver resolves the names that agents use; nil: the system's.
	Resolver *net.Resolver
}

// A Network is the way out. It is safe for concurrent use.
type Network struct {
	c          Config
	hosts      map[string]bool // that the configuration names
	own        ownAddrs
	resolver   *net.Resolver
	named      *http.Transport // for hosts that the configuration names
	guarded    *http.Transport // for hosts that agents name
	toProxies  *http.Transport // for both, where a proxy is on the way
	mcpNamed   *http1.Client   // as named, for MCP servers
	mcpGuarded *http1.Client
}

// New returns a network. Close ends what it keeps open.
func New(c Config) *Network {
	if c.Credentials == nil {
		c.Credentials = func() []*credential.Credential { return nil }
	}
	n := &Network{c: c, hosts: make(map[string]bool, len(c.Named)), resolver: c.Resolver}
	for _, u := range c.Named {
		n.hosts[route.WithPort(u.Scheme, u.Host)] = true
	}
	if n.resolver == nil {
		n.resolver = &net.Resolver{}
	}
	n.named, n.guarded, n.toProxies = n.transport(false), n.transport(true), n.proxyTransport()
	n.mcpNamed, n.mcpGuarded = mcpClient(n.named), mcpClient(n.guarded)
	return n
}

// Close closes connections that are kept for later.
func (n *Network) Close() {
	n.mcpNamed.Close()
	n.mcpGuarded.Close()
	n.named.CloseIdleConnections()
	n.guarded.CloseIdleConnections()
	n.toProxies.CloseIdleConnections()
}

// Own adds an address that Holdgate itself listens on, where approvers are served
// or elsewhere. Nobody may be sent there.
func (n *Network) Own(a net.Addr, approvers bool) { n.own.add(a, approvers) }

// Approvers are the addresses where calls are decided.
func (n *Network) Approvers() []netip.AddrPort { return n.own.decided() }

// IsOwn reports whether host:port reaches a listener of ours, by number or
// by any name that resolves to this host.
func (n *Network) IsOwn(ctx context.Context, hostport string) bool {
	h, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || !n.own.hasPort(uint16(port)) {
		return false
	}
	ips, err := n.resolver.LookupNetIP(ctx, "ip", h)
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if IsThisHost(ip.Unmap()) {
			return true
		}
	}
	return false
}

// control runs between resolution and connection, on the very address that is
// about to be dialled, so that no name can resolve to one thing when it is
// checked and to another when it is used.
func (n *Network) control(guarded bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, c syscall.RawConn) error {
		if err := openfiles.May(c); err != nil {
			return err
		}
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("reading the address %q: %w", address, err)
		}
		ap = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
		if n.own.has(ap) {
			return &AddressError{ap.String(), whyOwn}
		}
		if !guarded {
			return nil
		}
		if why := Refused(ap.Addr()); why != "" {
			return &AddressError{ap.String(), why + whyUnnamed}
		}
		return nil
	}
}

// dialer dials for agents: guarded, hosts that the configuration does not name.
func (n *Network) dialer(guarded bool) *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: n.resolver, Control: n.control(guarded)}
}

// transport dials for agents. It takes no proxy from the environment, asks for
// no compression of its own, and keeps enough idle connections that a busy
// agent does not pay for a handshake a request.
func (n *Network) transport(guarded bool) *http.Transport {
	return &http.Transport{
		DialContext:           dialUpstream(n.dialer(guarded)),
		TLSClientConfig:       n.tls(),
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       16 << 10, // what is longer goes on as it lies; see upstreamConn
		ReadBufferSize:        32 << 10,
	}
}

// To picks the transport to a URL, by whether there is a proxy on the way and
// whether the configuration names the host. named says that it names the URL
// itself, and mcp that an MCP server is there.
func (n *Network) To(u *url.URL, named, mcp bool) http.RoundTripper {
	named = named || n.Names(u.Scheme, u.Host)
	switch {
	case n.ProxyFor(u) != nil:
		return &proxied{n, !named}
	case named && mcp:
		return n.mcpNamed
	case named:
		return n.named
	case mcp:
		return n.mcpGuarded
	}
	return n.guarded
}

// mcpClient sends tool calls, and leaves to rest what is none.
func mcpClient(rest *http.Transport) *http1.Client {
	return http1.New(rest.DialContext, rest.TLSClientConfig, rest)
}

// Names reports whether the configuration names the host.
func (n *Network) Names(scheme, host string) bool { return n.hosts[route.WithPort(scheme, host)] }
