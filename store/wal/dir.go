package wal

import (
	"errors"
	"fmt"
	"os"
)

// SyncDir returns once the names in a folder are on stable storage. It is a
// variable for tests alone: there is no other way to see that it was called.
var SyncDir = func(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the folder: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("syncing the folder: %w", err)
	}
	return nil
}
