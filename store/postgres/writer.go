package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
)

const (
	// maxFunctions is how many functions share a transaction at the most.
	maxFunctions = 256
	// batchLimit is how long one try of a batch may take, its commit included.
	batchLimit = 30 * time.Second
	// reachLimit is how long a batch looks for a server that has just gone: a
	// restart or a failover is over by then, mostly.
	reachLimit = 5 * time.Second
	// conflictLimit is how long a batch that others keep getting in the way of
	// is tried.
	conflictLimit = 20 * time.Second
	// maxPause is the longest pause between two tries.
	maxPause = 250 * time.Millisecond
)

// write is the writer: it runs until the queue is closed and empty.
func (s *Store) write() {
	var list []*serial.Request
	ended := false
	defer func() {
		if !ended {
			s.replaceWriter(list)
		}
	}()
	for open := true; ; {
		list, open = s.queue.Take(nil)
		for rest := list; len(rest) > 0; {
			rest = s.serve(rest)
		}
		if len(list) > 0 {
			continue
		}
		if !open {
			ended = true
			s.hangUp()
			return
		}
		<-s.queue.Wake()
	}
}

// replaceWriter is for a function that ended the writer's goroutine, as a
// test's FailNow does: its batch is given up, and a new writer goes on.
func (s *Store) replaceWriter(list []*serial.Request) {
	s.hangUp()
	for _, r := range list {
		r.Answer(errors.New("a function of an update ended its goroutine"))
	}
	s.workers.Go(s.write)
}

// serve runs as many of the functions as share a transaction, in order, until
// they are committed or can't be, and answers them. It returns those that are left.
func (s *Store) serve(list []*serial.Request) (rest []*serial.Request) {
	n := min(len(list), maxFunctions)
	began := time.Now()
	for try := 0; ; try++ {
		served, err := s.runBatch(list[:n])
		lost := errors.Is(err, store.ErrUnavailable)
		switch {
		case err == nil:
			s.down = false
			s.reached()
			s.tellOf(began, nil)
			for _, r := range list[:served] {
				r.Answer(r.Err)
			}
			return list[served:]
		case isConflict(err) && time.Since(began) < conflictLimit:
			n = max(1, n/2)
		case lost && !s.down && !errors.Is(err, errUnknown) && time.Since(began) < reachLimit:
		case lost: // nobody waits in a row for the same server
			s.down = true
			n = len(list)
			fallthrough
		default:
			s.tellOf(began, err)
			for _, r := range list[:n] {
				r.Answer(err)
			}
			return list[n:]
		}
		pause(try)
	}
}

func (s *Store) tellOf(began time.Time, err error) {
	if s.config.OnCommit != nil {
		s.config.OnCommit(time.Since(began), err)
	}
}

// pause waits a random while, longer with each try.
func pause(try int) {
	limit := min(maxPause, time.Millisecond<<min(try, 10))
	time.Sleep(mathrand.N(limit) + 1)
}

// errUnknown says that nobody knows whether a batch was committed.
var errUnknown = fmt.Errorf("the server went away during a commit: %w", store.ErrUnknown)

// Unknown reports whether an error of Update leaves open if its writes are there.
func Unknown(err error) bool { return errors.Is(err, errUnknown) }

// batch is what goes into one transaction.
type batch struct {
	changes map[string]serial.Change
	size    int
}

// runBatch runs functions in one transaction, as many as fit, and commits it.
// It returns how many it ran. Where it returns an error nothing was written,
// but with errUnknown.
func (s *Store) runBatch(list []*serial.Request) (served int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), batchLimit)
	defer cancel()
	if err := s.dial(ctx); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil && !isConflict(err) {
			s.hangUp()
		}
	}()
	tx, err := s.beginBatch(ctx)
	if err != nil {
		return 0, s.unavailable(err)
	}
	defer tx.Rollback(ctx)
	if err := s.held(ctx, tx); err != nil {
		return 0, err
	}
	b := batch{changes: make(map[string]serial.Change)}
	r := &reader{ctx: ctx, tx: tx}
	for _, one := range list {
		fits := b.run(r, one)
		if r.err != nil {
			return 0, s.unavailable(r.err)
		}
		if !fits {
			break
		}
		served++
	}
	return served, s.commit(ctx, tx, b.changes)
}

// beginBatch begins a batch's transaction once it is this process's turn. The server
// takes its snapshot behind LOCK, so that a batch sees the one before it, and no two get
// in each other's way. A server that has no LOCK finds out at the end which did.
func (s *Store) beginBatch(ctx context.Context) (pgx.Tx, error) {
	begin := "BEGIN ISOLATION LEVEL SERIALIZABLE"
	if s.noTurns {
		return s.conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	}
	tx, err := s.conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin + "; LOCK TABLE holdgate_turn IN EXCLUSIVE MODE"})
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == codeNotThere || e.Code == codeSyntax) {
		s.noTurns = true
		s.hangUp()
		return nil, &unreachableError{err}
	}
	return tx, err
}

