package host

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// checksum decodes a configured SHA-256; none is nil.
func checksum(s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	sum, err := hex.DecodeString(s)
	if err != nil || len(sum) != sha256.Size {
		return nil, errors.New("sha256 wants 64 characters of hex")
	}
	return sum, nil
}

// program returns the path to execute: that of the command, or where a
// checksum is configured, of a copy in dir, which is private, that has it. The
// original can be replaced between being hashed and being run; the copy not.
func program(c Channel, dir string) (string, error) {
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return "", fmt.Errorf("finding the program: %w", err)
	}
	want, err := checksum(c.SHA256)
	if err != nil || want == nil {
		return path, err
	}
	dst := filepath.Join(dir, filepath.Base(path))
	got, err := copyProgram(path, dst)
	if err != nil {
		return "", fmt.Errorf("copying the program: %w", err)
	}
	if subtle.ConstantTimeCompare(got, want) != 1 {
		return "", fmt.Errorf("%s has the SHA-256 %x, and the configuration wants %x: it is not run", path, got, want)
	}
	return dst, nil
}

// copyProgram copies a file and returns its SHA-256. No process may be forked
// while the copy is open for writing: it would inherit the descriptor for a
// moment, and a file that somebody can write is not executed.
func copyProgram(src, dst string) (sum []byte, err error) {
	in, err := os.Open(src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o500)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(h, out), in)
	return h.Sum(nil), errors.Join(err, out.Close())
}
