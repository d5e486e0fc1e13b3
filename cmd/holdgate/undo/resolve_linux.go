package undo

import (
	"bytes"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links a path may lead through, as in the kernel.
const maxLinks = 40

// memory reads bytes of the caller's memory.
func (c *call) memory(at uint64, buf []byte) (int, error) {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	return unix.ProcessVMReadv(int(c.pid), local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(buf)}}, 0)
}

// text reads a string of the caller's memory.
func (c *call) text(at uint64) (string, error) {
	if at == 0 {
		return "", unix.EFAULT
	}
	var all []byte
	page := uint64(os.Getpagesize())
	for len(all) < unix.PathMax {
		buf := make([]byte, min(page-at%page, uint64(unix.PathMax-len(all))))
		n, err := c.memory(at, buf)
		if err != nil {
			return "", unix.EFAULT
		}
		if end := bytes.IndexByte(buf[:n], 0); end >= 0 {
			return string(append(all, buf[:end]...)), nil
		}
		if n == 0 {
			return "", unix.EFAULT
		}
		all, at = append(all, buf[:n]...), at+uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

// A target is where a path of the agent's leads to.
type target struct {
	place
	dot bool // the path ends in a dot
}

// proc is a path of what the kernel says of the caller.
func (c *call) proc(name string) string { return "/proc/" + strconv.Itoa(int(c.pid)) + "/" + name }

// folderOf is the folder that a descriptor stands for, as the agent sees it.
func (c *call) folderOf(dirfd int32) (string, error) {
	if dirfd == unix.AT_FDCWD {
		return c.callers.readlink(c.pid, "cwd")
	}
	at, err := c.callers.readlink(c.pid, "fd/"+strconv.Itoa(int(dirfd)))
	if errors.Is(err, os.ErrNotExist) {
		err = unix.EBADF
	}
	return at, err
}

// mine makes sure that the caller sees the files that its sandbox does. One that
// made itself another view gets what the kernel gives it.
func (c *call) mine() error {
	if root, err := c.callers.readlink(c.pid, "root"); err != nil || root != "/" {
		return errContinue
	}
	if space, err := c.callers.readlink(c.pid, "ns/mnt"); err != nil || space != c.space {
		return errContinue
	}
	return nil
}

// target finds where a path leads to. It is [errContinue] for what lies outside
// of the folder. follow says whether a link at its end is followed.
func (c *call) target(dirfd int32, at uint64, follow bool) (target, error) {
	text, err := c.text(at)
	if err != nil {
		return target{}, err
	}
	if text == "" {
		return target{}, unix.ENOENT
	}
	if fd, ok := descriptor(text); ok && follow {
		p, err := c.opened(fd)
		return target{place: p}, err
	}
	from := "/"
	if !strings.HasPrefix(text, "/") {
		if from, err = c.folderOf(dirfd); err != nil {
			return target{}, err
		}
		if !strings.HasPrefix(from, "/") {
			return target{}, errContinue // a descriptor of something else
		}
	}
	if err := c.mine(); err != nil {
		return target{}, err
	}
	if !c.alive() {
		return target{}, unix.EINTR // nobody reads it
	}
	base := path.Base(text)
	t := target{dot: base == "." || base == ".."}
	slash := strings.HasSuffix(text, "/")
	t.place, err = c.find(from, text, follow || slash || t.dot)
	if err == nil && slash {
		err = t.onlyFolder()
	}
	return t, err
}

// descriptor is the number in a path that stands for what the caller has open.
func descriptor(text string) (int32, bool) {
	for _, prefix := range []string{"/proc/self/fd/", "/dev/fd/"} {
		if digits, ok := strings.CutPrefix(text, prefix); ok {
			n, err := strconv.ParseInt(digits, 10, 32)
			return int32(n), err == nil
		}
	}
	return 0, false
}

// onlyFolder refuses what is no folder, for a path that ends in a slash.
func (t *target) onlyFolder() error {
	if st, err := t.stat(); err == nil && !st.folder() {
		t.close()
		return unix.ENOTDIR
	}
	return nil
}

// find opens the folder in which a path ends.
func (c *call) find(from, text string, follow bool) (place, error) {
	full := from + "/" + text
	if clean := path.Clean(full); within(clean, c.run.Root) && !strings.Contains("/"+full+"/", "/../") {
		p, err := c.run.tree.at(c.rel(clean))
		switch st, serr := stat(p.dir, p.name); {
		case err != nil && !errors.Is(err, unix.ELOOP):
			return p, err
		case err == nil && (!follow || serr != nil || st.kind() != unix.S_IFLNK):
			return p, nil
		case err == nil:
			p.close()
		}
	}
	real, err := c.walk(from, text, follow)
	if err != nil {
		return place{}, err
	}
	if !within(real, c.run.Root) {
		return place{}, errContinue
	}
	p, err := c.run.tree.at(c.rel(real))
	if errors.Is(err, unix.ELOOP) {
		err = unix.EAGAIN // it was changed meanwhile
	}
	return p, err
}

// rel is a path in the folder.
func (c *call) rel(clean string) string {
	if rel := strings.TrimPrefix(strings.TrimPrefix(clean, c.run.Root), "/"); rel != "" {
		return rel
	}
	return "."
}

// walk follows a path through its links, as the agent sees them.
func (c *call) walk(from, text string, follow bool) (string, error) {
	now, links := from, 0
	rest := strings.Split(text, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			now = path.Dir(now)
			continue
		}
		next := path.Join(now, name)
		if within(next, "/proc") {
			return "", errContinue // magic links lead to what is open already
		}
		last := !strings.ContainsFunc(strings.Join(rest, "/"), func(r rune) bool { return r != '/' && r != '.' })
		last = last && !strings.Contains(strings.Join(rest, "/"), "..")
		if last && !follow {
			return next, nil
		}
		link, isLink, err := c.readlink(next)
		switch {
		case errors.Is(err, unix.ENOENT) && last:
			return next, nil
		case err != nil:
			return "", err
		case !isLink:
			now = next
			continue
		}
		if links++; links > maxLinks {
			return "", unix.ELOOP
		}
		if strings.HasPrefix(link, "/") {
			now = "/"
		}
		rest = append(strings.Split(link, "/"), rest...)
	}
	return now, nil
}

// readlink reads a path that may be a link, as the agent sees it.
func (c *call) readlink(at string) (link string, is bool, err error) {
	fd, err := unix.Openat2(c.box, "."+at, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return "", false, err
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return "", false, nil
	}
	return string(buf[:max(n, 0)]), err == nil, err
}

// opened finds what a descriptor of the agent's has open. It is [errContinue]
// where that is not in the folder under a name, or no name leads to it any
// longer.
func (c *call) opened(fd int32) (place, error) {
	at, err := c.folderOf(fd)
	if err != nil {
		return place{}, err
	}
	if !within(at, c.run.Root) {
		return place{}, errContinue
	}
	if err := c.mine(); err != nil {
		return place{}, err
	}
	var st unix.Stat_t
	err = unix.Stat(c.proc("fd/"+strconv.Itoa(int(fd))), &st)
	if err != nil || !c.alive() {
		return place{}, errContinue
	}
	p, err := c.run.tree.at(c.rel(at))
	if err != nil {
		return place{}, errContinue
	}
	if now, err := p.stat(); err != nil || now.id.Ino != st.Ino {
		p.close()
		return place{}, errContinue
	}
	return p, nil
}
