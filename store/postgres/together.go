package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// The rows of holdgate_lease.
const (
	rowStore = 1 // who works on the store
	rowDuty  = 2 // of those that work together, who does what is done once
)

// together holds the store for all members that work together: each of them keeps it.
var together = batchName([]byte("holdgate members"))

// holder is who has the store where this member works.
func (l *lease) holder() []byte {
	if l.together {
		return together[:]
	}
	return l.token[:]
}

// enter says that this member works together with others, unless another process does
// under its name.
func (s *Store) enter(ctx context.Context, conn *pgx.Conn) (entered bool, err error) {
	if !s.lease.together {
		return true, nil
	}
	tag, err := conn.Exec(ctx, `UPDATE holdgate_members SET works = true WHERE token = $1 AND NOT EXISTS (
		SELECT FROM holdgate_members o WHERE o.member = $2 AND o.token <> $1 AND o.works AND o.seen > now() - $3::interval)`,
		s.lease.token[:], s.lease.member, s.lease.lasts)
	return err == nil && tag.RowsAffected() == 1, err
}

// A Peer is another member that works.
type Peer struct {
	Name string
	Ago  time.Duration // since it was heard of, by the server's clock
}

// Peers are the other members that work together with this one. One that nothing was
// heard of for longer than a lease is none.
func (s *Store) Peers(ctx context.Context) ([]Peer, error) {
	rows, err := s.pool.Query(ctx, `SELECT member, now() - seen FROM holdgate_members
		WHERE works AND token <> $1 AND seen > now() - $2::interval`, s.lease.token[:], s.lease.lasts)
	if err != nil {
		return nil, s.unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Peer])
	if err != nil {
		return nil, s.unavailable(err)
	}
	return list, nil
}

// duty is until when this member does what is done once among members that work
// together, by its own clock.
type duty struct {
	mu      sync.Mutex
	until   time.Time
	changed chan struct{} // closed when until changes
}

func (d *duty) set(until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = until
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *duty) look() (until time.Time, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until, d.changed
}

// claimDuty takes the duty, or keeps it, where no other member has it.
func (s *Store) claimDuty(ctx context.Context, conn *pgx.Conn) error {
	if !s.lease.together {
		return nil
	}
	asked := time.Now()
	tag, err := conn.Exec(ctx, `UPDATE holdgate_lease SET holder = $1, member = $2, until = now() + $3::interval
		WHERE id = $4 AND (holder = $1 OR until <= now())`, s.lease.token[:], s.lease.member, s.lease.lasts, rowDuty)
	if err != nil {
		return err
	}
	if until := asked.Add(s.lease.lasts); tag.RowsAffected() == 1 {
		s.duty.set(until)
	} else {
		s.duty.set(time.Time{})
	}
	return nil
}

// OnDuty has one of the members that work on the store work, until ctx ends: another
// when that member has ended, or has not reached the server for the time of a lease. The
// context of work ends before another begins. An error of work that it does not end with
// ends all. A member that works alone is always on duty.
func (s *Store) OnDuty(ctx context.Context, work func(context.Context) error) error {
	if !s.lease.together {
		return work(ctx)
	}
	for {
		until, changed := s.duty.look()
		if time.Now().Before(until) {
			lasting, end := context.WithCancel(ctx)
			go s.endDuty(lasting, end)
			err := work(lasting)
			off := lasting.Err() != nil
			if end(); !off {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// endDuty ends work once its time is over and was not made longer.
func (s *Store) endDuty(ctx context.Context, end func()) {
	defer end()
	for {
		until, changed := s.duty.look()
		over := time.NewTimer(time.Until(until))
		select {
		case <-over.C:
			return
		case <-ctx.Done():
		case <-changed:
		}
		if over.Stop(); ctx.Err() != nil {
			return
		}
	}
}
