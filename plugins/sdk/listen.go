package sdk

import (
	"fmt"
	"net"
	"net/netip"
)

// Loopback reports whether a host, a name or an address, is this machine.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// ListenAddr returns the address at which a channel's setting listen has it listen:
// on this machine alone where no host is named. An address that other machines can
// reach is an error unless remote, the setting allow_remote, is set.
func ListenAddr(addr string, remote bool) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return "", fmt.Errorf("listen: %w", err)
	case host == "":
		host = "127.0.0.1"
	case !remote && !Loopback(host):
		return "", fmt.Errorf("listen is %s, which other machines can reach: set allow_remote if that is meant", addr)
	}
	return net.JoinHostPort(host, port), nil
}
