//go:build !windows

package bench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// streams are two ends of one stream, one of them for a process to inherit.
func streams() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	mine, theirs := os.NewFile(uintptr(fds[0]), "client"), os.NewFile(uintptr(fds[1]), "server")
	ours, err = net.FileConn(mine)
	if err := errors.Join(err, mine.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// rightsSpace is what a control message with one file takes.
var rightsSpace = syscall.CmsgSpace(4)

// rights is the control message that takes a file along.
func rights(f *os.File) []byte { return syscall.UnixRights(int(f.Fd())) }

// descriptor is the one file of a control message.
func descriptor(control []byte) (int, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d messages came", len(messages)))
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d files came", len(fds)))
	}
	return fds[0], nil
}

// ownGroup gives a process that is to be started a group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
