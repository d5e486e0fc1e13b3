package confine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackCommand makes the test binary an attacker: it ends with 0 where the
// attack worked.
const attackCommand = "attack"

// banner is what the victims' listeners say. An attack on one has worked when it
// was read, for what is redirected is answered too.
const banner = "VICTIM"

var attacks = map[string]func(args []string) error{
	"tcp":            func(a []string) error { return connectTo(unix.SOCK_STREAM, 0, a[0]) },
	"mptcp":          func(a []string) error { return connectTo(unix.SOCK_STREAM, unix.IPPROTO_MPTCP, a[0]) },
	"fastopen":       func(a []string) error { return fastOpen(0, a[0]) },
	"mptcp-fastopen": func(a []string) error { return fastOpen(unix.IPPROTO_MPTCP, a[0]) },
	"udp":            func(a []string) error { return dial("udp", a[0]) },
	"unix":           func(a []string) error { return dial("unix", a[0]) },
	"unixgram":       func(a []string) error { return dial("unixgram", a[0]) },
	"socket": func(a []string) error { // FAMILY TYPE PROTOCOL
		fd, err := unix.Socket(number(a[0]), number(a[1]), number(a[2]))
		if err == nil {
			unix.Close(fd)
		}
		return err
	},
	"pair-dgram": func(a []string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fds[0], []byte("hello"), 0, &unix.SockaddrUnix{Name: a[0]})
	},
	"pair-connect": func(a []string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fds[0], &unix.SockaddrUnix{Name: a[0]})
	},
	"io_uring": func([]string) error {
		var params [120]byte
		return errnoOf(unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0))
	},
	"keyring": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	},
	"read":    func(a []string) error { return reads(a[0]) },
	"symlink": func(a []string) error { return linked(os.Symlink, a) },
	"link":    func(a []string) error { return linked(os.Link, a) },
	"rename": func(a []string) error {
		to := filepath.Join(a[1], "renamed")
		if err := os.Rename(a[0], to); err != nil {
			return err
		}
		defer os.Rename(to, a[0])
		return reads(to)
	},
	"move": func(a []string) error {
		if err := os.Rename(a[0], a[0]+"-moved"); err != nil {
			return err
		}
		return os.Rename(a[0]+"-moved", a[0])
	},
	"opath": func(a []string) error {
		fd, err := unix.Open(a[0], unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return reads(fmt.Sprintf("/proc/self/fd/%d", fd))
	},
	"stat":  func(a []string) error { _, err := os.Stat(a[0]); return err },
	"chmod": func(a []string) error { return os.Chmod(a[0], 0o700) },
	"list": func(a []string) error {
		list, err := os.ReadDir(a[0])
		if err == nil && len(list) == 0 {
			err = errors.New("the folder is empty")
		}
		return err
	},
	"write": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			f.Close()
		}
		return err
	},
	"truncate": func(a []string) error { return os.Truncate(a[0], 1) },
	"remove":   func(a []string) error { return os.Remove(a[0]) },
	"signal":   func(a []string) error { return unix.Kill(number(a[0]), 0) },
	"pidfd": func(a []string) error {
		fd, err := unix.PidfdOpen(number(a[0]), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	},
	"pidfd_getfd": func(a []string) error {
		fd, err := unix.PidfdOpen(number(a[0]), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	},
	"ptrace": func(a []string) error {
		runtime.LockOSThread()
		return errnoOf(unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(number(a[0])), 0, 0, 0, 0))
	},
	"vm_readv": func(a []string) error {
		buf := make([]byte, 8)
		_, err := unix.ProcessVMReadv(number(a[0]), []unix.Iovec{{Base: &buf[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(number(a[1])), Len: 8}}, 0)
		return err
	},
	"prlimit": func(a []string) error {
		var lim unix.Rlimit
		if err := unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, nil, &lim); err != nil {
			return err
		}
		return unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, &lim, nil)
	},
	"setpriority": func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 0) },
	"affinity": func(a []string) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(number(a[0]), &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(number(a[0]), &set)
	},
	"tiocsti": func([]string) error {
		c := byte('\n')
		return errnoOf(unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
	},
	"open": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_RDWR|unix.O_NOCTTY, 0)
		if err == nil {
			f.Close()
		}
		return err
	},
	"x32": func([]string) error {
		_, _, errno := unix.Syscall(x32|uintptr(unix.SYS_GETPID), 0, 0, 0)
		if errno == unix.ENOSYS {
			return nil // the kernel has no x32, and was asked
		}
		return errnoOf(0, 0, errno)
	},
	"i386": func(a []string) error { return exec.Command(a[0]).Run() },
	"unmask": func(a []string) error { // in a further user namespace
		return inNewUser("umount "+a[0], a[1])
	},
	"remask": func(a []string) error {
		return inNewUser("mount --bind "+filepath.Dir(a[0])+" /mnt && umount /mnt/*", a[1])
	},
	"flush":   func([]string) error { return inNewUser("ip route flush table local", "") },
	"setns":   func(a []string) error { return setns(a[0]) },
	"inherit": func(a []string) error { return unix.Fstat(number(a[0]), &unix.Stat_t{}) },
	"outlive": func(a []string) error { // a grandchild in a session of its own
		c := exec.Command("sh", "-c", "sleep 1; echo > "+a[0])
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return c.Start()
	},
	"without": func(a []string) error { // NUMBER ERRNO COMMAND...: a kernel that lacks a call
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		call, e := uint32(number(a[0])), unix.Errno(number(a[1]))
		list := refused(e, call)
		if call == unix.SYS_CLONE { // threads of the runtime are not what is missing
			list = []check{where(call, 0, unix.CLONE_NEWUSER, e)}
		}
		if err := install(list); err != nil {
			return err
		}
		return syscall.Exec(a[2], a[2:], os.Environ())
	},
	"start": func(a []string) error { // KIND DIR: what run does first
		b, err := Start(Spec{Kind: a[0], Self: []string{"/proc/self/exe", Command}, Dir: a[1], Temp: a[1]})
		if err == nil {
			err = b.Close()
		}
		return err
	},
	"exec": func(a []string) error { return exec.Command(a[0], a[1:]...).Run() },
}

