package confine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const tmpDir = "/tmp"

// setUpMounts gives the agent its own view of the files. Nothing of it can be
// undone from inside, not from a further user namespace either: mounts that one
// was made with are locked.
func setUpMounts(m *passedFiles, s Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := setUpDev(); err != nil {
		return err
	}
	masks, err := aliases(s.Mask)
	if err != nil {
		return err
	}
	masks = append(masks, existing("/run/user")...)
	if m.shared, err = setUpPrivate(s); err != nil {
		return err
	}
	if err := setUpTemp(s); err != nil {
		return err
	}
	for _, path := range slices.Concat(masks, s.ReadOnly) {
		if err := pin(path, append([]string{s.Dir}, s.Write...)); err != nil {
			return err
		}
	}
	for _, dir := range masks {
		if err := mask(dir); err != nil {
			return err
		}
	}
	for _, path := range append(slices.Clone(s.ReadOnly), "/proc/sys") {
		if err := bindReadOnly(path); err != nil {
			return err
		}
	}
	if err := setUpUndo(s); err != nil {
		return err
	}
	return setUpResolver()
}

// setUpUndo makes the folder that the agent works in read-only, wherever it is
// seen, and keeps it in its place.
func setUpUndo(s Spec) error {
	if !s.Undo {
		return nil
	}
	if within(tmpDir, s.Dir) || within("/proc", s.Dir) || within("/dev", s.Dir) {
		return fmt.Errorf("%s holds what the agent has of its own, so that nothing in it can be undone: work in another folder, or leave --undo out", s.Dir)
	}
	if err := unix.Chdir("/"); err != nil { // what was entered before is no read-only mount
		return err
	}
	dirs, err := aliases([]string{s.Dir})
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := pin(dir, s.Write); err != nil {
			return err
		}
		if err := bindReadOnly(dir); err != nil {
			return err
		}
	}
	return nil
}

// pin keeps what leads to a path from being moved away by somebody who may write
// in the roots: each folder between a root and the path becomes a mount, which
// cannot be renamed.
func pin(path string, roots []string) error {
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		at := root
		steps := strings.Split(rel, string(filepath.Separator))
		for _, step := range steps[:len(steps)-1] {
			at = filepath.Join(at, step)
			info, err := os.Lstat(at)
			if errors.Is(err, os.ErrNotExist) {
				break // hidden already
			}
			if err == nil && !info.IsDir() {
				return fmt.Errorf("%s is a link that the agent could lead elsewhere, and %s lies behind it: name the path that it leads to", at, path)
			}
			if err := unix.Mount(at, at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
				return fmt.Errorf("keeping %s in its place: %w", at, err)
			}
		}
	}
	return nil
}

// mask puts an empty folder that cannot be written over dir, or nothing over a
// file.
func mask(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // below another that is masked already
	}
	if err == nil && !info.IsDir() {
		return unix.Mount("/dev/null", dir, "", unix.MS_BIND, "")
	}
	err = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4k,nr_inodes=2,mode=0555")
	if err != nil {
		return fmt.Errorf("masking %s: %w", dir, err)
	}
	return nil
}

// existing are those of the paths that there are.
func existing(paths ...string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { _, err := os.Stat(p); return err != nil })
}

// bindReadOnly makes path, with all below it, one that nobody here can write.
func bindReadOnly(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil // masked
	}
	if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %s: %w", path, err)
	}
	err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("making %s read-only: %w", path, err)
	}
	return nil
}

// A tree is an open path that can be bound after what leads to it was hidden.
type tree struct {
	path     string
	fd       int
	dir      bool
	readOnly bool
}

