package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sharedFiles are what sidecars of one store have in common in their state folders,
// and how the store is reached.
var sharedFiles = []string{secretFile, tokenFile, "ca.pem", "ca.key", "page-ca.pem", "page-ca.key", "db.url", "db.password"}

// TakeShared copies those of the files that sidecars of one store share which a folder
// has, such as a mounted Secret, into a state folder that no sidecar uses. There they are for
// their owner alone. It returns their names.
func TakeShared(stateDir, from string) (taken []string, err error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	for _, name := range sharedFiles {
		text, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) && name != secretFile {
			continue
		}
		if err != nil {
			return taken, fmt.Errorf("reading what sidecars share: %w", err)
		}
		into := filepath.Join(stateDir, name)
		if old, err := os.ReadFile(into); name == secretFile && err == nil && !bytes.HasPrefix(text, bytes.TrimSpace(old)) {
			return taken, fmt.Errorf("%s is another key: what it has sealed could not be opened any more; take another state folder, or remove the file first where the folder has no state", into)
		}
		if err := replace(into, text); err != nil {
			return taken, fmt.Errorf("writing %s: %w", into, err)
		}
		taken = append(taken, name)
	}
	return taken, nil
}

// replace writes a file for its owner alone, whole or not at all.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
