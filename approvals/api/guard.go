package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// checkSite refuses what a web page of another site could have sent: a Host
// that is not the listener's (DNS rebinding), a foreign Origin, a
// Sec-Fetch-Site other than same-origin or none. A unix socket takes any Host:
// no browser reaches it. own says which further hosts are the listener's.
func checkSite(r *http.Request, own func(string) bool) error {
	foreign := func(detail string) error {
		return problem(http.StatusForbidden, "foreign-site", "Refused", detail)
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return foreign("the listener's own address is not known")
	}
	if addr.Network() != "unix" && !ownHost(r.Host, addr) && (own == nil || !own(r.Host)) {
		return foreign("Host is not the address of this listener")
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return foreign("requests from other sites are refused")
	}
	if o := r.Header.Values("Origin"); len(o) > 0 {
		u, err := url.Parse(o[0])
		if err != nil || len(o) > 1 || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return foreign("requests from other origins are refused")
		}
	}
	return nil
}

// ownHost reports whether host names the listener at addr: a name of loopback
// or the very IP address that the connection reached, with its port.
func ownHost(host string, addr net.Addr) bool {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return false
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "80"
	}
	if p, err := netip.ParseAddrPort("0.0.0.0:" + port); err != nil || p.Port() != at.Port() {
		return false
	}
	switch strings.ToLower(name) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap() == at.Addr().Unmap()
}
