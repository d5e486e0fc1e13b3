package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ownMarks are files by which a state folder knows its own form and place: nothing brings these.
var ownMarks = []string{formatFile, movedFile}

// sharedFiles are what sidecars of one store have in common in their state folders,
// and how the store is reached.
var sharedFiles = []string{secretFile, tokenFile, "ca.pem", "ca.key", "page-ca.pem", "page-ca.key", "db.url", "db.password"}

// maxShared bounds such a file: a Secret of Kubernetes holds no more.
const maxShared = 1 << 20

// TakeShared copies the files of a folder, such as a mounted Secret, into a state folder that
// no sidecar uses: what sidecars of one store share, and files of channels and credentials.
// There they are for their owner alone. Folders and hidden names are left out. Of another
// state folder nothing is taken but what sidecars share. It returns the files' names.
func TakeShared(stateDir, from string) (taken []string, err error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	names, err := os.ReadDir(from)
	if err != nil {
		return nil, fmt.Errorf("reading the files to take: %w", err)
	}
	ofState := slices.ContainsFunc(names, func(e fs.DirEntry) bool { return slices.Contains(ownMarks, e.Name()) })
	for _, entry := range names {
		name := entry.Name()
		if ofState && !slices.Contains(sharedFiles, name) {
			continue
		}
		at, into := filepath.Join(from, name), filepath.Join(stateDir, name)
		info, err := os.Stat(at) // in a mounted Secret a name is a symbolic link
		switch {
		case err != nil:
			return taken, fmt.Errorf("reading the files to take: %w", err)
		case strings.HasPrefix(name, ".") || !info.Mode().IsRegular():
			continue
		case info.Size() > maxShared:
			return taken, fmt.Errorf("%s has %d bytes, more than %d", at, info.Size(), maxShared)
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return taken, fmt.Errorf("reading the files to take: %w", err)
		}
		if old, err := os.ReadFile(into); name == secretFile && err == nil && !bytes.HasPrefix(text, bytes.TrimSpace(old)) {
			return taken, fmt.Errorf("%s is another key: what it has sealed could not be opened any more; take another state folder, or remove the file first where the folder has no state", into)
		}
		if err := replace(into, text); err != nil {
			return taken, fmt.Errorf("writing %s: %w", into, err)
		}
		taken = append(taken, name)
	}
	if len(taken) == 0 {
		return nil, fmt.Errorf("%s has no files to take", from)
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
