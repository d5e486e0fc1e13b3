package sdk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadSecret reads a secret of least to most bytes, without the space around
// it, from a file that nobody but its owner can read. Its errors begin with
// what, which is the key of the configuration, and name no more than the file.
func ReadSecret(what, path string, least, most int) (_ []byte, err error) {
	if path == "" {
		return nil, fmt.Errorf("%s is not set", what)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %s: only its owner may read it; set it to 0600", path, info.Mode())
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	s := bytes.TrimSpace(raw)
	if len(raw) > most || len(s) < least {
		return nil, fmt.Errorf("%s must hold %d to %d bytes", path, least, most)
	}
	return s, nil
}
