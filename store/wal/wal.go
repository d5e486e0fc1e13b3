// Package wal is a write-ahead log: records in order, appended to files in a
// folder and synced by whoever owns the log. It knows nothing of what is in
// them.
//
// # Files
//
// The log is cut into segments of about [SegmentSize], NNNNN.wal. A segment
// that is no longer needed is marked free and used again for a later one: to
// overwrite blocks that a file already has is about half as dear to sync as to
// append, because the filesystem's journal has no part in it. What an earlier
// use left in a file is told apart by the segment's number, which no two uses
// share and which each record carries and has in its checksum.
//
// # What a power cut leaves
//
// What was not synced may be there in part, in any order. So the log ends
// before the first record that is not whole. That this takes nothing that was
// synced is known from the records behind it: each says up to where the log was
// synced when it was written. Where one of them says that what is not whole had
// been synced, a file is damaged, and reading ends with [ErrDamaged]. Only of
// the last records that were synced together damage looks like an unfinished
// write.
package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

const (
	// SegmentSize is how many bytes a segment takes. One record that is larger
	// makes it longer.
	SegmentSize = 8 << 20
	// keepFree is how many free segments are kept for later use.
	keepFree = 2
)

// ErrDamaged says that a file of the log is not as it was written.
var ErrDamaged = errors.New("the write-ahead log is damaged")

// Log is a write-ahead log. It has one owner, who calls one method at a time;
// Release alone may be called beside the others. After an error of Append, Sync
// or Mark every later call of them returns that error: the kernel tells only once
// that it could not write.
type Log struct {
	dir     string
	next    uint64   // the number of the next record
	synced  uint64   // the number of the newest record that is on stable storage
	current *segment // the newest segment, once there is a record since Start
	offset  int64    // where the next record goes in it
	failed  error
	lock    *os.File

	mu     sync.Mutex
	number uint64     // of the newest segment that ever was
	live   []*segment // oldest first; the last is written to
	free   []*segment
}

// segment is one file.
type segment struct {
	file   *os.File
	number uint64
	first  uint64 // number of its first record
	last   uint64 // number of its last record, once it is full
}

// Open opens the log in dir, a folder that must exist. Where another process
// has it open Open waits. Read it with Records and call Start before the first
// Append.
func Open(dir string) (*Log, error) {
	lock, err := lockFile(filepath.Join(dir, "wal.lock"))
	if err != nil {
		return nil, fmt.Errorf("locking the write-ahead log: %w", err)
	}
	l := &Log{dir: dir, lock: lock}
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for _, name := range names {
		s, err := openSegment(name)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.number = max(l.number, s.number)
		if s.first == 0 {
			l.free = append(l.free, s)
		} else {
			l.live = append(l.live, s)
		}
	}
	slices.SortFunc(l.live, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	return l, nil
}

func openSegment(name string) (*segment, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the write-ahead log: %w", err)
	}
	s := &segment{file: f}
	if err := s.readHead(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return s, nil
}

// Start frees all segments, beginning with the oldest, so that what is left at
// any time is the end of the log. The next record has the number next, at
// least 1. Call it once nothing in the log is needed any more.
func (l *Log) Start(next uint64) error {
	for len(l.live) > 0 {
		if err := l.retire(); err != nil {
			return err
		}
	}
	l.next, l.synced, l.current = next, next-1, nil
	return nil
}

// Append writes a record, which must have been begun with [Begin], under the
// next number. It is on stable storage once Sync has returned.
func (l *Log) Append(record []byte) error {
	if l.failed == nil {
		l.failed = l.append(record)
	}
	return l.failed
}

func (l *Log) append(record []byte) error {
	record = pad(record)
	if l.current == nil || l.offset > headSize && l.offset+int64(len(record)) > SegmentSize {
		if err := l.rotate(len(record)); err != nil {
			return err
		}
	}
	seal(record, l.current.number, l.next, l.synced)
	if _, err := l.current.file.WriteAt(record, l.offset); err != nil {
		return fmt.Errorf("writing the write-ahead log: %w", err)
	}
	l.offset += int64(len(record))
	l.next++
	return nil
}

// Sync returns once everything appended is on stable storage.
func (l *Log) Sync() error {
	if l.failed != nil || l.Synced() {
		return l.failed
	}
	if err := syncData(l.current.file); err != nil {
		l.failed = fmt.Errorf("syncing the write-ahead log: %w", err)
		return l.failed
	}
	l.synced = l.next - 1
	return nil
}

// Mark notes behind the last record, where the next one will go, that all is on
// stable storage, so that damage to the last records is known as such without a
// later one. It is for when there is nothing else to do: it waits for no sync.
// Where not all is on stable storage, or there is no room, it does nothing.
func (l *Log) Mark() error {
	if l.failed != nil || l.current == nil || !l.Synced() || l.offset+recordHead > SegmentSize {
		return l.failed
	}
	mark := pad(Begin(nil))
	seal(mark, l.current.number, markNumber, l.synced)
	if _, err := l.current.file.WriteAt(mark, l.offset); err != nil {
		l.failed = fmt.Errorf("marking the end of the write-ahead log: %w", err)
	}
	return l.failed
}

// Synced reports whether everything appended is on stable storage.
func (l *Log) Synced() bool { return l.synced == l.next-1 }

// Release says that records up to number are no longer needed. It is safe to
// call beside the other methods, though not beside itself.
func (l *Log) Release(number uint64) error {
	for {
		l.mu.Lock()
		done := len(l.live) < 2 || l.live[0].last > number
		l.mu.Unlock()
		if done {
			return nil
		}
		if err := l.retire(); err != nil {
			return err
		}
	}
}

// Oldest returns the number of the oldest record that may still be in the log.
// Where there is none it returns the largest number. It is safe to call beside
// the other methods.
func (l *Log) Oldest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.live) == 0 {
		return math.MaxUint64
	}
	return l.live[0].first
}

