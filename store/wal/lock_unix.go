//go:build unix

package wal

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens the file and waits until no other process has it locked.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(err, f.Close())
		}
	}
}
