//go:build !windows

package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// resizedSignal says that a terminal has another size.
const resizedSignal = unix.SIGWINCH

// forwarded are the signals that are meant for the agent, or tell of the terminal's size.
var forwarded = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}

// readTerminal reads without a poller: a terminal's file may be shared.
func readTerminal(tty *os.File, buf []byte) (int, error) { return unix.Read(int(tty.Fd()), buf) }

// signalGroup signals a group of processes.
func signalGroup(group int, s syscall.Signal) error { return unix.Kill(-group, s) }

// waitReadable waits until the terminal has something to read, or stop has. A
// read of a terminal cannot be interrupted; waiting for one can.
func waitReadable(tty, stop *os.File) (bool, error) {
	t, s := int(tty.Fd()), int(stop.Fd())
	if max(t, s) >= unix.FD_SETSIZE {
		return false, errors.New("waiting for the terminal: too many open files")
	}
	for {
		var set unix.FdSet
		set.Set(t)
		set.Set(s)
		_, err := unix.Select(max(t, s)+1, &set, nil, nil, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("waiting for the terminal: %w", err)
		}
		return !set.IsSet(s), nil
	}
}

// unblocked is the file with deadlines that work: creack/pty leaves it blocking,
// and makes it so again with each of its functions.
func unblocked(blocking *os.File, cmd *exec.Cmd) (*os.File, error) {
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.SetNonblock(fd, true), blocking.Close())
	}
	if err != nil {
		giveUp(cmd)
		return nil, fmt.Errorf("opening the agent's terminal: %w", err)
	}
	return os.NewFile(uintptr(fd), "pty"), nil
}

// setSize sets a pseudo-terminal's size, and has the kernel tell whoever uses
// it where that is a change.
func setSize(f *os.File, size *pty.Winsize) error {
	return control(f, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols, Xpixel: size.X, Ypixel: size.Y})
	})
}

// foreground is the process group that a pseudo-terminal's keys go to.
func foreground(f *os.File) (group int, err error) {
	err = control(f, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group, err
}
