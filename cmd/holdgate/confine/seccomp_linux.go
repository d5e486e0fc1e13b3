package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h). Only the low half of an
// argument is looked at: those that are looked at are ints, of which the kernel
// takes no more. All systems here are little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

func argument(n int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: uint32(offArgs + 8*n), Size: 4}
}

func refuse(e unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

// A check is what becomes of a system call. Where its instructions end without
// a verdict the call is allowed, unless another check of its number says no.
type check struct {
	number uint32
	body   []bpf.Instruction
}

// refused refuses calls whole.
func refused(e unix.Errno, numbers ...uint32) (list []check) {
	for _, n := range numbers {
		list = append(list, check{n, []bpf.Instruction{refuse(e)}})
	}
	return list
}

// unless refuses a call whose argument is not the value.
func unless(number uint32, arg int, value uint32, e unix.Errno) check {
	return check{number, []bpf.Instruction{argument(arg), bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1}, refuse(e)}}
}

// where refuses a call whose argument has one of the bits.
func where(number uint32, arg int, bits uint32, e unix.Errno) check {
	return check{number, []bpf.Instruction{argument(arg), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: bits, SkipTrue: 1}, refuse(e)}}
}

// anyOf refuses a call whose argument is one of the values.
func anyOf(number uint32, arg int, e unix.Errno, values ...uint32) check {
	body := []bpf.Instruction{argument(arg)}
	for _, v := range values {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, refuse(e))
	}
	return check{number, body}
}

const sockType = 0xf // SOCK_TYPE_MASK: the rest are flags

// checks are the calls that lead around a confinement.
func checks(kind string) []check {
	list := refused(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
	list = append(list, sockets(kind), pairs())
	list = append(list,
		where(unix.SYS_SENDTO, 3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		where(unix.SYS_SENDMSG, 2, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		where(unix.SYS_SENDMMSG, 3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		anyOf(unix.SYS_IOCTL, 1, unix.EPERM, unix.TIOCSTI, unix.TIOCLINUX),
		unless(unix.SYS_PRLIMIT64, 0, 0, unix.EPERM),
		unless(unix.SYS_SETPRIORITY, 0, unix.PRIO_PROCESS, unix.EPERM),
		unless(unix.SYS_SETPRIORITY, 1, 0, unix.EPERM),
		unless(unix.SYS_IOPRIO_SET, 0, 1, unix.EPERM), // IOPRIO_WHO_PROCESS
		unless(unix.SYS_IOPRIO_SET, 1, 0, unix.EPERM),
	)
	for _, n := range []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER} {
		list = append(list, unless(n, 0, 0, unix.EPERM))
	}
	// Keys that the user's other programs keep in the kernel are no business of
	// the agent's.
	return append(list, refused(unix.ENOSYS, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY)...)
}

// sockets lets TCP, UDP (where the network is the agent's own) and routing
// netlink through. A path socket would lead to tmux, D-Bus or docker.
func sockets(kind string) check {
	// Jumps are counted from the end: 0 is what follows the last instruction.
	body := []bpf.Instruction{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
		refuse(unix.EAFNOSUPPORT),
		argument(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipTrue: 5, SkipFalse: 4},
	}
	udp := []bpf.Instruction{
		argument(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipTrue: 1},
		refuse(unix.EPROTONOSUPPORT),
	}
	if kind != Weak {
		return check{unix.SYS_SOCKET, append(body, udp...)}
	}
	// Without a network of the agent's own nothing keeps datagrams.
	return check{unix.SYS_SOCKET, append(body, append(udp,
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 4},
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
		refuse(unix.EACCES),
	)...)}
}

// pairs refuses pairs of datagram sockets: such a socket can be sent from to any
// path.
func pairs() check {
	return check{unix.SYS_SOCKETPAIR, []bpf.Instruction{
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_DGRAM, SkipTrue: 1},
		refuse(unix.EPROTONOSUPPORT),
	}}
}

// assemble makes a program of checks. What is not checked is allowed; calls of
// another architecture end the process.
func assemble(list []check) ([]bpf.RawInstruction, error) {
	if auditArch == 0 {
		return nil, errors.New("there is no filter for this processor")
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
	}
	for _, c := range list {
		program = append(program, bpf.LoadAbsolute{Off: offNumber, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: uint8(len(c.body))})
		program = append(program, c.body...)
	}
	return bpf.Assemble(append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
}

// x32 marks calls of the x32 interface; elsewhere no call has such a number.
const x32 = 0x40000000

// filterCalls filters the calls of this thread, and of all that it starts.
func filterCalls(kind string) error {
	return install(checks(kind))
}

func install(list []check) error {
	prog, err := program(list)
	if err == nil {
		if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(prog))); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		return &MissingError{Part: partSeccomp, Err: fmt.Errorf("filtering system calls: %w", err), Hint: "the kernel needs CONFIG_SECCOMP_FILTER"}
	}
	return nil
}

// program is what the kernel takes of checks.
func program(list []check) (*unix.SockFprog, error) {
	raw, err := assemble(list)
	if err != nil {
		return nil, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}, nil
}