func attack(args []string) int {
	what, ok := attacks[args[0]]
	if !ok {
		fmt.Println("there is no attack", args[0])
		return 2
	}
	if err := what(args[1:]); err != nil {
		fmt.Println(args[0]+":", err)
		return 1
	}
	return 0
}

func number(s string) int {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

func errnoOf(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func sockaddr(addr string) (unix.Sockaddr, int) {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		panic(err)
	}
	if v4 := a.IP.To4(); v4 != nil {
		return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(v4)}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP)}, unix.AF_INET6
}

func connectTo(typ, proto int, addr string) error {
	sa, family := sockaddr(addr)
	fd, err := unix.Socket(family, typ, proto)
	if err != nil {
		return err
	}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	if err := unix.Connect(fd, sa); err != nil {
		return err
	}
	return hears(fd)
}

func fastOpen(proto int, addr string) error {
	sa, family := sockaddr(addr)
	fd, err := unix.Socket(family, unix.SOCK_STREAM, proto)
	if err != nil {
		return err
	}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	if err := unix.Sendto(fd, []byte("hello"), unix.MSG_FASTOPEN, sa); err != nil {
		return err
	}
	return hears(fd)
}

func hears(fd int) error {
	buf := make([]byte, 64)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return err
	}
	return heard(buf[:n])
}

func heard(b []byte) error {
	if !strings.HasPrefix(string(b), banner) {
		return fmt.Errorf("it was another that answered: %q", b)
	}
	return nil
}

func dial(network, addr string) error {
	c, err := net.Dial(network, addr)
	if err != nil {
		return err
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, err = io.WriteString(c, "hello") // the victim may have said its word and gone
	if network == "unixgram" {
		return err
	}
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	if err != nil {
		return err
	}
	return heard(buf[:n])
}

func reads(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		err = errors.New("the file is empty")
	}
	return err
}

func linked(link func(from, to string) error, a []string) error {
	to := filepath.Join(a[1], "linked")
	if err := link(a[0], to); err != nil {
		return err
	}
	defer os.Remove(to)
	return reads(to)
}

// inNewUser runs a command in a user and mount namespace below this one, and
// then reads a file.
func inNewUser(command, read string) error {
	if read != "" {
		command += "; cat " + read
	}
	out, err := exec.Command("unshare", "-Urm", "sh", "-ec", command).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

func setns(pid string) error {
	f, err := os.Open("/proc/" + pid + "/ns/net")
	if err != nil {
		return err
	}
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
}
