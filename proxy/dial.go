package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/http1"
)

// An addressError says that an address may not be dialled.
type addressError struct {
	addr string // as it would be dialled, or asked of a proxy
	why  string
}

// Why addresses are refused.
const (
	whyOwn     = "Holdgate itself listens there"
	whyUnnamed = ", and the configuration does not name it as an upstream"
)

func (e *addressError) Error() string {
	return fmt.Sprintf("%s is refused: %s", e.addr, e.why)
}

// ownAddrs are the addresses that Holdgate listens on.
type ownAddrs struct {
	mu        sync.Mutex
	ports     map[uint16]bool
	approvers []netip.AddrPort // where calls are decided
}

// add adds an address, one where approvers are served or another.
func (o *ownAddrs) add(a net.Addr, approvers bool) {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return // a unix socket has no port to guard
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if approvers {
		o.approvers = append(o.approvers, ap)
	}
	if o.ports == nil {
		o.ports = map[uint16]bool{}
	}
	o.ports[ap.Port()] = true
}

// decided are the addresses where calls are decided.
func (o *ownAddrs) decided() []netip.AddrPort {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clip(o.approvers)
}

// hasPort reports whether a listener of ours has the port.
func (o *ownAddrs) hasPort(port uint16) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ports[port]
}

// has reports whether the address reaches a listener of ours. The own ports
// are refused on every address of this host, whatever it is called.
func (o *ownAddrs) has(ap netip.AddrPort) bool {
	return o.hasPort(ap.Port()) && isThisHost(ap.Addr())
}

func isThisHost(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true // what cannot be told apart is refused
	}
	for _, ifa := range addrs {
		if p, err := netip.ParsePrefix(ifa.String()); err == nil && p.Addr().Unmap() == a {
			return true
		}
	}
	return false
}

// Ranges that netip has no predicate for: shared address space (RFC 6598),
// "this network" (RFC 1122), IETF protocol assignments (RFC 6890), benchmark
// (RFC 2544, RFC 5180), reserved (RFC 1112), discarded (RFC 6666), site-local (RFC 3879), IPv4-compatible (RFC 4291),
// IPv4-translated (RFC 2765), NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056, RFC 3068) and Teredo (RFC 4380): the last ones carry IPv4
// addresses inside. 168.63.129.16 is Azure's own service for its machines, which lies among public addresses.
var refusedRanges = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("::ffff:0:0:0/96"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("2001::/32"),
	namesV6,
}

// classify says why an address must not be dialled for an agent, or "".
func classify(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid():
		return "it is no address"
	case a.IsLoopback():
		return "it is a loopback address"
	case a.IsUnspecified():
		return "it is the unspecified address"
	case a.IsPrivate():
		return "it is a private address"
	case a.IsLinkLocalUnicast():
		return "it is link-local, where metadata services live"
	case a.IsMulticast(), a.IsInterfaceLocalMulticast(), a.IsLinkLocalMulticast():
		return "it is a multicast address"
	}
	for _, p := range refusedRanges {
		if p.Contains(a) {
			return "it lies in a reserved range"
		}
	}
	return ""
}

// control runs between resolution and connection, on the very address that is
// about to be dialled, so that no name can resolve to one thing when it is
// checked and to another when it is used.
func (s *Server) control(guarded bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("reading the address %q: %w", address, err)
		}
		ap = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
		if s.own.has(ap) {
			return &addressError{ap.String(), whyOwn}
		}
		if !guarded {
			return nil
		}
		if why := classify(ap.Addr()); why != "" {
			return &addressError{ap.String(), why + whyUnnamed}
		}
		return nil
	}
}

// dialer dials for agents: guarded, hosts that the configuration does not name.
func (s *Server) dialer(guarded bool) *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: s.resolver, Control: s.control(guarded)}
}

// transport dials for agents. It takes no proxy from the environment, asks for
// no compression of its own, and keeps enough idle connections that a busy
// agent does not pay for a handshake a request.
func (s *Server) transport(guarded bool) *http.Transport {
	return &http.Transport{
		DialContext:           dialUpstream(s.dialer(guarded)),
		TLSClientConfig:       s.upstreamTLS(),
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

// transportFor picks the transport: the target's own, or by whether there is a
// proxy on the way and the configuration names the host.
func (s *Server) transportFor(t target) http.RoundTripper {
	if t.transport != nil {
		return t.transport
	}
	named := t.named || s.namesHost(t.url.Scheme, t.url.Host)
	switch {
	case s.proxyFor(t.url) != nil:
		return &proxied{s, !named, s.toProxies}
	case named && t.mcp:
		return s.mcpNamed
	case named:
		return s.named
	case t.mcp:
		return s.mcpGuarded
	}
	return s.guarded
}

// mcpClient sends tool calls, and leaves to rest what is none.
func mcpClient(rest *http.Transport) *http1.Client {
	return http1.New(rest.DialContext, rest.TLSClientConfig, rest)
}

// namesHost reports whether the configuration names the host.
func (s *Server) namesHost(scheme, host string) bool { return s.hosts[withPort(scheme, host)] }

// namedHosts are the hosts of configured URLs, as [withPort] writes them.
func namedHosts(named ...map[string]*url.URL) map[string]bool {
	hosts := make(map[string]bool)
	for _, urls := range named {
		for _, u := range urls {
			hosts[withPort(u.Scheme, u.Host)] = true
		}
	}
	return hosts
}

// withPort returns host:port in lower case, with the scheme's own port where
// the host names none, be it that a colon stands there (RFC 3986 section 3.2.3).
func withPort(scheme, host string) string {
	h, p, err := net.SplitHostPort(host)
	if err != nil {
		h = trimBrackets(host)
	}
	if p == "" {
		p = "80"
		if scheme == "https" {
			p = "443"
		}
	}
	if n, err := strconv.ParseUint(p, 10, 16); err == nil {
		p = strconv.FormatUint(n, 10)
	}
	return net.JoinHostPort(lowerHost(h), p)
}

// oddHost says why a host is refused by its letters alone, or "". What is not
// ASCII is some other name by the time it is dialled (a full stop may be
// written as an ideographic one), and policy would have seen the first.
func oddHost(host string) string {
	if strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "the host " + holdgate.Visible(host) + " is refused because two programs could take it for two hosts: write it in ASCII (xn--...)"
	}
	if strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return "the host " + host + " is refused because a label of it is empty, which some programs read over"
	}
	return ""
}

// isAddressError finds out whether a round trip failed because of an address
// that is refused.
func isAddressError(err error) (*addressError, bool) {
	var ae *addressError
	ok := errors.As(err, &ae)
	return ae, ok
}

// lookupOwn reports whether host:port reaches a listener of ours, by number or
// by any name that resolves to this host.
func (s *Server) lookupOwn(ctx context.Context, hostport string) bool {
	h, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || !s.own.hasPort(uint16(port)) {
		return false
	}
	ips, err := s.resolver.LookupNetIP(ctx, "ip", h)
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if isThisHost(ip.Unmap()) {
			return true
		}
	}
	return false
}