// Close closes the files. The log stays as it is.
func (l *Log) Close() error {
	var errs []error
	for _, s := range slices.Concat(l.live, l.free) {
		errs = append(errs, s.file.Close())
	}
	l.live, l.free = nil, nil
	return errors.Join(append(errs, l.lock.Close())...)
}

// rotate goes over to another segment, which has room for a record of so many
// bytes. The one before is synced first: no record outlives one before it.
func (l *Log) rotate(size int) error {
	if l.current != nil {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	l.number++
	number := l.number
	var s *segment
	if n := len(l.free); n > 0 {
		s, l.free = l.free[n-1], l.free[:n-1]
	}
	l.mu.Unlock()
	if s == nil {
		var err error
		if s, err = l.create(number); err != nil {
			return err
		}
	}
	s.number, s.first = number, l.next
	err := allocate(s.file, max(SegmentSize, headSize+int64(size)))
	if err == nil {
		err = s.writeHead()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("beginning %s: %w", s.file.Name(), err), s.file.Close())
	}
	l.current, l.offset = s, headSize
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.live); n > 0 {
		l.live[n-1].last = l.next - 1
	}
	l.live = append(l.live, s)
	return nil
}

func (l *Log) create(number uint64) (*segment, error) {
	f, err := os.OpenFile(filepath.Join(l.dir, fmt.Sprintf("%05d.wal", number)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating a segment of the write-ahead log: %w", err)
	}
	if err := SyncDir(l.dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segment{file: f}, nil
}

// retire frees the oldest segment.
func (l *Log) retire() error {
	l.mu.Lock()
	s := l.live[0]
	l.live = slices.Delete(l.live, 0, 1)
	l.mu.Unlock()
	s.first = 0
	if err := s.writeHead(); err != nil {
		return errors.Join(fmt.Errorf("freeing %s: %w", s.file.Name(), err), s.file.Close())
	}
	l.mu.Lock()
	keep := len(l.free) < keepFree
	if keep {
		l.free = append(l.free, s)
	}
	l.mu.Unlock()
	if keep {
		return nil
	}
	if err := errors.Join(s.file.Close(), os.Remove(s.file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a segment of the write-ahead log: %w", err)
	}
	return nil
}
