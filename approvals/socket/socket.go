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
	"sync/atomic"
	"syscall"
)

// Max is how long the path of a socket may be that every program can connect to.
const Max = len(syscall.RawSockaddrUnix{}.Path) - 1

// A TooLongError says that a path is too long for a unix socket.
type TooLongError struct{ Path string }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%s is a path of %d bytes, and the path of a unix socket has %d at most: choose a shorter one (of the state folder: --state-dir)", e.Path, len(e.Path), Max)
}

// Listen listens at a path. Closing the listener removes the socket, unless it is to
// [Stay].
func Listen(path string) (net.Listener, error) {
	short, folder := path, (*os.File)(nil)
	if len(path) > Max {
		var err error
		if short, folder, err = shorten(path); err != nil {
			return nil, err
		}
		defer folder.Close() // it is for finding the place
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: short})
	if err != nil {
		return nil, named(err, path)
	}
	ln.SetUnlinkOnClose(false) // a descriptor in its name may be another's by then
	return &listener{UnixListener: ln, path: path}, nil
}

// Adopt is the listener of a file that another process has made by [Listen] at the path.
// The socket stays where it is closed, until [Stay] says otherwise. The file is closed.
func Adopt(f *os.File, path string) (net.Listener, error) {
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	unix, ok := ln.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no listener of a unix socket", ln), ln.Close())
	}
	l := &listener{UnixListener: unix, path: path}
	l.stays.Store(true)
	return l, nil
}

// Stay says whether the socket of a listener of this package stays where it is when the
// listener is closed: another process serves it.
func Stay(ln net.Listener, stays bool) {
	if l, ok := ln.(*listener); ok {
		l.stays.Store(stays)
	}
}

// A listener is one that knows its path, which may be longer than the kernel takes.
type listener struct {
	*net.UnixListener
	path  string
	stays atomic.Bool
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: l.path} }

// Close implements [net.Listener].
func (l *listener) Close() error {
	if err := l.UnixListener.Close(); err != nil || l.stays.Load() {
		return err
	}
	if err := os.Remove(l.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
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
