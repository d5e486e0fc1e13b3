package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// DefaultLease is how long a member that says nothing holds the store, where its
// [Config] does not say so; another may then take it over.
const DefaultLease = 12 * time.Second

// renewals is how often a member says in that time that it is there. Others look
// as often.
const renewals = 4

// ErrTakenOver says that another member holds the store now, for this one did
// not reach the server for too long. It writes nothing more; it has to be
// opened anew.
var ErrTakenOver = errors.New("another member has taken the store over")

// lease is this member's hold on the store. Each batch checks it under a lock on
// its row, so that nothing is written by who no longer has it; time, of the
// server alone, says only when another may take it.
type lease struct {
	member   string
	token    batchName
	lasts    time.Duration
	together bool // others may work too
}

// acquire waits until the store is free, and takes it. It tells OnWaiting who has
// it, whenever that changes. A member that stands by does so while the server is away, too;
// what it returns is the connection to go on with.
func (s *Store) acquire(ctx context.Context, conn *pgx.Conn) (*pgx.Conn, error) {
	if _, err := conn.Exec(ctx, `INSERT INTO holdgate_lease (id, holder, member, until) VALUES ($1, '', '', now()), ($2, '', '', now()) ON CONFLICT DO NOTHING`, rowStore, rowDuty); err != nil {
		return conn, err
	}
	last := ""
	for {
		var err error
		if conn.IsClosed() {
			if again, dialErr := s.connect(ctx); dialErr == nil {
				conn = again
			} else {
				err = dialErr
			}
		}
		var holder string
		var taken bool
		if err == nil {
			holder, taken, err = s.take(ctx, conn)
		}
		switch {
		case err == nil && taken:
			s.reached()
			return conn, nil
		case err == nil:
			s.reached()
			if holder != last && s.config.OnWaiting != nil {
				s.config.OnWaiting(holder)
			}
			last = holder
		default:
			if _, away := errors.AsType[*unreachableError](s.unavailable(err)); !away || last == "" || ctx.Err() != nil {
				return conn, err
			}
			conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return conn, ctx.Err()
		case <-time.After(s.lease.lasts / renewals):
		}
	}
}

// take takes the store where it is free, or says who has it.
func (s *Store) take(ctx context.Context, conn *pgx.Conn) (holder string, taken bool, err error) {
	l := &s.lease
	if err := s.beat(ctx, conn); err != nil {
		return "", false, err
	}
	tag, err := conn.Exec(ctx, `UPDATE holdgate_lease SET holder = $1, member = $2, until = now() + $3::interval
		WHERE id = $4 AND (until <= now() OR holder = $1)`, l.holder(), l.member, l.lasts, rowStore)
	if err != nil {
		return "", false, err
	}
	if tag.RowsAffected() == 1 {
		taken, err = s.enter(ctx, conn)
		return l.member, taken, err // where it was not, another process has the name
	}
	err = conn.QueryRow(ctx, `SELECT member FROM holdgate_lease WHERE id = $1`, rowStore).Scan(&holder)
	return holder, false, err
}

// bound has the server end a transaction of the writer's in which nothing comes for as
// long as the lease lasts: the writer may be cut off, and whoever is to take over
// waits for its lock on the lease.
func (l *lease) bound(ctx context.Context, conn *pgx.Conn) error {
	if l.member == "" {
		return nil
	}
	_, err := conn.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, false)`, strconv.FormatInt(l.lasts.Milliseconds(), 10))
	return err
}

// renew keeps the lease until ctx ends, and then lets it go.
func (s *Store) renew(ctx context.Context) {
	var conn *pgx.Conn
	for ctx.Err() == nil {
		conn = s.renewOnce(ctx, conn)
		select {
		case <-ctx.Done():
		case <-time.After(s.lease.lasts / renewals):
		}
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectLimit)
	defer cancel()
	if conn == nil { // the last renewal broke it
		conn, _ = s.connect(ending)
	}
	if conn != nil {
		conn.Exec(ending, `UPDATE holdgate_lease SET until = now() WHERE holder = $1`, s.lease.token[:]) // not what others hold too
		s.leave(ending, conn)
		conn.Close(ending)
	}
}

// renewOnce renews the lease and returns the connection to be used next, nil
// where it broke. What it has begun as ctx ends is not cut off at once: that
// breaks the connection, and then nothing lets the lease go.
func (s *Store) renewOnce(ctx context.Context, conn *pgx.Conn) *pgx.Conn {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.lease.lasts)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(connectLimit, cancel) })()
	if conn == nil {
		var err error
		if conn, err = s.connect(limited); err != nil {
			_ = s.unavailable(err) // noted
			return nil
		}
	}
	tag, err := conn.Exec(limited, `UPDATE holdgate_lease SET until = now() + $2::interval WHERE id = $3 AND holder = $1`,
		s.lease.holder(), s.lease.lasts, rowStore)
	if err == nil && tag.RowsAffected() == 0 {
		s.takenOver()
	}
	if err == nil {
		err = cmp.Or(s.beat(limited, conn), s.claimDuty(limited, conn))
	}
	if err != nil {
		_ = s.unavailable(err) // noted
		conn.Close(limited)
		return nil
	}
	s.reached()
	return conn
}

// held checks, within a batch, that this member holds the store, and keeps
// others from taking it until the batch ends.
func (s *Store) held(ctx context.Context, tx pgx.Tx) error {
	if s.lease.member == "" {
		return nil
	}
	var mine bool
	err := tx.QueryRow(ctx, `SELECT holder = $1 FROM holdgate_lease WHERE id = $2 FOR SHARE`, s.lease.holder(), rowStore).Scan(&mine)
	if err != nil {
		return s.unavailable(err)
	}
	if !mine {
		return s.takenOver()
	}
	return nil
}

// takenOver ends all writing, and tells the owner once.
func (s *Store) takenOver() error {
	if s.gone.CompareAndSwap(false, true) {
		s.config.Logger.Error("another member has taken the store over; this one writes nothing more")
		if s.config.OnTakenOver != nil {
			s.config.OnTakenOver()
		}
	}
	return fmt.Errorf("writing to the store: %w", ErrTakenOver)
}
