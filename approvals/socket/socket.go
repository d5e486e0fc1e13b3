// Package socket listens and connects at unix sockets, however long the path of the
// folder is that they lie in. The kernel takes a path of 107 bytes at most (103 on
// macOS), and says "invalid argument" of a longer one. On Linux a socket below a longer
// path is reached through its folder's descriptor; elsewhere, and where its own name is
// too long, the error names path, length and what to do.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Max is how long the path of a socket may be that every program can connect to.
const Max = len(syscall.RawSockaddrUnix{}.Path) - 1

// A TooLongError says that a path is too long for a unix socket.
type TooLongError struct{ Path string }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%s is a path of %d bytes, and the path of a unix socket has %d at most: choose a shorter one (of the state folder: --state-dir)", e.Path, len(e.Path), Max)
}

// Listen listens at a path. Closing the listener removes the socket.
func Listen(path string) (net.Listener, error) {
	if len(path) <= Max {
		return net.Listen("unix", path)
	}
	short, folder, err := shorten(path)
	if err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: short})
	if err != nil {
		return nil, errors.Join(named(err, path), folder.Close())
	}
	ln.SetUnlinkOnClose(false) // the descriptor in its name may be another's by then
	_ = folder.Close()         // it was for finding the place
	return &listener{ln, path}, nil
}

// A listener is one whose path is longer than the kernel takes.
type listener struct {
	*net.UnixListener
	path string
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: l.path} }

// Close implements [net.Listener].
func (l *listener) Close() error {
	err := l.UnixListener.Close()
	if err == nil {
		err = os.Remove(l.path)
	}
	return err
}

// Dial connects to the socket at a path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= Max {
		return d.DialContext(ctx, "unix", path)
	}
	short, folder, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	c, err := d.DialContext(ctx, "unix", short)
	return c, named(err, path)
}

// named has an error name the path that was asked for.
func named(err error, path string) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		op.Addr = &net.UnixAddr{Net: "unix", Name: path}
	}
	return err
}
