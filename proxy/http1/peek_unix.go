//go:build unix

package http1

import (
	"net"
	"syscall"
)

// canPeek is whether this system tells that a connection was closed without
// taking what it has to say.
const canPeek = true

// peeker returns what reports whether a connection is open with nothing to be read.
func peeker(c net.Conn) func() bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return func() bool { return false }
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	var quiet bool
	var b [1]byte
	look := func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN
		return true
	}
	return func() bool { return rc.Read(look) == nil && quiet }
}
