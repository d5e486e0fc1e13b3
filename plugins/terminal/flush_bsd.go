//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import "golang.org/x/sys/unix"

// fread names the input queue (FREAD of sys/fcntl.h).
const fread = 1

// flushInput throws away what a terminal has received and nobody has read.
func flushInput(fd int) error {
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread)
}
