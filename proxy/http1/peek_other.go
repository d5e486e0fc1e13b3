//go:build !unix

package http1

import "net"

// canPeek is whether this system tells that a connection was closed without
// taking what it has to say.
const canPeek = false

func peeker(net.Conn) func() bool { return func() bool { return false } }