func openTree(path string) (tree, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return tree{}, fmt.Errorf("opening %s: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return tree{}, errors.Join(err, unix.Close(fd))
	}
	return tree{path: path, fd: fd, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// bindAt puts the tree at a path, which is made where it is missing.
func (t tree) bindAt(path string) error {
	defer unix.Close(t.fd)
	at := path
	if !t.dir {
		at = filepath.Dir(path)
	}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	if !t.dir {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", t.fd), path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %s: %w", path, err)
	}
	if !t.readOnly {
		return nil
	}
	return unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// setUpTemp gives the agent a /tmp of its own, in which what it works with is at
// its place.
func setUpTemp(s Spec) error {
	if within(tmpDir, s.Dir) {
		return nil // it works in a folder that holds all of /tmp
	}
	temp, err := openTree(s.Temp)
	if err != nil {
		return err
	}
	var kept []tree
	work := append([]string{s.Dir}, s.Write...)
	for _, path := range append(slices.Clone(work), s.Keep...) {
		if !within(path, tmpDir) || path == tmpDir {
			continue
		}
		t, err := openTree(path)
		if err != nil {
			return err
		}
		t.readOnly = !slices.Contains(work, path) // Landlock lets all of /tmp be written
		kept = append(kept, t)
	}
	slices.SortFunc(kept, func(a, b tree) int { return strings.Compare(a.path, b.path) }) // a folder before what is in it
	if err := temp.bindAt(tmpDir); err != nil {
		return err
	}
	for _, t := range kept {
		if err := t.bindAt(t.path); err != nil {
			return err
		}
	}
	return nil
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// setUpDev makes a /dev with what every program may use: no disks, no devices,
// no terminals of others.
func setUpDev() error {
	var kept []tree
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		t, err := openTree("/dev/" + name)
		if err != nil {
			return err
		}
		kept = append(kept, t)
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "size=64k,mode=0755"); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	for _, t := range kept {
		if err := t.bindAt(t.path); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600"); err != nil {
		return fmt.Errorf("mounting /dev/pts: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("mounting /dev/shm: %w", err)
	}
	for link, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, "/dev/"+link); err != nil {
			return err
		}
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/dev", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// openTerminal makes the agent's terminal: its other side goes out.
func openTerminal(m *passedFiles) (fd int, err error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return noTerminal, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		fd, err = unix.Open(fmt.Sprintf("/dev/pts/%d", number), unix.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return noTerminal, errors.Join(err, master.Close())
	}
	m.add(fileTerminal, master)
	return fd, nil
}

// setUpResolver has questions for names asked where they are answered, and
// names taken as they are.
func setUpResolver() error {
	const path = "/etc/resolv.conf"
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // programs ask 127.0.0.1 then, which is answered as well
	}
	f, err := os.CreateTemp("/dev/shm", "resolv")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("nameserver 127.0.0.1\nsearch .\n")
	if err := errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
		return err
	}
	if err := unix.Mount(f.Name(), real, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("binding %s: %w", path, err)
	}
	return unix.MountSetattr(unix.AT_FDCWD, real, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// aliases are the folders, and every other place where a mount shows the same.
func aliases(dirs []string) ([]string, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	all := slices.Clone(dirs)
	for _, dir := range dirs {
		var st syscall.Stat_t
		if err := syscall.Stat(dir, &st); err != nil {
			return nil, fmt.Errorf("finding %s: %w", dir, err)
		}
		of, ok := mountOf(mounts, dir)
		if !ok {
			continue
		}
		inside := filepath.Join(of.root, strings.TrimPrefix(dir, of.at))
		for _, m := range mounts {
			if !within(inside, m.root) {
				continue
			}
			at := filepath.Join(m.at, strings.TrimPrefix(inside, m.root))
			var other syscall.Stat_t
			if syscall.Stat(at, &other) == nil && other.Dev == st.Dev && other.Ino == st.Ino && !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all, nil
}

// A mountPoint is where a part of a file system is mounted.
type mountPoint struct{ root, at string }

// readMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)).
func readMounts() ([]mountPoint, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var list []mountPoint
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if fields := strings.Fields(sc.Text()); len(fields) > 4 {
			list = append(list, mountPoint{plain.Replace(fields[3]), plain.Replace(fields[4])})
		}
	}
	return list, sc.Err()
}

// mountOf is the mount that a path lies in: of those that hold it the innermost,
// and of several there the last.
func mountOf(mounts []mountPoint, path string) (best mountPoint, ok bool) {
	for _, m := range mounts {
		if within(path, m.at) && len(m.at) >= len(best.at) {
			best, ok = m, true
		}
	}
	return best, ok
}
