package undo

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A sealer seals what was moved into an entry, file by file, behind the changes: a
// file is moved in no time, and sealed as soon as nobody else has use of the
// processor.
type sealer struct {
	dir     string
	objects int
	pack    *pack
	reserve int64

	mu      sync.Mutex
	waiting [][]int64
	more    chan struct{} // something waits
	ended   chan struct{} // closed: nothing comes any more
	done    chan struct{}
	err     error
}

// sealEvery is how often files are sealed. Each time waits for the disk, which makes
// others wait too.
const sealEvery = time.Second

// What is sealed between two waits for the disk.
const (
	batchFiles = 1024
	batchBytes = 64 << 20
)

// maxNames is how many names of one file are sealed: more stay as they are.
const maxNames = 1000

// startSealer opens the pack of an entry whose objects are in an open folder.
func startSealer(entry string, objects int, aead cipher.AEAD, reserve int64) (*sealer, error) {
	p, err := openPack(entry, fileMoved, aead)
	if err != nil {
		return nil, err
	}
	s := &sealer{dir: filepath.Join(entry, fileObjects), objects: objects, pack: p, reserve: reserve, more: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s, nil
}

// moved tells of a file that is in the entry now.
func (s *sealer) moved(n int64) {
	s.mu.Lock()
	s.waiting = append(s.waiting, []int64{n})
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// run seals files until there will be no more, on a thread that gives way to others.
func (s *sealer) run() {
	defer close(s.done)
	runtime.LockOSThread() // and it ends with this
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19)
	for over := false; !over; {
		select {
		case <-s.more:
			select {
			case <-time.After(sealEvery):
			case <-s.ended:
			}
		case <-s.ended:
			over = true
		}
		s.mu.Lock()
		list := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		if s.err == nil {
			s.err = s.seal(list)
		}
	}
}

// close seals what is left, also what an earlier process left, and closes the pack.
func (s *sealer) close() error {
	close(s.ended)
	<-s.done
	err := s.err
	if err == nil {
		err = s.rest()
	}
	if err != nil {
		err = fmt.Errorf("sealing what is kept for undo: %w", err)
	}
	return errors.Join(err, s.pack.close())
}

// seal seals files, and removes them once they are on the disk. Each is the records
// that removed its names, in their order. What is not sealed now is by the next run.
func (s *sealer) seal(list [][]int64) error {
	for len(list) > 0 {
		var sealed []int64
		for began := s.pack.end; len(list) > 0 && len(sealed) < batchFiles && s.pack.end-began < batchBytes; list = list[1:] {
			ok, err := s.one(list[0])
			if err != nil {
				return errors.Join(fatal(err), s.remove(sealed))
			}
			if ok {
				sealed = append(sealed, list[0]...)
			}
		}
		if err := s.remove(sealed); err != nil {
			return err
		}
	}
	return nil
}

// room reports whether so many bytes can be sealed before what they were made of goes:
// the reserve of the disk stays free, and a pack is no larger than a file may be.
func (s *sealer) room(bytes int64) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(s.pack.f.Fd()), &st); err != nil {
		return false, err
	}
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &most); err != nil {
		return false, err
	}
	bytes += bytes/256 + chunk // frames, and what it was beside its content
	return int64(st.Bavail)*st.Bsize-s.reserve >= bytes && uint64(s.pack.end+bytes) <= most.Cur, nil
}

// fatal is an error, but where there is no room.
func fatal(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return nil
	}
	return err
}

