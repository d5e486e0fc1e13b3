package identity

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user of the process that has connected (unix(7), SO_PEERCRED).
func peerUID(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var cerr error
	err = raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, cerr); err != nil {
		return 0, err
	}
	return cred.Uid, nil
}
