package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// startAsking starts the agent in a session and on a pseudo-terminal of its own,
// and returns the terminal's other side.
func startAsking(o Options, cmd *exec.Cmd, size *pty.Winsize) (*os.File, error) {
	if o.Within == nil {
		master, err := pty.StartWithSize(cmd, size)
		if err != nil {
			return nil, err
		}
		return unblocked(master, cmd)
	}
	master, err := unblocked(o.Within.Terminal(), cmd)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(setSize(master, size), o.begin()); err != nil {
		giveUp(cmd)
		return nil, errors.Join(err, master.Close())
	}
	return master, nil
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

// giveUp ends an agent that cannot be run after all. That it was killed is not
// what there is to say.
func giveUp(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
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

// control calls fn with the file's descriptor, and leaves its mode alone.
func control(f *os.File, fn func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var fnErr error
	err = conn.Control(func(fd uintptr) { fnErr = fn(int(fd)) })
	return errors.Join(err, fnErr)
}
