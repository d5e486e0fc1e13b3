package terminal

import (
	"errors"
	"io/fs"
)

const openFlags = 0

// identity knows no owner, so that no terminal is trusted here.
func identity(fs.FileInfo) (uid uint32, device uint64, ok bool) { return 0, 0, false }

func flushInput(int) error { return errors.ErrUnsupported }
