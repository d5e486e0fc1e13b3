package undo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A caller is a thread of the agent's that has called.
type caller struct {
	dir   int    // its folder in /proc, which is never another's
	group string // its process; empty: not known yet
	mask  uint32 // its umask
	known bool   // mask is
}

// callers are those of whom something is known. The umask is that of a process: a
// thread that changes it is seen, and until it calls again nobody knows whether it
// has come to do it.
type callers struct {
	of       map[uint32]*caller
	changing map[uint32]string // threads that change the umask of their process
	buf      [unix.PathMax + 64]byte
}

// maxCallers bounds the descriptors.
const maxCallers = 64

func newCallers() callers {
	return callers{of: map[uint32]*caller{}, changing: map[uint32]string{}}
}

func (cs *callers) close() {
	for pid := range cs.of {
		cs.forget(pid)
	}
}

func (cs *callers) forget(pid uint32) {
	if k := cs.of[pid]; k != nil {
		_ = unix.Close(k.dir)
		delete(cs.of, pid)
	}
}

// find returns what is known of a thread, which may be one that had its number before.
func (cs *callers) find(pid uint32) (*caller, error) {
	if k := cs.of[pid]; k != nil {
		return k, nil
	}
	if len(cs.of) >= maxCallers {
		cs.close()
	}
	dir, err := unix.Open("/proc/"+strconv.Itoa(int(pid)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	k := &caller{dir: dir}
	cs.of[pid] = k
	return k, nil
}

// readlink reads a link in the folder of a thread in /proc. Where that succeeds, what
// is known of the thread is about this one.
func (cs *callers) readlink(pid uint32, name string) (string, error) {
	for first := true; ; first = false {
		k, err := cs.find(pid)
		if err != nil {
			return "", err
		}
		n, err := unix.Readlinkat(k.dir, name, cs.buf[:])
		if err == nil {
			return string(cs.buf[:n]), nil
		}
		if !first || !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT) {
			return "", err
		}
		cs.forget(pid) // the number may be another's now
	}
}

// status reads the process and the umask of a thread.
func (cs *callers) status(pid uint32) (*caller, error) {
	k, err := cs.find(pid)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Openat(k.dir, "status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "status")
	defer f.Close()
	n, err := f.Read(cs.buf[:])
	if err != nil {
		return nil, err
	}
	field := func(name string) string {
		_, rest, _ := bytes.Cut(cs.buf[:n], []byte("\n"+name+":\t"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		return string(line)
	}
	mask, err := strconv.ParseUint(field("Umask"), 8, 32)
	if err != nil {
		return nil, fmt.Errorf("the kernel does not say what the umask is")
	}
	k.group, k.mask, k.known = field("Tgid"), uint32(mask), true
	for _, group := range cs.changing {
		if group == k.group {
			k.known = false
		}
	}
	return k, nil
}

// umask is that of the caller, of whom a link was read for this call.
func (c *call) umask() (uint32, error) {
	if k := c.callers.of[c.pid]; k != nil && k.known {
		return k.mask, nil
	}
	k, err := c.callers.status(c.pid)
	if err != nil {
		return 0, err
	}
	return k.mask, nil
}

// maskChanges takes note that a process has another umask from now on.
func (c *call) maskChanges() result {
	c.callers.forget(c.pid)
	k, err := c.callers.status(c.pid)
	if err != nil {
		return failed(unix.EINTR) // it has ended
	}
	for _, other := range c.callers.of {
		if other.group == k.group {
			other.known = false
		}
	}
	c.callers.changing[c.pid] = k.group
	return failed(errContinue)
}