// remove removes files that are sealed.
func (s *sealer) remove(list []int64) error {
	if len(list) == 0 {
		return nil
	}
	if err := unix.Fdatasync(int(s.pack.f.Fd())); err != nil {
		return err
	}
	for _, n := range list {
		if err := unix.Unlinkat(s.objects, object(n), 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// one seals a file, of which all names are in the entry. It reports false where the file
// stays: what is no content, could not be made again as it was, or has no room.
func (s *sealer) one(names []int64) (bool, error) {
	n := names[len(names)-1]
	st, err := stat(s.objects, object(n))
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if st.kind() != unix.S_IFREG || int(st.nlink) != len(names) || !ours(st) {
		return false, nil
	}
	if fits, err := s.room(st.blocks); !fits {
		return false, err
	}
	if st.was.Mode&0o400 == 0 {
		if err := unix.Fchmodat(s.objects, object(n), st.was.Mode&0o7777|0o400, 0); err != nil {
			return false, err
		}
	}
	fd, err := unix.Openat(s.objects, object(n), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	attrs, err := attributes(fd)
	if err != nil || attrs["security.capability"] != nil {
		return false, err
	}
	others := names[:len(names)-1]
	err = s.pack.add(n, header{Size: st.size, Was: st.was, GID: st.gid, Attrs: attrs, Names: others}, fd)
	for _, other := range others {
		if err == nil {
			err = s.pack.add(other, header{Of: n}, fd)
		}
	}
	return err == nil, err
}

// ours reports whether a file can be made again with the owner that it has.
func ours(st status) bool {
	if int(st.uid) != unix.Geteuid() {
		return false
	}
	groups, _ := unix.Getgroups()
	return int(st.gid) == unix.Getegid() || slices.Contains(groups, int(st.gid))
}

// rest seals what is still in the entry: also files with several names, where all of them
// are here. Of the others somebody has the content in the open anyhow.
func (s *sealer) rest() error {
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	of := map[identity][]int64{}
	for _, e := range list {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil {
			_ = os.Remove(filepath.Join(s.dir, e.Name())) // it was being brought back
			continue
		}
		st, err := stat(s.objects, e.Name())
		if err != nil {
			return err
		}
		if st.kind() == unix.S_IFREG {
			of[st.id] = append(of[st.id], n)
		}
	}
	var files [][]int64
	for _, names := range of {
		if slices.Sort(names); len(names) <= maxNames {
			files = append(files, names)
		}
	}
	return s.seal(files)
}

// attributes are the extended attributes of an open file.
func attributes(fd int) (map[string][]byte, error) {
	size, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.EOPNOTSUPP) || err == nil && size == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(fd, list); err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, name := range strings.Split(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		size, err := unix.Fgetxattr(fd, name, nil)
		if err != nil {
			return nil, err
		}
		value := make([]byte, size)
		if size > 0 {
			if size, err = unix.Fgetxattr(fd, name, value); err != nil {
				return nil, err
			}
		}
		all[name] = value[:size]
	}
	return all, nil
}

// unpack makes a file of a pack again, in the folder of objects, with all names that
// it had there, whichever of its records is named. tell learns what it is now, before it has a name.
func (p *pack) unpack(objects int, n int64, tell func(now identity) error) (err error) {
	h, err := p.head(n)
	if err == nil && h.Of != 0 {
		n = h.Of
		h, err = p.head(n)
	}
	if err != nil {
		return err
	}
	name := object(n) + ".new"
	_ = unix.Unlinkat(objects, name, 0)
	fd, err := unix.Openat(objects, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(objects, name, 0)
		}
	}()
	if err := p.copyTo(fd, n); err != nil {
		return err
	}
	if err := h.set(fd); err != nil {
		return err
	}
	st, err := stat(fd, "")
	if err == nil {
		err = tell(st.id)
	}
	for _, other := range h.Names {
		if err == nil {
			_ = unix.Unlinkat(objects, object(other), 0)
			err = unix.Linkat(objects, name, objects, object(other), 0)
		}
	}
	if err != nil {
		return err
	}
	return unix.Renameat(objects, name, objects, object(n))
}

// set gives a new file what it had beside its content.
func (h header) set(fd int) error {
	st, err := stat(fd, "")
	if err != nil {
		return err
	}
	if st.gid != h.GID {
		if err := unix.Fchown(fd, -1, int(h.GID)); err != nil {
			return err
		}
	}
	for name, value := range h.Attrs {
		// What the system gives to files by itself cannot be set, and need not be.
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil && (strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl")) {
			return err
		}
	}
	if err := unix.Fchmod(fd, h.Was.Mode&0o7777); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, procFD(fd), []unix.Timespec{unix.NsecToTimespec(h.Was.Atime), unix.NsecToTimespec(h.Was.Mtime)}, 0)
}
