package intercept

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// soOriginalDst is SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST
// (linux/netfilter_ipv4.h, linux/netfilter_ipv6/ip6_tables.h).
const soOriginalDst = 80

// originalDst is where a redirected connection was to go before netfilter
// changed its destination.
func originalDst(c net.Conn) (dst netip.AddrPort, err error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return dst, fmt.Errorf("%T is no socket", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return dst, err
	}
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return dst, err
	}
	cerr := raw.Control(func(fd uintptr) {
		if local.Addr().Unmap().Is4() {
			dst, err = originalDst4(int(fd))
		} else {
			dst, err = originalDst6(int(fd))
		}
	})
	return dst, errors.Join(err, cerr)
}

func originalDst4(fd int) (netip.AddrPort, error) {
	// An ipv6_mreq has room for a sockaddr_in, and x/sys has no getter for that.
	m, err := unix.GetsockoptIPv6Mreq(fd, unix.SOL_IP, soOriginalDst)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(m.Multiaddr[4:8])), binary.BigEndian.Uint16(m.Multiaddr[2:4])), nil
}

func originalDst6(fd int) (netip.AddrPort, error) {
	// An ip6_mtuinfo begins with a sockaddr_in6.
	m, err := unix.GetsockoptIPv6MTUInfo(fd, unix.SOL_IPV6, soOriginalDst)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port := *(*[2]byte)(unsafe.Pointer(&m.Addr.Port)) // in network order
	return netip.AddrPortFrom(netip.AddrFrom16(m.Addr.Addr).Unmap(), binary.BigEndian.Uint16(port[:])), nil
}
