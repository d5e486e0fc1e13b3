package hook

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Calls that a hook with --fail open has let go on are counted in a file, a byte each,
// until a sidecar has been told.

func lapseFile() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	return filepath.Join(dir, "holdgate", "hook-lapses"), nil
}

// noteLapse counts a call that goes on. One that cannot be counted must not.
func noteLapse() error { return addLapses(1) }

func addLapses(n int64) error {
	name, err := lapseFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("counting a call that goes on: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("counting a call that goes on: %w", err)
	}
	_, err = io.Copy(f, bytes.NewReader(bytes.Repeat([]byte("x"), int(n))))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// takeLapses is how many calls went on since a sidecar was told last. No other hook
// tells of them meanwhile.
func takeLapses() int64 {
	name, err := lapseFile()
	if err != nil {
		return 0
	}
	if _, err := os.Lstat(name); err != nil {
		return 0
	}
	mine := fmt.Sprintf("%s.%d", name, os.Getpid())
	if os.Rename(name, mine) != nil {
		return 0
	}
	defer os.Remove(mine)
	if st, err := os.Stat(mine); err == nil {
		return min(st.Size(), maxLapses)
	}
	return 0
}

// maxLapses bounds what is told at a time.
const maxLapses = 100_000_000

// putBack counts again what nobody was told.
func putBack(n int64) {
	if n > 0 {
		_ = addLapses(n) // the count is all that is lost
	}
}
