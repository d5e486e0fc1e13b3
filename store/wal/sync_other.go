//go:build !linux

package wal

import "os"

// syncData syncs the file.
func syncData(f *os.File) error { return f.Sync() }

// allocate does nothing: what Linux does has no portable form.
func allocate(*os.File, int64) error { return nil }
