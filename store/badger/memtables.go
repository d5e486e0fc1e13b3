package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdgate/holdgate/store/serial"
	"github.com/holdgate/holdgate/store/wal"
)

// memtables follows the files of Badger's memtables, NNNNN.mem, numbered
// upwards. Badger begins a new one at the start of a commit that finds the
// present one full, and deletes a file once what it holds is in a table that is
// synced and listed in the synced manifest. While one is there it is not synced,
// so a power cut may leave the beginning of what it held and no more. Until it
// is gone our own log holds all of it.
//
// Whether a commit may begin a new file is known beforehand: see fill.
type memtables struct {
	dir  string
	fid  int  // number of the newest file
	fill fill // of the newest file and its memtable
	// synced says that nothing was committed since all files were synced, and
	// unsynced how many files were begun without that; a test holds it at 0 in
	// recovery.
	synced   bool
	unsynced int
	free     diskSpace // of the disk

	mu   sync.Mutex
	full []fullMemtable // oldest first
}

// errUnforeseen says that nobody knows any longer which commits the log may let go of.
var errUnforeseen = errors.New("the database began a memtable where none was foreseen: " +
	"this release of Badger fills memtables in another way than Holdgate counts")

// lookAhead is how many bytes before its expected end a memtable is watched for
// one that follows: far more than fill can be wrong.
const lookAhead = memTableSize / 2

// fullMemtable says which version is the last in a file.
type fullMemtable struct {
	fid  int
	last uint64
}

// newMemtables finds the newest file. The database must just have been opened:
// it then has an empty memtable.
func newMemtables(dir string) (*memtables, error) {
	m := &memtables{dir: dir, free: diskSpace{dir: dir}}
	fids, err := m.files()
	if err != nil {
		return nil, err
	}
	if len(fids) == 0 {
		return nil, errors.New("looking for the memtables' files: none found")
	}
	for _, fid := range fids {
		m.fid = max(m.fid, fid)
	}
	return m, m.allocate(m.fid)
}

// files returns the numbers of the files that are there.
func (m *memtables) files() ([]int, error) {
	names, err := filepath.Glob(filepath.Join(m.dir, "*.mem"))
	if err != nil {
		return nil, err
	}
	fids := make([]int, len(names))
	for i, name := range names {
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.mem", &fids[i]); err != nil {
			return nil, fmt.Errorf("reading the number of %s: %w", name, err)
		}
	}
	return fids, nil
}

func (m *memtables) path(fid int) string { return filepath.Join(m.dir, fmt.Sprintf("%05d.mem", fid)) }

// allocate keeps room for a file on the disk, so that a write to Badger's
// mapping of it can't hit a full disk.
func (m *memtables) allocate(fid int) error {
	f, err := os.OpenFile(m.path(fid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening a memtable's file: %w", err)
	}
	if err := errors.Join(allocate(f, memTableSize+2*serial.MaxBatch), f.Close()); err != nil {
		return fmt.Errorf("keeping room for a memtable's file: %w", err)
	}
	return nil
}

// follow takes note of a commit under the version, and of what it took.
func (m *memtables) follow(took fill, version uint64) error {
	before, synced := m.fill, m.synced
	m.fill, m.synced = before.plus(took), false
	if !before.nearEnd(lookAhead) {
		return nil
	}
	_, err := os.Stat(m.path(m.fid + 1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for a new memtable's file: %w", err)
	}
	if !before.nearEnd(0) {
		return fmt.Errorf("%w (%s, when the one before it held %d bytes)", errUnforeseen, m.path(m.fid+1), max(before.arena, before.file))
	}
	if !synced {
		m.unsynced++
	}
	if err := m.allocate(m.fid + 1); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = append(m.full, fullMemtable{m.fid, version - 1})
	m.fid++
	m.fill = took
	return nil
}

// inTables returns a version up to which everything since the opening is in
// tables, and whether that is news. Unlike the others it may be called beside
// them.
func (m *memtables) inTables() (version uint64, news bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.full) == 0 {
		return 0, false, nil
	}
	fids, err := m.files()
	if err != nil {
		return 0, false, err
	}
	oldest := math.MaxInt
	for _, fid := range fids {
		oldest = min(oldest, fid)
	}
	for len(m.full) > 0 && m.full[0].fid < oldest {
		version, news = m.full[0].last, true
		m.full = m.full[1:]
	}
	if !news {
		return 0, false, nil
	}
	// That the files are gone must outlive a power cut: what comes back of one
	// would be there without its end.
	return version, true, wal.SyncDir(m.dir)
}

// syncAll syncs every file. Badger may remove some meanwhile, having synced
// what they held.
func (m *memtables) syncAll() error {
	fids, err := m.files()
	if err != nil {
		return err
	}
	for _, fid := range fids {
		f, err := os.OpenFile(m.path(fid), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("syncing a memtable's file: %w", err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("syncing %s: %w", m.path(fid), err)
		}
	}
	if err := wal.SyncDir(m.dir); err != nil {
		return err
	}
	m.synced = true
	return nil
}

// removeEmpty removes the files of memtables of which a power cut left nothing
// but the name, over which Badger stumbles. It is called before Badger opens
// the folder.
func removeEmpty(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil {
			return err
		} else if info.Size() > 0 {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
