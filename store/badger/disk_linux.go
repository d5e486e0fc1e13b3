package badger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves the file's first n bytes on the disk, where the filesystem
// can do that.
func allocate(f *os.File, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, n)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return nil
		}
		return err
	}
}

// freeBytes returns how much an ordinary user may still write.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// whileUnused runs fn where no other process has the folder open, and keeps
// others from opening it meanwhile. Where one has, it leaves it to Badger, whose
// lock this is, to say so.
func whileUnused(dir string, fn func() error) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	return fn()
}