// run runs one function and adds what it wrote. It reports false, and leaves
// nothing, where there is no room for that.
func (b *batch) run(r *reader, one *serial.Request) bool {
	tx := serial.Over(r, b.changes)
	if !one.Run(tx) || one.Err != nil {
		return true
	}
	size := 0
	for key, c := range tx.Own {
		size += len(key)
		if len(c.Value) <= serial.MaxCounted {
			size += len(c.Value)
		}
	}
	switch {
	case size > serial.MaxBatch || len(tx.Own) > serial.MaxBatchCount:
		one.Err = fmt.Errorf("the function wrote %d keys and %d bytes, more than %d and %d: %w",
			len(tx.Own), size, serial.MaxBatchCount, serial.MaxBatch, store.ErrTooLarge)
		return true
	case b.size+size > serial.MaxBatch || len(b.changes)+len(tx.Own) > serial.MaxBatchCount:
		return false
	}
	maps.Copy(b.changes, tx.Own)
	b.size += size
	return true
}

// commit writes the changes and commits. A commit without an answer is looked up.
func (s *Store) commit(ctx context.Context, tx pgx.Tx, changes map[string]serial.Change) error {
	name := newName()
	s.changes.mine(name) // before others can read it
	err := s.commitAs(ctx, tx, name, changes)
	if err != nil {
		s.changes.notMine(name)
		return err
	}
	s.watchers.Notify(maps.Keys(changes))
	return nil
}

func (s *Store) commitAs(ctx context.Context, tx pgx.Tx, name batchName, changes map[string]serial.Change) error {
	if len(changes) > 0 {
		if err := s.put(ctx, tx, name, changes); err != nil {
			return s.unavailable(err)
		}
	}
	err := tx.Commit(ctx)
	switch {
	case err == nil:
		return nil
	case len(changes) > 0 && s.conn.IsClosed():
		return s.settle(name, err)
	}
	return s.unavailable(err)
}

// batchName names a batch, and no other.
type batchName [16]byte

func newName() (n batchName) {
	rand.Read(n[:])
	return n
}

// put writes the changes, and a row of their keys.
func (s *Store) put(ctx context.Context, tx pgx.Tx, name batchName, changes map[string]serial.Change) error {
	var heads, hashes, tails, values, goneHeads, goneHashes, keys [][]byte
	for key, c := range changes {
		head, hash, tail := split(key)
		keys = append(keys, []byte(key))
		if c.Deleted {
			goneHeads, goneHashes = append(goneHeads, head), append(goneHashes, hash)
			continue
		}
		heads, hashes, tails = append(heads, head), append(hashes, hash), append(tails, tail)
		values = append(values, append([]byte{}, c.Value...))
	}
	var b pgx.Batch
	b.Queue(`INSERT INTO holdgate_changes (id, batch, keys) VALUES (nextval('holdgate_change_ids'), $1, $2)`, name[:], keys)
	if len(heads) > 0 {
		b.Queue(`INSERT INTO holdgate_pairs (head, hash, tail, value)
			SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[])
			ON CONFLICT (head, hash) DO UPDATE SET value = excluded.value`, heads, hashes, tails, values)
	}
	if len(goneHeads) > 0 {
		b.Queue(`DELETE FROM holdgate_pairs p USING unnest($1::bytea[], $2::bytea[]) AS gone (head, hash)
			WHERE p.head = gone.head AND p.hash = gone.hash`, goneHeads, goneHashes)
	}
	if s.changes.notified {
		b.Queue(`SELECT pg_notify('` + channel + `', '')`)
	}
	return tx.SendBatch(ctx, &b).Close()
}

// settle finds out what became of a commit that had no answer: it takes the
// name of its row, which only one can have. Nil: it was committed.
func (s *Store) settle(name batchName, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), batchLimit)
	defer cancel()
	for try := 0; ; try++ {
		if s.dial(ctx) == nil {
			tag, err := s.conn.Exec(ctx, `INSERT INTO holdgate_changes (id, batch, keys)
				VALUES (nextval('holdgate_change_ids'), $1, '{}') ON CONFLICT (batch) DO NOTHING`, name[:])
			if err == nil && tag.RowsAffected() == 0 {
				return nil
			}
			if err == nil {
				return s.unavailable(cause)
			}
			s.hangUp()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errUnknown, &unreachableError{cause})
		}
		pause(try + 6)
	}
}

// dial makes the writer's connection where there is none.
func (s *Store) dial(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return s.unavailable(err)
	}
	if err := s.lease.bound(ctx, conn); err != nil {
		conn.Close(ctx)
		return s.unavailable(err)
	}
	s.conn = conn
	return nil
}

// hangUp ends the writer's connection.
func (s *Store) hangUp() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.conn.Close(ctx)
	s.conn = nil
}
