//go:build !unix

package wal

import "os"

// lockFile opens the file. What opens the log has a lock of its own.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
