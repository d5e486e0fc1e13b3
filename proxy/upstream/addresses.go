package upstream

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// An AddressError says that an address may not be dialled.
type AddressError struct {
	addr string // as it would be dialled, or asked of a proxy
	why  string
}

// Why addresses are refused.
const (
	whyOwn     = "Holdgate itself listens there"
	whyUnnamed = ", and the configuration does not name it as an upstream"
)

func (e *AddressError) Error() string {
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
	return o.hasPort(ap.Port()) && IsThisHost(ap.Addr())
}

func IsThisHost(a netip.Addr) bool {
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
	netip.MustParsePrefix("2001:2::/48"),
}

// Refused says why an address must not be dialled for an agent, or "".
func Refused(a netip.Addr) string {
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
