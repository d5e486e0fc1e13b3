package undo

import (
	"cmp"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The files of an entry.
const (
	fileEntry   = "entry.json"
	fileJournal = "journal"
	fileObjects = "objects"
	fileEnded   = "ended"  // its modification time is when the run did
	fileUndone  = "undone" // there where all was taken back
)

// errFull says that an entry holds as much as it may.
var errFull = errors.New("what is kept for undo has reached its limit")

// errRunning says that a run has not ended yet.
var errRunning = errors.New("the run still goes on")

// idTime is how the name of an entry begins: with when it did.
const idTime = "20060102-150405-"

// A Store is a folder with the entries of runs.
type Store struct {
	dir  string
	o    Options
	aead cipher.AEAD
}

// Open opens the store in a folder, which is made where it is missing.
func Open(dir string, o Options) (*Store, error) {
	aead, err := newAEAD(o.Key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of what can be undone: %w", err)
	}
	return &Store{dir: dir, o: o, aead: aead}, nil
}

// A Run is an entry that changes are being added to.
type Run struct {
	Entry
	dir  string
	lock *os.File
	tree *tree
}

// Begin begins the entry of an agent that works in a folder.
func (s *Store) Begin(root, agent string) (*Run, error) {
	return s.begin(Entry{Root: root, Agent: agent})
}

func (s *Store) begin(e Entry) (_ *Run, err error) {
	e.Began = time.Now().UTC()
	e.ID = e.Began.Format(idTime) + strings.ToLower(rand.Text()[:6])
	r := &Run{Entry: e, dir: filepath.Join(s.dir, e.ID)}
	if err := os.MkdirAll(filepath.Join(r.dir, fileObjects), 0o700); err != nil {
		return nil, fmt.Errorf("making a place for what can be undone: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(r.dir))
		}
	}()
	if r.lock, err = lock(r.dir); err != nil {
		return nil, err
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = writeWhole(filepath.Join(r.dir, fileEntry), b)
	}
	if err == nil {
		r.tree, err = s.openTree(e.Root, r.dir)
	}
	if err != nil {
		return nil, errors.Join(err, r.lock.Close())
	}
	return r, nil
}

// writeWhole writes a file so that it is there as a whole or not at all.
func writeWhole(name string, b []byte) error {
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// lock takes an entry for this process: it stays taken until the file is closed.
func lock(dir string) (*os.File, error) {
	return flock(dir, unix.LOCK_EX)
}

func flock(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errRunning
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockSoon is lock for an entry that was just ended: a process that is being started
// may hold it for a moment.
func lockSoon(dir string) (*os.File, error) {
	for range 50 {
		f, err := lock(dir)
		if !errors.Is(err, errRunning) {
			return f, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errRunning
}

// openTree opens a folder whose changes go to an entry.
func (s *Store) openTree(root, entry string) (*tree, error) {
	t := &tree{root: -1, objects: -1, limit: s.o.Limit, reserve: s.o.Reserve, created: map[identity]int64{}, copied: map[identity]int64{}, timed: map[identity]bool{}}
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	var err error
	if t.root, err = unix.Open(root, flags|unix.O_NOFOLLOW, 0); err == nil {
		t.objects, err = unix.Open(filepath.Join(entry, fileObjects), flags, 0)
	}
	if err == nil {
		err = sameMount(t.root, t.objects, root, entry)
	}
	if err == nil {
		err = tellsBirth(t.objects, entry)
	}
	if err == nil {
		t.journal, _, err = openJournal(filepath.Join(entry, fileJournal))
	}
	if err == nil {
		t.saved, err = openPack(entry, fileSaved, s.aead)
	}
	if err == nil {
		t.sealer, err = startSealer(entry, t.objects, s.aead, s.o.Reserve)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keeping what changes in %s: %w", root, err), t.close())
	}
	return t, nil
}

// close waits until all that was moved is sealed.
func (t *tree) close() (err error) {
	if t.sealer != nil {
		err = t.sealer.close()
	}
	if t.saved != nil {
		err = errors.Join(err, t.saved.close())
	}
	for _, fd := range []int{t.root, t.objects} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	if t.journal != nil {
		err = errors.Join(err, t.journal.close())
	}
	return err
}

// sameMount makes sure that files can be moved between two folders.
func sameMount(a, b int, nameA, nameB string) error {
	var sa, sb unix.Statx_t
	for fd, st := range map[int]*unix.Statx_t{a: &sa, b: &sb} {
		if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID|unix.STATX_INO, st); err != nil {
			return err
		}
	}
	if sa.Mnt_id != sb.Mnt_id || sa.Dev_major != sb.Dev_major || sa.Dev_minor != sb.Dev_minor {
		return fmt.Errorf("%s lies on another file system or mount than %s, so that files cannot be moved there: name a state folder on that of the working folder with --state-dir", nameB, nameA)
	}
	return nil
}

// tellsBirth makes sure that a file can be told from another that got its inode later.
func tellsBirth(dir int, name string) error {
	var st unix.Statx_t
	if err := unix.Statx(dir, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil {
		return err
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return fmt.Errorf("the file system of %s does not say when files were made, so that one cannot be told from another", name)
	}
	return nil
}

// Changed reports whether anything was changed. It is for when no broker serves
// the run any longer.
func (r *Run) Changed() bool { return r.tree.journal.last > 0 }

// Finish says that nothing is added any more. An entry without a change goes.
func (r *Run) Finish() error {
	if r.tree.journal.last == 0 {
		return errors.Join(r.tree.close(), os.RemoveAll(r.dir), r.lock.Close())
	}
	return errors.Join(markEnded(r.dir), r.tree.close(), r.lock.Close())
}

// markEnded keeps the time by the file system's own clock. That has ticks of
// some milliseconds: the mark is later than all that was changed before it. Several
// processes may do that at once: the first mark counts.
func markEnded(dir string) error {
	mark := filepath.Join(dir, fileEnded)
	if _, err := os.Lstat(mark); err == nil {
		return nil
	}
	f, err := os.CreateTemp(dir, fileEnded+".*")
	if err == nil {
		err = errors.Join(tick(int(f.Fd())), f.Close())
		if err == nil {
			err = unix.Renameat2(unix.AT_FDCWD, f.Name(), unix.AT_FDCWD, mark, unix.RENAME_NOREPLACE)
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("noting the end of the run: %w", err)
	}
	return nil
}

// tick waits for the next tick of the file system's clock, and gives it to an open file.
func tick(fd int) error {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	for first := int64(0); ; time.Sleep(time.Millisecond / 4) {
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, procFD(fd), now, 0); err != nil {
			return err
		}
		st, err := stat(fd, "")
		if err != nil {
			return err
		}
		if first == 0 {
			first = st.was.Mtime
		}
		if st.was.Mtime > first {
			return nil
		}
	}
}

// endedAt is when the run ended: where it was killed, now.
func endedAt(dir string) (int64, error) {
	if err := markEnded(dir); err != nil {
		return 0, err
	}
	st, err := stat(unix.AT_FDCWD, filepath.Join(dir, fileEnded))
	return st.was.Mtime, err
}

// Entries lists what is kept, the latest first, also what is damaged.
func (s *Store) Entries() ([]Entry, error) {
	dirs, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		e, err := s.read(d.Name())
		if errors.Is(err, os.ErrNotExist) {
			continue // it was being made, or is going
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// entry is that of a run whose changes can be read.
func (s *Store) entry(id string) (Entry, error) {
	e, err := s.read(id)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("no run %s is kept: %w", id, err)
	case err == nil && e.Damaged != "":
		err = fmt.Errorf("run %s cannot be taken back, for its %s is damaged: %s", id, fileEntry, e.Damaged)
	}
	return e, err
}

// read reads an entry.
func (s *Store) read(id string) (e Entry, err error) {
	if id == "" || filepath.Base(id) != id {
		return e, fmt.Errorf("%q is no name of a run", id)
	}
	dir := filepath.Join(s.dir, id)
	b, err := os.ReadFile(filepath.Join(dir, fileEntry))
	if errors.Is(err, os.ErrNotExist) {
		return e, err
	}
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err == nil && e.ID != id {
		err = errors.New("it is that of another run")
	}
	if err != nil {
		e = damaged(dir, err)
	}
	held, err := flock(dir, unix.LOCK_SH)
	if errors.Is(err, errRunning) {
		e.Running, err = true, nil
	} else if err == nil {
		var ended int64
		ended, err = endedAt(dir) // where it was killed it has no mark yet
		e.Ended, err = time.Unix(0, ended).UTC(), errors.Join(err, held.Close())
	}
	_, serr := os.Stat(filepath.Join(dir, fileUndone))
	e.Undone = serr == nil
	e.Bytes = kept(filepath.Join(dir, fileObjects))
	for _, name := range []string{fileSaved, fileMoved, fileJournal} {
		if st, err := stat(unix.AT_FDCWD, filepath.Join(dir, name)); err == nil {
			e.Bytes += st.blocks
		}
	}
	return e, err
}

// damaged is an entry of which only its folder is known.
func damaged(dir string, why error) Entry {
	e := Entry{ID: filepath.Base(dir), Damaged: why.Error()}
	if len(e.ID) > len(idTime) {
		e.Began, _ = time.Parse(idTime, e.ID[:len(idTime)])
	}
	if st, err := stat(unix.AT_FDCWD, dir); err == nil && e.Began.IsZero() {
		e.Began = time.Unix(0, st.was.Mtime).UTC()
	}
	return e
}

// kept is what the files of a folder take up.
func kept(dir string) (bytes int64) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range list {
		if st, err := stat(unix.AT_FDCWD, filepath.Join(dir, e.Name())); err == nil {
			bytes += st.blocks
		}
	}
	return bytes
}

// Expire removes entries of runs that have ended: those that began before a time,
// and of the rest the oldest while all together keep more than so many bytes. 0
// is no limit.
func (s *Store) Expire(before time.Time, bytes int64) error {
	list, err := s.Entries()
	if err != nil {
		return err
	}
	total := int64(0)
	for _, e := range list { // the latest first
		total += e.Bytes
		if e.Running || !e.Began.Before(before) && (bytes <= 0 || total <= bytes) {
			err = errors.Join(err, s.sealRest(e))
			continue
		}
		total -= e.Bytes
		err = errors.Join(err, s.remove(e.ID))
	}
	return err
}

// remove removes an entry that no process uses.
func (s *Store) remove(id string) error {
	dir := filepath.Join(s.dir, id)
	held, err := lock(dir)
	if errors.Is(err, errRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(dir), held.Close())
}

// sealRest seals what a run that was killed has left.
func (s *Store) sealRest(e Entry) error {
	dir := filepath.Join(s.dir, e.ID)
	if list, err := os.ReadDir(filepath.Join(dir, fileObjects)); e.Running || err != nil || len(list) == 0 {
		return err
	}
	held, err := lock(dir)
	if errors.Is(err, errRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	objects, err := unix.Open(filepath.Join(dir, fileObjects), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Join(err, held.Close())
	}
	r, err := startSealer(dir, objects, s.aead, s.o.Reserve)
	if err == nil {
		err = r.close()
	}
	return errors.Join(err, unix.Close(objects), held.Close())
}
