package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is where holdgate init writes and where the configuration is found
// that nothing names, as the XDG base directory specification has it. Empty:
// the environment does not tell.
func Folder(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the specification ignores a relative one
		home := env("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "holdgate")
}

// Place is the file that is read where nothing names another.
func Place(env func(string) string) string {
	if dir := Folder(env); dir != "" {
		return filepath.Join(dir, "holdgate.yaml")
	}
	return ""
}

// openFile opens the file that is named or, where none is, the one at its usual
// place; nil where there is none. A file that nobody named is read only where
// nobody but its owner can have written it: it may loosen everything.
func (f Flags) openFile(env func(string) string) (*os.File, error) {
	if path := first(f.Config, env(EnvConfig)); path != "" && !f.NoFile {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		return file, nil
	}
	path := Place(env)
	if path == "" || f.NoFile {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo must not block
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err == nil {
		err = checkOwn(file)
	}
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, fmt.Errorf("reading the configuration at its usual place (--config \"\" leaves it unread): %w", err)
	}
	return file, nil
}

// checkOwn refuses a file that others may write, or replace in its folder.
func checkOwn(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.Name())
	}
	dir, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	for _, at := range []struct {
		name string
		info fs.FileInfo
	}{{f.Name(), info}, {filepath.Dir(f.Name()), dir}} {
		if mode := at.info.Mode().Perm(); mode&othersWrite != 0 {
			return fmt.Errorf("others may write %s (mode %04o): look at what it says, then chmod go-w %[1]s", at.name, mode)
		}
		if !trustedOwner(at.info) {
			return fmt.Errorf("%s belongs to another user", at.name)
		}
	}
	return nil
}
