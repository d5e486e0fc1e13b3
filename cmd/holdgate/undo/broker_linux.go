package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Broker makes the changes of a confined agent in its working folder.
type Broker struct {
	run   *Run
	calls *os.File // where the kernel says what was called
	stop  *os.File // closing it ends the broker
	box   int      // the root that the agent sees
	space string   // the mount namespace of that

	callers   callers
	protected []string // in the root: never changed, and never moved
	files     map[identity]bool
	done      sync.WaitGroup
	err       error
	full      bool
	terms     Terms
	lets      lets
}

// Serve serves the calls of an agent until it has ended or the broker is closed.
// calls and pid are of its sandbox.
func (r *Run) Serve(calls *os.File, pid int, terms Terms) (*Broker, error) {
	b := &Broker{run: r, calls: calls, terms: terms, callers: newCallers(), box: -1, files: map[identity]bool{}}
	for _, path := range terms.Protected {
		rel, err := filepath.Rel(r.Root, path)
		if err != nil || !filepath.IsLocal(rel) {
			if within(r.Root, path) {
				return nil, fmt.Errorf("%s lies in %s, which the agent must not change", r.Root, path)
			}
			continue
		}
		b.protected = append(b.protected, rel)
		if st, err := stat(unix.AT_FDCWD, path); err == nil {
			b.files[st.id] = true
		}
	}
	var err error
	if b.space, err = os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid)); err == nil {
		b.box, err = unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("reaching into the confinement: %w", err)
	}
	stopped, stop, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, unix.Close(b.box))
	}
	b.stop = stop
	ready := make(chan error)
	b.done.Go(func() {
		defer stopped.Close()
		if err := ownThread(); err != nil {
			ready <- err
			return
		}
		close(ready)
		b.err = b.serve(int(calls.Fd()), int(stopped.Fd()))
		b.callers.close()
		_ = calls.Close() // what is called from now on fails, and does not wait
	})
	if err := <-ready; err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close ends the broker; what the agent still calls fails then. It may be called
// once.
func (b *Broker) Close() error {
	err := b.stop.Close()
	b.done.Wait()
	_ = b.calls.Close() // where it served, that is done
	return errors.Join(b.err, err, unix.Close(b.box))
}

// ownThread makes this goroutine's thread one that can act for the agent. It is
// never used for anything else.
//
//   - No signal interrupts it: the kernel's answers would be lost.
//   - Its umask is none: the agent's own is used.
//   - It has no capability, as the agent has none: where the user is root the
//     agent must not write by us what it cannot write itself.
func ownThread() error {
	runtime.LockOSThread()
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		return fmt.Errorf("blocking signals: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("having a umask for one thread: %w", err)
	}
	unix.Umask(0)
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("giving capabilities up: %w", err)
	}
	return nil
}

// The kernel's structures (linux/seccomp.h).
type (
	notification struct {
		id    uint64
		pid   uint32
		flags uint32
		nr    int32
		arch  uint32
		ip    uint64
		args  [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}
	newFile struct {
		id    uint64
		flags uint32
		from  uint32
		to    uint32
		mode  uint32
	}
)

func ioctl(fd int, request uint, arg unsafe.Pointer) (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// serve answers calls, one after the other: changes never race with each other.
func (b *Broker) serve(calls, stop int) error {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(calls), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) // Linux 6.6: faster
	for {
		fds := []unix.PollFd{{Fd: int32(calls), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for what the agent calls: %w", err)
		}
		if fds[1].Revents != 0 || fds[0].Revents&unix.POLLIN == 0 && fds[0].Revents != 0 {
			return nil
		}
		if fds[0].Revents == 0 {
			continue
		}
		var n notification
		_, err := ioctl(calls, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
			continue // whoever called has ended
		}
		if err != nil {
			return fmt.Errorf("taking what the agent calls: %w", err)
		}
		delete(b.callers.changing, n.pid) // it has come to do it
		c := &call{Broker: b, notification: n, listener: calls}
		if err := c.answer(c.perform()); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("answering what the agent called: %w", err)
		}
	}
}

// A call is one system call that waits for its answer.
type call struct {
	*Broker
	notification
	listener int
}

// A result is what a call comes to.
type result struct {
	fd    int // for the agent, where open is set
	open  bool
	flags uint32 // of the descriptor
	err   error
}

// errContinue has the kernel make the call itself. In the working folder it
// fails then, for that is read-only: it is for other places.
var errContinue = errors.New("not in the folder")

// perform makes the call, or says that the kernel is to.
func (c *call) perform() result {
	do, ok := handlers[uint32(c.nr)]
	if !ok {
		return result{err: unix.ENOSYS}
	}
	return do(c)
}

// answer answers the call. A descriptor is closed here before the agent goes on:
// a program that it writes could else not be run at once.
func (c *call) answer(r result) error {
	a := response{id: c.id}
	switch {
	case errors.Is(r.err, errContinue), errors.Is(r.err, errNative):
		a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	case r.err != nil:
		a.errno = -int32(c.errno(r.err))
	case r.open:
		fd, err := ioctl(c.listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&newFile{id: c.id, from: uint32(r.fd), mode: r.flags}))
		_ = unix.Close(r.fd)
		if err != nil {
			a.errno = -int32(c.errno(err))
		}
		a.val = int64(fd)
	}
	_, err := ioctl(c.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a))
	return err
}

// errno is what the agent is told of an error.
func (c *call) errno(err error) unix.Errno {
	if errors.Is(err, errFull) {
		if !c.full {
			c.Broker.full = true
			c.terms.Lapsed()
		}
		return unix.EDQUOT
	}
	if e, ok := errors.AsType[unix.Errno](err); ok {
		return e
	}
	return unix.EIO
}

// alive reports whether the call still waits: what was read of its process is
// that process's then.
func (c *call) alive() bool {
	id := c.id
	_, err := ioctl(c.listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id))
	return err == nil
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// guarded reports whether a path must not be changed.
func (b *Broker) guarded(rel string) bool {
	for _, p := range b.protected {
		if len(rel) >= len(p) && strings.EqualFold(rel[:len(p)], p) && (len(rel) == len(p) || rel[len(p)] == '/') {
			return true
		}
	}
	return false
}

// pinned reports whether a path leads to one that must not be changed.
func (b *Broker) pinned(rel string) bool {
	for _, p := range b.protected {
		if rel == "." || len(p) >= len(rel) && strings.EqualFold(p[:len(rel)], rel) && (len(p) == len(rel) || p[len(rel)] == '/') {
			return true
		}
	}
	return false
}
