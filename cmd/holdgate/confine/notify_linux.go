package confine

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// fileCalls is the name of the listener in a report.
const fileCalls = "calls"

// Numbers that are the same on all processors, and newer than the library.
const (
	sysFchmodat2     = 452
	sysSetxattrat    = 463
	sysRemovexattrat = 466
	sysFileSetattr   = 469
)

// Requests of ioctl that change what undo does not keep, by a descriptor that is open
// for writing: flags of a file (linux/fs.h), its version, its encryption, and that it
// can never be written again.
var attributeRequests = []uint32{
	unix.FS_IOC_SETFLAGS, 0x40046602, 0x401c5820, 0x40087602, 0x40086604, unix.FS_IOC_SET_ENCRYPTION_POLICY, unix.FS_IOC_ENABLE_VERITY,
}

// told stops a call for whoever listens.
func told() bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF} }

// changing are the calls that change files: those by a path, and of those by a
// descriptor what a read-only mount would refuse. What is open for writing was
// opened by one of these. A call that is missing here fails, for the folder is
// read-only.
func changing() (list []check) {
	for _, n := range append([]uint32{
		unix.SYS_OPENAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_UNLINKAT, unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, sysFchmodat2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE,
		unix.SYS_UMASK, // so that it need not be asked for each file
	}, olderChanging...) {
		list = append(list, check{n, []bpf.Instruction{told()}})
	}
	const writes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	list = append(list, toldWhere(unix.SYS_OPENAT, 2, writes), toldWhere(unix.SYS_FACCESSAT, 2, unix.W_OK), toldWhere(unix.SYS_FACCESSAT2, 2, unix.W_OK))
	list = append(list, olderFlagged(writes)...)
	// Attributes are not kept, so there are none to set.
	list = append(list, anyOf(unix.SYS_IOCTL, 1, unix.EOPNOTSUPP, attributeRequests...))
	return append(list, refused(unix.EOPNOTSUPP, sysFileSetattr, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, sysSetxattrat,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, sysRemovexattrat)...)
}

// toldWhere stops a call whose argument has one of the bits.
func toldWhere(number uint32, arg int, bits uint32) check {
	return check{number, []bpf.Instruction{argument(arg), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: bits, SkipTrue: 1}, told()}}
}

// listenCalls stops the calls that change files, of this thread and of all that
// it starts. The file is where they are answered.
func listenCalls() (*os.File, error) {
	prog, err := program(changing())
	if err != nil {
		return nil, err
	}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(prog)))
	if errno != 0 {
		return nil, &MissingError{Part: partNotify, Err: fmt.Errorf("stopping system calls for undo: %w", errno), Hint: "Linux 5.19 or later; or leave --undo out"}
	}
	return os.NewFile(fd, fileCalls), nil
}
