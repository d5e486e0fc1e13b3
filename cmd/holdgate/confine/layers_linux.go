package confine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// The parts of a layer.
const (
	layerUpper = "up"   // what was made and changed; of a file the agent's copy
	layerWork  = "work" // the kernel's own
)

// Layers are what an agent changes in [Spec.Private], apart from what it changes
// there for everybody: nothing. They last until [Layers.Remove], or until
// another process finds that theirs has ended.
type Layers struct {
	dir    string
	places []string
	held   *os.File
}

// OpenLayers makes an empty layer in dir for each place, and removes the layers
// that killed processes have left there.
func OpenLayers(dir string, places []string) (_ *Layers, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for what is private to the run: %w", err)
	}
	if err := removeStale(dir); err != nil {
		return nil, err
	}
	l := &Layers{places: places}
	if l.dir, err = os.MkdirTemp(dir, "run-"); err != nil {
		return nil, fmt.Errorf("making a folder for what is private to the run: %w", err)
	}
	if l.held, err = holdFolder(l.dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.dir))
	}
	for i := range places {
		if err := os.Mkdir(l.layer(i), 0o700); err != nil {
			return nil, errors.Join(err, l.Remove())
		}
	}
	return l, nil
}

// Dir is the folder for [Spec.Layers].
func (l *Layers) Dir() string { return l.dir }

func (l *Layers) layer(i int) string { return filepath.Join(l.dir, strconv.Itoa(i)) }

// holdFolder takes a folder for this process, for as long as the file is open.
func holdFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeStale removes what processes left that have ended.
func removeStale(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		held, herr := holdFolder(path)
		if errors.Is(herr, unix.EWOULDBLOCK) || errors.Is(herr, os.ErrNotExist) {
			continue // in use, or gone meanwhile
		}
		if herr == nil {
			herr = errors.Join(removeLayers(path), held.Close())
		}
		err = errors.Join(err, herr)
	}
	if err != nil {
		return fmt.Errorf("removing what earlier runs had of their own: %w", err)
	}
	return nil
}

// removeLayers removes a folder with layers, in which there may be folders that
// are closed even to their owner.
func removeLayers(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && err == nil {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return errors.Join(err, os.RemoveAll(dir))
}

// Remove removes the layers. The sandbox that used them must have ended.
func (l *Layers) Remove() error {
	return errors.Join(removeLayers(l.dir), l.held.Close())
}

// Changed counts the files that the agent made or changed in a place.
func (l *Layers) Changed(place string) (n int) {
	for i, p := range l.places {
		if p != place {
			continue
		}
		upper := filepath.Join(l.layer(i), layerUpper)
		if info, err := os.Stat(upper); err == nil && info.Mode().IsRegular() {
			return changedFile(upper, place)
		}
		_ = filepath.WalkDir(upper, func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				n++
			}
			return nil
		})
	}
	return n
}

func changedFile(copied, original string) int {
	a, errA := os.ReadFile(copied)
	b, errB := os.ReadFile(original)
	if errA == nil && errB == nil && string(a) == string(b) {
		return 0
	}
	return 1
}

// Keep copies the files that the agent made or changed at a path, and below it,
// to where they are for everybody. The path lies in one of the places. What the
// agent removed stays, and links and what else is no file are left out. The
// sandbox must have ended.
func (l *Layers) Keep(path string) (n int, err error) {
	for i, place := range l.places {
		if !within(path, place) {
			continue
		}
		upper := filepath.Join(l.layer(i), layerUpper)
		info, err := os.Lstat(upper)
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil // the sandbox never began
		}
		if err != nil {
			return 0, err
		}
		if info.Mode().IsRegular() {
			if changedFile(upper, place) == 0 {
				return 0, nil
			}
			return 1, keepFiles(filepath.Dir(upper), layerUpper, filepath.Dir(place), filepath.Base(place))
		}
		rel, err := filepath.Rel(place, path)
		if err != nil {
			return 0, err
		}
		return keepBelow(upper, place, rel)
	}
	return 0, fmt.Errorf("%s lies in no place that is private to the run", path)
}

// keepBelow copies what lies at rel in a layer. No link leads the copy out of
// either folder.
func keepBelow(upper, place, rel string) (n int, err error) {
	from, err := os.OpenRoot(upper)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := os.OpenRoot(place)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	err = fs.WalkDir(from.FS(), filepath.ToSlash(rel), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was changed there
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if err := copyKept(from, name, to, name); err != nil {
			return err
		}
		n++
		return nil
	})
	return n, err
}

func keepFiles(fromDir, fromName, toDir, toName string) error {
	from, err := os.OpenRoot(fromDir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(toDir)
	if err != nil {
		return err
	}
	defer to.Close()
	return copyKept(from, fromName, to, toName)
}

// copyKept puts a file in the place of another, whole or not at all.
func copyKept(from *os.Root, name string, to *os.Root, as string) (err error) {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(as), 0o700); err != nil {
		return err
	}
	temp := as + ".holdgate-keep"
	out, err := to.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err == nil {
		err = errors.Join(to.Chtimes(temp, info.ModTime(), info.ModTime()), to.Rename(temp, as))
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("keeping %s: %w", as, err), to.Remove(temp))
	}
	return err
}

// setUpPrivate lays a layer over each place that is private to the agent. shared
// says why it is none, where the kernel cannot and the spec allows that.
func setUpPrivate(s Spec) (shared string, err error) {
	for i, place := range s.Private {
		err := layOver(place, filepath.Join(s.Layers, strconv.Itoa(i)))
		if err == nil {
			continue
		}
		if !s.MayShare {
			return "", &MissingError{Part: partOverlay, Err: fmt.Errorf("%s: %w", place, err), Hint: "Linux 5.11 or later, and a state folder on a file system that overlayfs can write to (--state-dir)"}
		}
		for _, laid := range s.Private[:i] {
			_ = unix.Unmount(laid, unix.MNT_DETACH) // all or none: that is what is told
		}
		return fmt.Sprintf("overlayfs cannot be laid over %s: %v", place, err), nil
	}
	return "", nil
}

// layOver has what is changed at a place go to a layer.
func layOver(place, layer string) error {
	info, err := os.Stat(place)
	if err != nil {
		return err
	}
	upper, work := filepath.Join(layer, layerUpper), filepath.Join(layer, layerWork)
	if !info.IsDir() {
		b, err := os.ReadFile(place)
		if err == nil {
			err = os.WriteFile(upper, b, 0o600)
		}
		if err != nil {
			return err
		}
		return unix.Mount(upper, place, "", unix.MS_BIND, "")
	}
	if err := errors.Join(os.Mkdir(upper, 0o700), os.Mkdir(work, 0o700), os.Chmod(upper, info.Mode().Perm())); err != nil {
		return err
	}
	options := "userxattr"
	for _, dir := range []struct{ option, path string }{{"lowerdir", place}, {"upperdir", upper}, {"workdir", work}} {
		// By descriptor: a comma or colon in a path would be read as an option.
		fd, err := unix.Open(dir.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		options += fmt.Sprintf(",%s=/proc/self/fd/%d", dir.option, fd)
	}
	return unix.Mount("overlay", place, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
}
