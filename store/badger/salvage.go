package badger

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdgate/holdgate/store/wal"
)

// A Condition says how the files of a database are.
type Condition struct {
	// Damaged are the files that are not as they were written, and how.
	Damaged []string `json:"damaged"`
	// Records are those of the write-ahead log that are whole.
	Records int `json:"records"`
	// Kept says that the database has all that the damaged places of the log held, by what
	// is whole behind them. Where nothing is damaged it is true.
	Kept bool `json:"kept"`
	// Lost says what may be lost where Kept is false.
	Lost []string `json:"lost,omitempty"`
	// Aside is the folder that [Salvage] has put the damaged log into.
	Aside string `json:"aside,omitempty"`
}

// Check reads the database in dir whole, whose sidecar must have ended, and says how it
// is.
func Check(dir string, logger *slog.Logger) (Condition, error) {
	return inspect(dir, logger, "")
}

// Salvage mends a database whose log is damaged, where the database has all that the
// damaged places held. The log goes into the folder aside as it is; what of it the
// database lacks is committed first. Where something may be lost nothing is changed.
func Salvage(dir, aside string, logger *slog.Logger) (Condition, error) {
	return inspect(dir, logger, aside)
}

func inspect(dir string, logger *slog.Logger, aside string) (c Condition, err error) {
	o := settings(dir, logger)
	o.NumCompactors = 0
	o.NumLevelZeroTablesStall = 1 << 10 // nothing merges them here
	if err := whileUnused(dir, func() error {
		return errors.Join(removeEmpty(dir), checkRoom(dir), verifyTables(dir, opening{Options: o}))
	}); err != nil {
		if !errors.Is(err, ErrDamaged) {
			return c, err
		}
		c.Damaged, c.Lost = []string{err.Error()}, []string{"what the damaged table holds, which nothing else does"}
		return c, nil
	}
	b, err := openLocked(o)
	if err != nil {
		return c, openError(dir, err)
	}
	d := &db{badger: b, logger: logger, version: b.MaxVersion(), journal: newJournal()}
	defer func() { err = errors.Join(err, b.Close()) }()
	if d.mem, err = newMemtables(dir); err != nil {
		return c, err
	}
	rest, err := wal.Salvage(dir)
	if err != nil {
		return c, err
	}
	s := salvaged{d: d, Condition: Condition{Records: len(rest.Whole)}}
	for _, name := range rest.Heads {
		s.Damaged = append(s.Damaged, name+": the file's head is not as it was written")
	}
	if err := s.judge(rest); err != nil {
		return c, err
	}
	if s.Kept = len(s.Lost) == 0; aside == "" || !s.Kept || len(s.Damaged) == 0 {
		return s.Condition, nil
	}
	if err := d.recommit(s.txns[s.missing:]); err != nil {
		return s.Condition, err
	}
	if err := d.mem.syncAll(); err != nil {
		return s.Condition, err
	}
	s.Aside = aside
	return s.Condition, setAside(dir, aside)
}

// salvaged is a log that is read with its gaps.
type salvaged struct {
	Condition

	d       *db
	txns    []loggedTxn
	missing int // index of the first that the database lacks
}

// judge finds out what the database has of the log, and what may be lost.
func (s *salvaged) judge(rest wal.Rest) (err error) {
	whole, end := rest.Whole, rest.Synced
	for n := 1; n < len(whole); n++ {
		if next := whole[n-1].Number + 1; whole[n].Number > next && next > end {
			whole = whole[:n] // a write that a power cut left in part; nobody was told of it
		}
	}
	for n, r := range whole {
		fid, entries, err := payloadFile(r.Payload)
		if err != nil {
			return fmt.Errorf("%s: %w (record %d: %w)", r.Segment, ErrDamaged, r.Number, err)
		}
		if n > 0 && whole[n-1].Number+1 == r.Number {
			s.txns[n-1].fid = fid // each names the file of the one before
		}
		s.txns = append(s.txns, loggedTxn{version: r.Number, fid: -1 - n, entries: entries, segment: r.Segment})
	}
	if s.missing, err = s.d.firstMissing(s.txns); err != nil {
		return err
	}
	for n, r := range whole {
		if r.Doubtful && n >= s.missing {
			s.lost(r.Segment, r.Number, r.Number)
		}
		switch {
		case n > 0 && whole[n-1].Number+1 < r.Number:
			s.gap(n, whole[n-1].Number+1, r)
		case n == 0 && rest.Begin > 0 && rest.Begin < r.Number:
			s.gap(n, rest.Begin, r)
		}
	}
	if last := len(whole); last > 0 && whole[last-1].Number < end {
		s.damage(whole[last-1].Segment, whole[last-1].Number+1, end)
		s.lost(whole[last-1].Segment, whole[last-1].Number+1, end)
	}
	return nil
}

// gap looks at what is missing, from first to the record next, which has the index n. A
// memtable's file has all up to some transaction. So the database has what is missing
// where it has a later one of the same file.
func (s *salvaged) gap(n int, first uint64, next wal.Whole) {
	last := next.Number - 1
	s.damage(next.Segment, first, last)
	file, _, _ := payloadFile(next.Payload) // of the last one that is missing
	begun := first == last || n > 1 && s.txns[n-2].fid == file
	later := slices.ContainsFunc(s.txns[n:max(n, s.missing)], func(t loggedTxn) bool { return t.fid == file })
	if !begun || !later {
		s.lost(next.Segment, first, last)
	}
}

func (s *salvaged) damage(segment string, first, last uint64) {
	s.Damaged = append(s.Damaged, fmt.Sprintf("%s: not whole: %s", segment, span(first, last)))
}

func (s *salvaged) lost(segment string, first, last uint64) {
	s.Lost = append(s.Lost, fmt.Sprintf("%s of %s, and what came after", span(first, last), filepath.Base(segment)))
}

func span(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("record %d", first)
	}
	return fmt.Sprintf("records %d to %d", first, last)
}

// setAside moves the log's files.
func setAside(dir, aside string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		return err
	}
	if err := os.Mkdir(aside, 0o700); err != nil {
		return fmt.Errorf("keeping the damaged log: %w", err)
	}
	for _, name := range names {
		if err := os.Rename(name, filepath.Join(aside, filepath.Base(name))); err != nil {
			return fmt.Errorf("keeping the damaged log: %w", err)
		}
	}
	return errors.Join(wal.SyncDir(aside), wal.SyncDir(dir), wal.SyncDir(filepath.Dir(aside)))
}
