//go:build !linux

package badger

import (
	"math"
	"os"
)

// allocate does nothing: what Linux does has no portable form.
func allocate(*os.File, int64) error { return nil }

// freeBytes is unknown here, and taken to be enough.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

// whileUnused runs fn. That another process has the folder open is for Badger
// to say; a check that it disturbs fails as well.
func whileUnused(_ string, fn func() error) error { return fn() }
