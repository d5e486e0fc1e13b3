//go:build !windows

package handover

import (
	"os"
	"syscall"
)

// truncated is set where a control message did not fit.
const truncated = syscall.MSG_CTRUNC

// controlSpace is what a control message with as many files as there may be takes.
var controlSpace = syscall.CmsgSpace(MaxFiles * 4)

// rightsOf is the control message that takes files along. Their mode stays as it is:
// [os.File.Fd] would have whoever listens on one of them block.
func rightsOf(files []*os.File) ([]byte, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		raw, err := f.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds[i] = int(fd) })
		}
		if err != nil {
			return nil, err
		}
	}
	return syscall.UnixRights(fds...), nil
}

// received are the files of a control message.
func received(oob []byte) (files []*os.File, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return files, nil
}
