package undo

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate"
)

// lets are what calls that go on may change of what runs later. It is safe for
// concurrent use.
type lets struct {
	mu   sync.Mutex
	list []let
}

// A let is that of one call. Ended it may be another's.
type let struct {
	call  string
	may   holdgate.Later
	until time.Time
}

// maxLets bounds calls of which no end was seen.
const maxLets = 200

// longestLet is how long a call is let whose end is not seen: the agent dropped it, its
// session is over, or the sidecar is another. Agents end a command after 10 minutes at the
// latest; before, other calls of the same answer may wait for a person. A request of the
// session that lacks the result says nothing: agents of one session work side by side.
const longestLet = 30 * time.Minute

// Let lets the agent change what runs later, as far as a call says, until [Broker.Ended],
// and for [longestLet] at most.
func (b *Broker) Let(call string, may holdgate.Later) {
	b.lets.mu.Lock()
	defer b.lets.mu.Unlock()
	if len(b.lets.list) == maxLets {
		b.lets.list = b.lets.list[1:]
	}
	b.lets.list = append(b.lets.list, let{call, may, time.Now().Add(longestLet)})
}

// Ended takes back what a call was let.
func (b *Broker) Ended(call string) {
	b.lets.mu.Lock()
	defer b.lets.mu.Unlock()
	for i, l := range b.lets.list {
		if l.call == call {
			b.lets.list = append(b.lets.list[:i:i], b.lets.list[i+1:]...)
			return
		}
	}
}

// cover reports whether one of them covers a path, by either way of [holdgate.Later].
func (l *lets) cover(covers func(holdgate.Later, string) bool, path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return slices.ContainsFunc(l.list, func(one let) bool { return now.Before(one.until) && covers(one.may, path) })
}

// later refuses a change of what runs later, where no call that goes on may make it.
func (c *call) later(rel string) error { return c.laterBy(holdgate.Later.Covers, rel) }

// laterGone is [call.later] for a name that goes. What the run itself has made may.
func (c *call) laterGone(rel string, st status) error {
	if c.run.tree.made(st) {
		return nil
	}
	return c.laterBy(holdgate.Later.CoversRemoval, rel)
}

func (c *call) laterBy(covers func(holdgate.Later, string) bool, rel string) error {
	if c.terms.Later == nil || !c.terms.Later(rel) || c.lets.cover(covers, filepath.Join(c.run.Root, rel)) {
		return nil
	}
	c.terms.Refused(rel)
	return unix.EACCES
}

// laterMode is [call.later] for a file that is to be run as a program.
func (c *call) laterMode(p place, st status, mode uint32) error {
	if st.folder() || mode&0o111&^st.was.Mode == 0 || isGitConfig(p.rel) { // git tries that on its configuration
		return nil
	}
	return c.later(p.rel)
}

// laterMoved is [call.later] for what is moved: it must not become what runs later, nor,
// unless the run has made it, cease to be. So is what lies in a folder, unless both names
// mean the same for all below them.
func (c *call) laterMoved(from place, to string) error {
	st, err := from.stat()
	if err != nil || c.terms.Later == nil {
		return nil // the move says why it fails
	}
	if !st.folder() {
		if err := c.laterGone(from.rel, st); err != nil {
			return err
		}
		return c.later(to)
	}
	fd, err := unix.Openat2(from.dir, from.name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
	if err != nil {
		return err
	}
	left := maxMoved
	return c.laterBelow(fd, from.rel, to, &left)
}

// maxMoved is how many files a folder may hold that gets another name.
const maxMoved = 200_000

// laterBelow looks through an open folder, which it closes.
func (c *call) laterBelow(fd int, from, to string, left *int) error {
	names, err := entries(fd)
	defer unix.Close(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		was, is := filepath.Join(from, name), filepath.Join(to, name)
		if *left--; *left < 0 {
			return unix.EXDEV // it is copied then, file by file
		}
		st, err := stat(fd, name)
		if err != nil {
			return err
		}
		if st.folder() {
			below, err := unix.Openat2(fd, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
			if err == nil {
				err = c.laterBelow(below, was, is, left)
			}
			if err != nil {
				return err
			}
			continue
		}
		switch before, after := c.terms.Later(was), c.terms.Later(is); {
		case after && !before:
			err = c.later(is)
		case before && !after:
			err = c.laterGone(was, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries are the names in an open folder.
func entries(fd int) ([]string, error) {
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// laterRename is [call.later] for both names of a move.
func (c *call) laterRename(a, b place, flags uint) error {
	if err := c.laterMoved(a, b.rel); err != nil {
		return err
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		return c.laterMoved(b, a.rel)
	}
	return nil
}

// maxConfig bounds a configuration of git's that is read.
const maxConfig = 1 << 20

// configured moves a configuration of git's, as git writes it: to the name of the old one.
// It may where it sets nothing that makes programs run, beyond what the old one did. What
// takes the name is a copy of what was read: a descriptor of the agent's does not lead
// there. done says that this is what was asked for.
func (c *call) configured(a, b place, flags uint) (done bool, err error) {
	if c.terms.Later == nil || flags != 0 || !isGitConfig(b.rel) || !c.terms.Later(b.rel) || c.lets.cover(holdgate.Later.Covers, filepath.Join(c.run.Root, b.rel)) {
		return false, nil
	}
	st, err := a.stat()
	if err != nil || st.kind() != unix.S_IFREG || c.terms.Later(a.rel) {
		return false, nil
	}
	now, err := c.content(a)
	if err != nil {
		return false, nil
	}
	old, err := c.content(b)
	if err != nil && !errors.Is(err, unix.ENOENT) || !plainGitConfig(old, now, strings.Contains(b.rel, ".git/modules/")) {
		return false, nil
	}
	t := c.run.tree
	if err := t.unlink(a); err != nil {
		return true, err
	}
	fd, err := t.openNew(a, unix.O_WRONLY|unix.O_CREAT, st.was.Mode&0o777)
	if err != nil {
		return true, err
	}
	for rest := now; len(rest) > 0 && err == nil; {
		var n int
		n, err = unix.Write(fd, rest)
		rest = rest[max(n, 0):]
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return true, err
	}
	return true, t.rename(a, b, 0)
}

// content reads a small file. The agent may not have it locked.
func (c *call) content(p place) ([]byte, error) {
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var all bytes.Buffer
	buf := make([]byte, 64<<10)
	for all.Len() <= maxConfig {
		n, err := unix.Read(fd, buf)
		if n <= 0 || err != nil {
			return all.Bytes(), err
		}
		all.Write(buf[:n])
	}
	return nil, io.ErrShortBuffer
}

// isGitConfig reports whether a path is that of a configuration of git's.
func isGitConfig(rel string) bool {
	base := filepath.Base(rel)
	return (base == "config" || base == "config.worktree") && strings.Contains("/"+rel, "/.git/")
}
