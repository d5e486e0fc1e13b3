package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// FlushInput throws away what was typed and not yet read.
func FlushInput(tty *os.File) error {
	return unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
