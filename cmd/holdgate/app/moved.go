package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/move"
	"github.com/holdgate/holdgate/store/postgres"
)

// The names in the state folder.
const (
	dbName    = "db"
	movedName = "db.moved"   // the database once it is being moved, where an older Holdgate does not look for it
	movedFile = "moved.json" // there from when a move begins
)

// A movedMark says that the database of a state folder is being moved to
// PostgreSQL, or was.
type movedMark struct {
	ID    string    `json:"id"`
	Begun time.Time `json:"begun"`
	// Finishing is the target in which the move ends, there before that opens: from then
	// on no other database may.
	Finishing string    `json:"finishing,omitempty"`
	Done      time.Time `json:"done,omitzero"`
}

// readMoved reads the mark; nil where there is none.
func readMoved(stateDir string) (*movedMark, error) {
	path := filepath.Join(stateDir, movedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading whether the state was moved: %w", err)
	}
	m := new(movedMark)
	if err := json.Unmarshal(text, m); err != nil || m.ID == "" {
		return nil, fmt.Errorf("%s does not say whither the state was moved: restore it from a backup", path)
	}
	return m, nil
}

// write writes the mark, synced.
func (m *movedMark) write(stateDir string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(stateDir, "."+movedFile+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(f.Name(), filepath.Join(stateDir, movedFile)), syncFolder(stateDir))
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckMoved refuses a state folder whose database is being moved to PostgreSQL,
// or was: what was approved there could be used a second time here.
func CheckMoved(stateDir string) error {
	m, err := readMoved(stateDir)
	if err != nil || m == nil {
		return err
	}
	if err := m.unfinished(stateDir); err != nil {
		return err
	}
	return fmt.Errorf("the state in %s was moved to PostgreSQL on %s: set store.postgres in the configuration. What is left of it in %s is not used any more",
		stateDir, m.Done.Format(time.DateOnly), movedName)
}

// CheckUnfinished refuses a state folder whose database is being moved to PostgreSQL: while
// the move has not ended the state is in neither place whole.
func CheckUnfinished(stateDir string) error {
	m, err := readMoved(stateDir)
	if err != nil || m == nil {
		return err
	}
	return m.unfinished(stateDir)
}

// unfinished says how a move goes on that has not ended.
func (m *movedMark) unfinished(stateDir string) error {
	switch {
	case !m.Done.IsZero():
		return nil
	case m.Finishing != "":
		return fmt.Errorf("the state in %s is being moved to PostgreSQL, since %s, and may be there already: end that with `holdgate store copy --to postgres`, with store.postgres as it was",
			stateDir, m.Begun.Format(time.DateTime))
	}
	return fmt.Errorf("the state in %s is being moved to PostgreSQL, since %s: end that with `holdgate store copy --to postgres`, or take it back with `holdgate store copy --to postgres --cancel`",
		stateDir, m.Begun.Format(time.DateTime))
}

// checkEmpty refuses an empty database to a state folder that has a state elsewhere: a
// sidecar that began anew would forget what waits.
func checkEmpty(tx store.Tx, stateDir string) error {
	for _, err := range tx.Scan("", "") {
		return err
	}
	m, err := readMoved(stateDir)
	if err != nil {
		return err
	}
	if m != nil {
		return fmt.Errorf("the state in %s was moved to PostgreSQL on %s, and store.postgres names an empty database: name the one that has the state",
			stateDir, m.Done.Format(time.DateOnly))
	}
	db := filepath.Join(stateDir, dbName)
	if _, err := os.Stat(db); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("store.postgres names an empty database, and %s has a state: take it along with `holdgate store copy --to postgres`, or move %[1]s away to begin without it", db))
	}
	return nil
}

