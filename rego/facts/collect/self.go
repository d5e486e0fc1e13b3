package collect

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Own is what belongs to Holdgate itself on this host: calls that reach it
// could decide other calls.
type Own struct {
	Listeners []netip.AddrPort // where approvers are served
	Folders   []string         // absolute; hold tokens, keys and the socket
}

// publicFiles may be read by anybody, by their names inside of such a folder:
// clients trust Holdgate's certificate by it.
const publicFiles = "ca.pem"

// ownURL reports whether an address is one of Holdgate's own listeners,
// however its host is spelled. Names that resolve to this host are known only
// to the resolver: the door that dials looks again.
func (x *Findings) ownURL(s string) bool {
	if len(x.Opts.Own.Listeners) == 0 {
		return false
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		rest := afterScheme(s)
		host, _, _ := strings.Cut(rest[strings.LastIndex(rest, "@")+1:], "/")
		u = &url.URL{Scheme: schemeOf(s), Host: host}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "ws": "80"}[strings.ToLower(u.Scheme)]
	}
	if port == "" {
		port = "443"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, l := range x.Opts.Own.Listeners {
		if l.Port() == uint16(n) && reaches(host, l.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// reaches reports whether a host, as it is written, is the listener's address,
// or this machine where the listener hears all that comes to it.
func reaches(host string, listener netip.Addr) bool {
	here := listener.IsLoopback() || listener.IsUnspecified()
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localdomain" || host == "ip6-localhost" {
		return here
	}
	host, _, _ = strings.Cut(host, "%")
	a, err := netip.ParseAddr(host)
	if err != nil {
		var ok bool
		if a, ok = looseIPv4(host); !ok {
			return false
		}
	}
	a = a.Unmap()
	return a == listener || here && (a.IsLoopback() || a.IsUnspecified())
}

// looseIPv4 reads the forms of an address that inet_aton takes besides four
// decimal numbers: fewer parts, octal and hexadecimal ones.
func looseIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint64
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		last := i == len(parts)-1
		switch {
		case err != nil || strings.ContainsAny(p, "_oObB") || !last && n > 255:
			return netip.Addr{}, false
		case !last:
			all |= n << (24 - 8*i)
		case n >= 1<<(32-8*i):
			return netip.Addr{}, false
		default:
			all |= n
		}
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}

// ownPath reports whether a cleaned path lies in one of Holdgate's folders, or
// around one, where what is written or deleted takes the folder with it.
func (x *Findings) ownPath(clean, access string) bool {
	for _, folder := range x.Opts.Own.Folders {
		folder = path.Clean(folder)
		name, inside := strings.CutPrefix(clean, folder+"/")
		switch {
		case access == AccessRead && inside && wordlist.Has(publicFiles, name):
		case clean == folder || inside:
			return true
		case access == AccessDelete && strings.HasPrefix(folder, strings.TrimSuffix(clean, "/")+"/"):
			return true
		}
	}
	return false
}
