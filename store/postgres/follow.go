package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// channel is where the server notifies of new rows in holdgate_changes.
	channel = "holdgate_changes"
	// pollEvery is how often the rows are read without a notification.
	pollEvery = time.Second
	// keepChanges is how long the rows stay. Whoever can't reach the server
	// for longer hears of keys that are there, and not of those deleted.
	keepChanges = 24 * time.Hour
	// pruneEvery is how often older rows are deleted.
	pruneEvery = 10 * time.Minute
	// gapLimit is how long a number that was skipped may still appear: its
	// transaction is being committed, or never was.
	gapLimit = 10 * time.Minute
	// maxGaps is how many such numbers are remembered.
	maxGaps = 10_000
)

// changes is how far the rows of holdgate_changes have been read. Numbers are
// given out before the commit, so a lower one can appear after a higher one.
type changes struct {
	notified bool // the server notifies; set by begin

	mu   sync.Mutex
	last int64                  // the highest number that was there
	gaps map[int64]time.Time    // those below that were not, and since when
	own  map[batchName]struct{} // those of this process, which its watchers know
	read time.Time              // when they were last read
}

// begin starts behind what is there now.
func (c *changes) begin(ctx context.Context, conn *pgx.Conn) error {
	c.gaps, c.own, c.read = make(map[int64]time.Time), make(map[batchName]struct{}), time.Now()
	rows, err := conn.Query(ctx, `SELECT id FROM holdgate_changes ORDER BY id DESC LIMIT 1000`)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	slices.Reverse(ids)
	for i, id := range ids {
		if i == 0 {
			c.last = id
		}
		c.passed(id, batchName{})
	}
	_, err = conn.Exec(ctx, `LISTEN `+channel)
	if _, refused := errors.AsType[*pgconn.PgError](err); err != nil && !refused {
		return err
	}
	c.notified = err == nil
	return nil
}

// mine says that a row is of this process.
func (c *changes) mine(name batchName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own[name] = struct{}{}
}

// notMine takes that back.
func (c *changes) notMine(name batchName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.own, name)
}

// passed notes a row that is there, and the numbers skipped before it.
func (c *changes) passed(id int64, name batchName) (mine bool) {
	for skipped := max(c.last+1, id-maxGaps); skipped < id; skipped++ {
		c.gaps[skipped] = time.Now()
	}
	c.last = max(c.last, id)
	delete(c.gaps, id)
	_, mine = c.own[name]
	delete(c.own, name)
	return mine
}

// expire forgets numbers that will not appear anymore.
func (c *changes) expire() {
	for id, since := range c.gaps {
		if time.Since(since) > gapLimit || len(c.gaps) > maxGaps {
			delete(c.gaps, id)
		}
	}
}

// waiting returns from where on to read, and which skipped numbers to look for.
func (c *changes) waiting() (last int64, gaps []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	gaps = make([]int64, 0, len(c.gaps))
	for id := range c.gaps {
		gaps = append(gaps, id)
	}
	return c.last, gaps
}

// changesSince are the rows after a number, and those that were skipped: two ways
// into the index.
const changesSince = `SELECT id, batch, keys FROM holdgate_changes WHERE id > $1
	UNION ALL SELECT id, batch, keys FROM holdgate_changes WHERE id = ANY ($2) AND id <= $1 ORDER BY id`

// next returns the keys that others changed since the last call.
func (c *changes) next(ctx context.Context, conn *pgx.Conn) (keys []string, err error) {
	last, gaps := c.waiting()
	rows, err := conn.Query(ctx, changesSince, last, gaps)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name []byte
		var list [][]byte
		if err := rows.Scan(&id, &name, &list); err != nil {
			return nil, err
		}
		c.mu.Lock()
		mine := c.passed(id, batchName(name))
		c.mu.Unlock()
		for _, key := range list {
			if !mine {
				keys = append(keys, string(key))
			}
		}
	}
	return keys, rows.Err()
}

// follow tells the watchers what other processes change, until ctx ends.
func (s *Store) follow(ctx context.Context) {
	said := false
	for ctx.Err() == nil {
		err := s.listen(ctx, func() { said = false })
		if ctx.Err() != nil {
			return
		}
		if !said {
			s.config.Logger.Warn("changes of other members are not heard for now", "error", err)
			said = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// listen follows on one connection until it breaks.
func (s *Store) listen(ctx context.Context, heard func()) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if s.changes.notified {
		if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
			return err
		}
	}
	if err := s.catchUp(ctx, conn); err != nil {
		return err
	}
	var pruned time.Time
	for {
		keys, err := s.changes.next(ctx, conn)
		s.watchers.Notify(slices.Values(keys))
		if err != nil {
			return err
		}
		s.changes.read = time.Now()
		heard()
		if time.Since(pruned) > pruneEvery {
			if err := prune(ctx, conn); err != nil {
				return err
			}
			pruned = time.Now()
		}
		if err := await(ctx, conn); err != nil {
			return err
		}
	}
}

// catchUp names every key after a pause that was longer than the rows stay.
func (s *Store) catchUp(ctx context.Context, conn *pgx.Conn) error {
	if time.Since(s.changes.read) < keepChanges-pruneEvery {
		return nil
	}
	rows, err := conn.Query(ctx, `SELECT head || tail FROM holdgate_pairs`)
	if err != nil {
		return err
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return fmt.Errorf("reading all keys: %w", err)
	}
	s.watchers.Notify(func(yield func(string) bool) {
		for _, key := range keys {
			if !yield(string(key)) {
				return
			}
		}
	})
	return nil
}

// await waits for a notification, for pollEvery at the most.
func await(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	_, err := conn.WaitForNotification(waiting)
	if waiting.Err() != nil {
		return ctx.Err()
	}
	return err
}

func prune(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `DELETE FROM holdgate_changes WHERE at < now() - $1::interval`, keepChanges)
	return err
}
