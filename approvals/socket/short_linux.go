package socket

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// shorten is a short path of the same place, as long as folder is open.
func shorten(path string) (short string, folder *os.File, err error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	folder = os.NewFile(uintptr(fd), filepath.Dir(path))
	short = fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path))
	if _, err := os.Stat(filepath.Dir(short)); err != nil || len(short) > Max { // no /proc, or a long name
		_ = folder.Close()
		return "", nil, &TooLongError{path}
	}
	return short, folder, nil
}
