package client

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/holdgate/holdgate/approvals/api"
)

// maxToken bounds the token's file, in bytes.
const maxToken = 4096

// readToken reads the approver's token. It refuses a file that is no regular
// file or that others may read: what others know proves nothing.
func readToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo must not block
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoToken
	}
	if err != nil {
		return "", fmt.Errorf("reading the approver's token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the approver's token: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", &TokenError{Path: path, Detail: "is not a regular file"}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" { // there it says nothing
		return "", &TokenError{Path: path, Detail: fmt.Sprintf("others may read or write it (mode %04o)", mode)}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", fmt.Errorf("reading the approver's token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < api.MinToken {
		return "", &TokenError{Path: path, Detail: "holds no token"}
	}
	return token, nil
}

// isAbsent reports whether err means that nothing listens.
func isAbsent(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// cause is the system's own error, without the addresses around it.
func cause(err error) error {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}