// OpenLocal opens the database in a state folder, unless it was moved.
func OpenLocal(stateDir string, log *slog.Logger, options ...badger.Option) (store.Store, error) {
	if err := CheckMoved(stateDir); err != nil {
		return nil, err
	}
	for _, prefix := range audit.Bulk() {
		options = append(options, badger.Cold(prefix))
	}
	st, err := badger.Open(filepath.Join(stateDir, dbName), log, options...)
	if err != nil {
		return nil, err
	}
	if err := CheckMoved(stateDir); err != nil { // before the folder was locked
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// explainUnfinished says what to do about the target of a move.
func explainUnfinished(err error) error {
	if errors.Is(err, move.ErrUnfinished) {
		return fmt.Errorf("%w: end it with `holdgate store copy --to postgres`, where it was begun", err)
	}
	return err
}

// A Move takes the database of a state folder to the PostgreSQL of the
// configuration.
type Move struct {
	Config config.Config
	Logger *slog.Logger
	Copied func(pairs uint64) // is told of each transaction's pairs
}

// Moved is what a move has taken along.
type Moved struct {
	Pairs   uint64 `json:"pairs"`
	Entries uint64 `json:"entries"` // of the audit log
	Head    string `json:"head"`    // "seq:hash"
}

// Run moves it. No sidecar may use the folder. What was cut off goes on where it
// was, and from its beginning on the folder is opened by nothing else: the target
// opens once everything is there, and its audit log is that of the source.
func (m Move) Run(ctx context.Context) (Moved, error) {
	key, err := AuditKey(m.Config.StateDir)
	if err != nil {
		return Moved{}, err
	}
	mark, err := m.mark()
	if err != nil {
		return Moved{}, err
	}
	to, err := m.target(ctx)
	if err != nil {
		return Moved{}, fmt.Errorf("nothing was moved: %w", err)
	}
	defer to.Close()
	if err := move.CheckTarget(ctx, to, mark.ID); err != nil {
		return Moved{}, fmt.Errorf("nothing was moved: %w", err)
	}
	if err := m.begin(ctx, key, mark); err != nil {
		return Moved{}, err
	}
	from, err := badger.Open(filepath.Join(m.Config.StateDir, movedName), m.Logger)
	if err != nil {
		return Moved{}, err
	}
	defer from.Close()
	if mark, err = m.stillBegun(mark); err != nil {
		return Moved{}, err
	}
	if mark.Finishing != "" {
		if err := move.Is(ctx, to, mark.ID, mark.Finishing); err != nil {
			return Moved{}, err
		}
	}
	was, err := verifyLog(ctx, from, key, audit.Head{})
	if err != nil {
		return Moved{}, fmt.Errorf("the state was not moved: %w", err)
	}
	pairs, err := move.Copy(ctx, from, to, mark.ID, m.Copied)
	if err != nil {
		return Moved{}, err
	}
	if _, err := verifyLog(ctx, to, key, was.Last); err != nil {
		return Moved{}, fmt.Errorf("the state was not moved: %w", err)
	}
	if mark, err = m.stillBegun(mark); err != nil {
		return Moved{}, err
	}
	if mark.Finishing, err = move.Target(ctx, to, mark.ID); err != nil {
		return Moved{}, err
	}
	if err := mark.write(m.Config.StateDir); err != nil {
		return Moved{}, err
	}
	if err := move.Finish(ctx, to); err != nil {
		return Moved{}, err
	}
	mark.Done = time.Now()
	return Moved{pairs, was.Entries, was.Last.String()}, mark.write(m.Config.StateDir)
}

// mark is the mark of the folder, or a new one that is not written yet.
func (m Move) mark() (*movedMark, error) {
	dir := m.Config.StateDir
	if _, err := checkFormat(filepath.Join(dir, formatFile)); err != nil {
		return nil, err
	}
	mark, err := readMoved(dir)
	switch {
	case err != nil:
		return nil, err
	case mark != nil && !mark.Done.IsZero():
		return nil, CheckMoved(dir)
	case mark != nil:
		return mark, nil
	}
	if _, err := os.Stat(filepath.Join(dir, dbName)); err != nil {
		return nil, fmt.Errorf("there is nothing to move in %s: %w", dir, err)
	}
	return &movedMark{ID: rand.Text(), Begun: time.Now()}, nil
}

// begin writes the mark, unless it is there, and puts the database where only a move looks
// for it. Before, the target was found fit.
func (m Move) begin(ctx context.Context, key []byte, mark *movedMark) error {
	dir := m.Config.StateDir
	db, moved := filepath.Join(dir, dbName), filepath.Join(dir, movedName)
	was, err := readMoved(dir)
	if err != nil {
		return err
	}
	if was == nil {
		st, err := OpenLocal(dir, m.Logger) // locks it
		if err != nil {
			return err
		}
		if _, err = verifyLog(ctx, st, key, audit.Head{}); err == nil {
			err = mark.write(dir)
		}
		if err := errors.Join(err, st.Close()); err != nil {
			return fmt.Errorf("the state was not moved: %w", err)
		}
	}
	if _, err := os.Stat(moved); err == nil {
		return nil
	}
	return errors.Join(os.Rename(db, moved), syncFolder(dir))
}

// stillBegun reads the mark again, once the database is locked: another command may have
// ended the move meanwhile, or taken it back.
func (m Move) stillBegun(was *movedMark) (*movedMark, error) {
	mark, err := readMoved(m.Config.StateDir)
	switch {
	case err != nil:
		return nil, err
	case mark == nil || mark.ID != was.ID:
		return nil, fmt.Errorf("the move of %s was taken back meanwhile", m.Config.StateDir)
	case !mark.Done.IsZero():
		return nil, CheckMoved(m.Config.StateDir)
	}
	return mark, nil
}

// lock opens the database that is being moved, so that nothing else moves it, wherever it
// stands.
func (m Move) lock() (store.Store, error) {
	path := filepath.Join(m.Config.StateDir, movedName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(m.Config.StateDir, dbName) // it was marked, and no more
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return badger.Open(path, m.Logger)
}

// target opens the database of the configuration as the one member that works
// on it.
func (m Move) target(ctx context.Context) (*postgres.Store, error) {
	pc, err := postgresConfig(m.Config.Store.Postgres, m.Logger)
	if err != nil {
		return nil, err
	}
	pc.OnWaiting = func(holder string) {
		m.Logger.Warn("another member works on the database, and has to end first", "member", holder)
	}
	return postgres.Open(ctx, pc)
}

// verifyLog verifies the audit log in a store, which must contain an entry.
func verifyLog(ctx context.Context, st store.Store, key []byte, entry audit.Head) (audit.Report, error) {
	log, err := audit.OpenReadOnly(st, key)
	if err != nil {
		return audit.Report{}, err
	}
	return log.Verify(ctx, audit.VerifyOptions{Head: entry})
}

// Cancel takes a move back that has not ended: the target is emptied, and then the
// folder is used again.
func (m Move) Cancel(ctx context.Context) error {
	dir := m.Config.StateDir
	if _, err := checkFormat(filepath.Join(dir, formatFile)); err != nil {
		return err
	}
	mark, err := readMoved(dir)
	if err != nil {
		return err
	}
	if mark == nil {
		return fmt.Errorf("no move of %s has begun", dir)
	}
	if err := mark.cancellable(); err != nil {
		return err
	}
	st, err := m.lock()
	if err != nil {
		return err
	}
	if mark, err = m.stillBegun(mark); err == nil {
		err = mark.cancellable()
	}
	if err == nil {
		err = m.empty(ctx, mark)
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(dir, movedName), filepath.Join(dir, dbName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was marked, and no more
		return err
	}
	return errors.Join(syncFolder(dir), os.Remove(filepath.Join(dir, movedFile)), syncFolder(dir))
}

// cancellable refuses to take back what may have ended, wherever that was.
func (m *movedMark) cancellable() error {
	switch {
	case !m.Done.IsZero():
		return errors.New("the copy has ended: the state is at the target now")
	case m.Finishing != "":
		return errors.New("the copy was about to end, and may have ended: run `holdgate store copy --to postgres` again, with store.postgres as it was; it is not taken back any more")
	}
	return nil
}

// empty empties the target.
func (m Move) empty(ctx context.Context, mark *movedMark) error {
	to, err := m.target(ctx)
	if err != nil {
		return err
	}
	return errors.Join(move.Cancel(ctx, to, mark.ID), to.Close())
}
