package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate/proxy/route"
)

// A proxyError says that a proxy on the way to an upstream failed, and not the
// upstream.
type proxyError struct {
	proxy *url.URL
	why   string
}

func (e *proxyError) Error() string {
	return "the upstream proxy " + proxyName(e.proxy) + " failed: " + e.why
}

// proxyName is a proxy without its credentials.
func proxyName(u *url.URL) string { return u.Scheme + "://" + u.Host }

// Hints for who set the proxy.
const (
	hintCredentials = "it wants a user and password that it knows: set upstream_proxy.credentials_file in Holdgate's configuration, or put them into the variable that names the proxy"
	hintRefused     = "it does not let this host through: ask who runs it, or name the host under upstream_proxy.no_proxy"
)

// A proxied sends requests through the proxies that the configuration names. The
// address that is dialled is then the proxy's, and who looks the upstream's name
// up is the proxy: what may be asked for is judged before.
type proxied struct {
	n       *Network
	guarded bool // the configuration does not name the host
}

// proxyTransport speaks to proxies. Their own addresses are the user's to choose.
func (n *Network) proxyTransport() *http.Transport {
	tr := n.transport(false)
	tr.Proxy = func(r *http.Request) (*url.URL, error) { return n.ProxyFor(r.URL), nil }
	tr.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
		return proxyRefused(proxy, resp)
	}
	return tr
}

// ProxyFor is the proxy through which a URL is asked for, or nil.
func (n *Network) ProxyFor(u *url.URL) *url.URL {
	if n.c.ProxyFor == nil {
		return nil
	}
	return n.c.ProxyFor(u)
}

// proxyRefused says why a proxy opened no tunnel, or nil where it did.
func proxyRefused(proxy *url.URL, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return &proxyError{proxy, "it answered with status 407: " + hintCredentials}
	case http.StatusForbidden:
		return &proxyError{proxy, "it answered with status 403: " + hintRefused}
	}
	return &proxyError{proxy, fmt.Sprintf("it answered CONNECT with status %d", resp.StatusCode)}
}

// RoundTrip implements [http.RoundTripper].
func (p *proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.n.mayAskFor(r.Context(), route.WithPort(r.URL.Scheme, r.URL.Host), p.guarded); err != nil {
		return nil, err
	}
	resp, err := p.n.toProxies.RoundTrip(r)
	proxy := p.n.ProxyFor(r.URL)
	if err != nil {
		return nil, proxyFault(proxy, err)
	}
	if r.URL.Scheme == "http" && resp.StatusCode == http.StatusProxyAuthRequired {
		resp.Body.Close()
		return nil, proxyRefused(proxy, resp) // an origin never answers so (RFC 9110 section 15.5.8)
	}
	return resp, nil
}

// proxyFault names the proxy where it was not the upstream that failed.
func proxyFault(proxy *url.URL, err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "proxyconnect" && !strings.HasPrefix(op.Op, "socks") {
		return err
	}
	if certificateFault(op.Err) != "" {
		return &proxyError{proxy, Fault(op.Err)}
	}
	return &proxyError{proxy, op.Err.Error()} // not the error itself: an address of the proxy's is none that the agent asked for
}

// lookupTime bounds how long a name may take to be looked up before a proxy is
// asked for it.
const lookupTime = 10 * time.Second

// mayAskFor says why a proxy must not be asked for a host. Whoever resolves the
// name in the end, it must not be a way to Holdgate itself; and a host that the
// configuration does not name must have no address that would be refused
// without a proxy.
func (n *Network) mayAskFor(ctx context.Context, hostport string, guarded bool) error {
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return &AddressError{hostport, "it is no HOST:PORT"}
	}
	if !guarded {
		if n.IsOwn(ctx, hostport) {
			return &AddressError{hostport, whyOwn}
		}
		return nil
	}
	if port, err := strconv.ParseUint(p, 10, 16); err != nil || n.own.hasPort(uint16(port)) {
		return &AddressError{hostport, "Holdgate itself listens at that port, and the upstream proxy could resolve the name to this host"}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return refusedAddr(hostport, a)
	}
	if endsInNumber(host) {
		return &AddressError{hostport, "it is an address to some programs and a name to others"}
	}
	if n.c.ProxyLooksUp {
		if localName(host) {
			return &AddressError{hostport, "names without a dot and those under localhost, local and internal are of a network's own, and the configuration does not name it as an upstream"}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addrs, err := n.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return &AddressError{hostport, "its name cannot be looked up here, so that nobody knows whether its address is private (" + err.Error() +
			"); upstream_proxy.lookup: proxy in Holdgate's configuration leaves that to the proxy"}
	}
	for _, a := range addrs {
		if err := refusedAddr(hostport, a); err != nil {
			return err
		}
	}
	return nil
}

// refusedAddr says why a host must not be asked for at an address.
func refusedAddr(host string, a netip.Addr) error {
	if why := Refused(a); why != "" {
		return &AddressError{host, a.String() + ": " + why + whyUnnamed}
	}
	return nil
}

// endsInNumber reports whether a host's last label is a number, so that some
// resolvers take the whole for an IPv4 address (URL Standard, section 3.5).
func endsInNumber(host string) bool {
	label := route.LowerHost(host)
	label = label[strings.LastIndexByte(label, '.')+1:]
	_, err := strconv.ParseUint(label, 0, 64)
	return err == nil || label != "" && strings.Trim(label, "0123456789") == ""
}

// localName reports whether a name is one that each network has of its own (RFC
// 6761, RFC 6762, ICANN's resolution of 2024 on internal).
func localName(host string) bool {
	host = route.LowerHost(host)
	if !strings.Contains(host, ".") {
		return true
	}
	return route.HasSuffixOf(host, []string{".localhost", ".local", ".internal", ".localdomain", ".home.arpa"})
}
