package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// keepGone is how long a member that has died stays in the list.
const keepGone = 24 * time.Hour

// A Member is a process that works on the store, waits to do so, or did.
type Member struct {
	Name    string
	Works   bool // it holds the store, alone or together with others
	Gone    bool // nothing was heard of it for longer than another waits to take over
	Started time.Time
	Seen    time.Time // by the server's clock
	About   []byte    // what Config.About said there
}

// Member is the name under which this process opened the store.
func (s *Store) Member() string { return s.config.Member }

// Members lists the members, the one that works first, then the newest.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	rows, err := s.pool.Query(ctx, `SELECT m.member, l.token IS NOT NULL OR m.works AND m.seen >= now() - $1::interval, m.seen < now() - $1::interval, m.started, m.seen, m.about
		FROM holdgate_members m LEFT JOIN (SELECT holder AS token FROM holdgate_lease WHERE id = 1 AND until > now()) l USING (token)
		ORDER BY 2 DESC, m.started DESC, m.member LIMIT 1000`, s.lease.lasts)
	if err != nil {
		return nil, s.unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Member, err error) {
		err = row.Scan(&m.Name, &m.Works, &m.Gone, &m.Started, &m.Seen, &m.About)
		m.Gone = m.Gone && !m.Works
		return m, err
	})
	if err != nil {
		return nil, s.unavailable(err)
	}
	return list, nil
}

// beat says that this member is there, and forgets those that died long ago, or
// under the same name. It waits for no row of another: two that take each other for
// dead would wait for each other.
func (s *Store) beat(ctx context.Context, conn *pgx.Conn) error {
	about := []byte{}
	if s.config.About != nil {
		about = s.config.About()
	}
	var b pgx.Batch
	b.Queue(`INSERT INTO holdgate_members (token, member, about) VALUES ($1, $2, $3)
		ON CONFLICT (token) DO UPDATE SET about = excluded.about, seen = now()`, s.lease.token[:], s.lease.member, about)
	b.Queue(`DELETE FROM holdgate_members WHERE token IN (SELECT token FROM holdgate_members
		WHERE token <> $1 AND (seen < now() - $3::interval OR member = $2 AND seen < now() - $4::interval) FOR UPDATE SKIP LOCKED)`,
		s.lease.token[:], s.lease.member, keepGone, s.lease.lasts)
	return conn.SendBatch(ctx, &b).Close()
}

// leave takes this member off the list.
func (s *Store) leave(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `DELETE FROM holdgate_members WHERE token = $1`, s.lease.token[:])
	return err
}
