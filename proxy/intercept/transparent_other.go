//go:build !linux

package intercept

import (
	"errors"
	"net"
	"net/netip"
)

// originalDst has no answer where the kernel redirects in ways that Holdgate
// does not know.
func originalDst(net.Conn) (netip.AddrPort, error) {
	return netip.AddrPort{}, errors.New("the transparent door needs Linux")
}
