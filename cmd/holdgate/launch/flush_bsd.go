//go:build darwin || freebsd || netbsd || openbsd

package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// readQueue is FREAD of <sys/fcntl.h>: the input side of TIOCFLUSH.
const readQueue = 1

// FlushInput throws away what was typed and not yet read.
func FlushInput(tty *os.File) error {
	return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, readQueue)
}
