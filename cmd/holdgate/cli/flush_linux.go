package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what was typed and not yet read.
func flushInput(tty *os.File) error {
	return unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
