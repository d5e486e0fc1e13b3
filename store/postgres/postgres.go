// Package postgres keeps a [store.Store] in PostgreSQL, so that several
// processes share one.
//
// # Writing
//
// One goroutine of each process, the writer, runs the functions given to Update
// and UpdateSoon, one after the other, in one serializable transaction (a
// batch); what they wrote goes to the server at its end. Functions of one
// process never conflict. Where those of two processes do, the server lets one
// batch win, and the other runs again, in smaller parts each time. UpdateSoon
// is Update: the server syncs both.
//
// Each batch that wrote leaves a row in holdgate_changes under a random name of
// its own. Where a connection breaks in the middle of a commit, that row says
// what became of it: the next connection tries to insert the same name. Where
// that is refused, the batch was committed; where it is not, the batch can
// never be committed anymore, and runs again. (The rows' numbers do not do for
// this: after a crash a sequence gives out again what no committed row has.)
//
// # Watching
//
// What this process wrote, its watchers hear at once. What others wrote is read
// from holdgate_changes, once a second and whenever the server notifies.
// Notifications are a hint: without them everything is heard a little later.
//
// # Members
//
// A process that must be the only one to write opens the store under a member's name,
// and others wait until it has closed it or died. A member that was cut off and has lost
// the store can't write, whatever its clock says.
//
// Members that say so work together: they wait for one that works alone, and it for all
// of them. What only one of them does is done by who is on duty ([Store.OnDuty]).
//
// # Failing
//
// While the server can't be reached, View and Update return an error that wraps
// [store.ErrUnavailable], and work again once it can. A server that loses
// acknowledged commits (fsync off) is refused; Config.OnWarning hears what is only
// said.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
)

const (
	// connectLimit is how long one try to connect may take.
	connectLimit = 5 * time.Second
	// maxViews is how many Views run at a time where the URL does not say
	// pool_max_conns; more wait.
	maxViews = 16
)

// A Config says where the store is.
type Config struct {
	// URL is a connection string of libpq, as a URL or as "key=value" pairs.
	// It may name several hosts, of which the one that takes writes is used,
	// certificates, and the search_path in which the tables are. It is secret
	// where it has a password.
	URL string
	// Password is asked before each new connection, so that passwords can
	// change. Nil: the URL's, or that of ~/.pgpass.
	Password func(context.Context) (string, error)
	Logger   *slog.Logger
	// Member is the name of a process that must be the only one to write. Open
	// then waits until no other holds the store; one that dies holds it for the
	// rest of its Lease. Empty: several write at a time.
	Member string
	Lease  time.Duration // DefaultLease where it is 0
	// Together has members work at once: Open waits only where one works that is not
	// together with others, or one of the same name.
	Together bool
	// OnWarning is told, in a sentence each, how the server could lose what it
	// acknowledged. Nil: nobody asks.
	OnWarning func(string)
	// About is what a member says of itself to whoever lists them. It is asked
	// several times in each Lease, by one goroutine at a time. Nil: nothing.
	About func() []byte
	// OnWaiting is told which member Open waits for.
	OnWaiting func(holder string)
	// OnTakenOver is told, once, that another member has taken the store over.
	OnTakenOver func()
	// OnCommit is told of each commit that was done or given up, and how long that took
	// with all its tries, by one goroutine that waits for it. Nil: nobody asks.
	OnCommit func(took time.Duration, err error)
}

// A Store is a [store.Store] in PostgreSQL.
type Store struct {
	config Config
	pool   *pgxpool.Pool // of the Views
	single *pgx.ConnConfig

	queue    *serial.Queue
	watchers serial.Watchers
	changes  changes
	lease    lease
	duty     duty
	gone     atomic.Bool // another member has taken the store over
	conn     *pgx.Conn   // the writer's; nil: to be made
	away     atomic.Bool // the server could not be reached when it was last tried
	down     bool        // the last batch found no server; the writer's
	noTurns  bool        // the server has no LOCK; the writer's

	workers sync.WaitGroup
	closing sync.Once
	closed  atomic.Bool
}

var _ store.Store = (*Store)(nil)

// Open connects to the server, makes or moves the tables forward, and starts
// the writer and the one that follows other processes' changes; Close ends
// both.
func Open(ctx context.Context, config Config) (*Store, error) {
	s := &Store{config: config, queue: serial.NewQueue(), lease: lease{member: config.Member, token: newName(), lasts: cmp.Or(config.Lease, DefaultLease), together: config.Together},
		duty: duty{changed: make(chan struct{})}}
	pool, err := s.settings()
	if err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, pool); err != nil {
		return nil, fmt.Errorf("opening the store in PostgreSQL: %w", err)
	}
	if err := s.prepare(ctx); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("opening the store in PostgreSQL: %w", err)
	}
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	s.workers.Go(func() {
		s.write()
		end() // what waited is written while the lease lasts
	})
	s.workers.Go(func() { s.follow(living) })
	if config.Member != "" {
		s.workers.Go(func() { s.renew(living) })
	}
	return s, nil
}

// settings reads the URL. Its errors do not repeat it: it may have a password.
func (s *Store) settings() (*pgxpool.Config, error) {
	pool, err := pgxpool.ParseConfig(s.config.URL)
	if err != nil {
		return nil, errors.New("store.postgres: the URL is no connection string: want postgres://user@host:port/database?sslmode=verify-full")
	}
	if pool.MaxConns < maxViews {
		pool.MaxConns = maxViews
	}
	c := pool.ConnConfig
	c.ConnectTimeout = connectLimit
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "holdgate"
	}
	pool.BeforeConnect, pool.AfterConnect = s.password, steer
	s.single = c.Copy()
	return pool, nil
}

// password fills in the password of a connection that is about to be made.
func (s *Store) password(ctx context.Context, c *pgx.ConnConfig) error {
	if s.config.Password == nil {
		return nil
	}
	password, err := s.config.Password(ctx)
	if err != nil {
		return fmt.Errorf("store.postgres: no password: %w", err)
	}
	c.Password = password
	return nil
}

// connect makes a connection that no View uses.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	c := s.single.Copy()
	if err := s.password(ctx, c); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := steer(ctx, conn); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// steer has a connection's statements follow the index. The planner would read all
// that is under a prefix and sort it, for the first few of it: by its estimate that
// is cheaper than a handful of reads here and there. A server without these
// settings goes on.
func steer(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET enable_bitmapscan = off; SET enable_seqscan = off`)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return err
}

// prepare checks the server, and makes the tables ready.
func (s *Store) prepare(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: PostgreSQL: %w", store.ErrUnavailable, err)
	}
	defer func() { conn.Close(ctx) }()
	warnings, err := inspect(ctx, conn)
	if err != nil {
		return err
	}
	for _, one := range warnings {
		if s.config.OnWarning != nil {
			s.config.OnWarning(one)
		}
	}
	if err := migrate(ctx, conn); err != nil {
		return err
	}
	if s.lease.member != "" {
		if conn, err = s.acquire(ctx, conn); err != nil {
			leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectLimit)
			defer cancel()
			if left, dialErr := s.connect(leaving); dialErr == nil { // what failed may have been the connection
				s.leave(leaving, left)
				left.Close(leaving)
			}
			return err
		}
	}
	return s.changes.begin(ctx, conn)
}

// beginView begins a View's transaction. The server takes its snapshot with the
// first statement behind BEGIN, not with BEGIN.
const beginView = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1`

// View implements [store.Store].
func (s *Store) View(ctx context.Context, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	r := &reader{ctx: ctx, tx: tx}
	err = fn(serial.View{Reader: r})
	if r.err != nil && ctx.Err() == nil {
		return s.unavailable(r.err)
	}
	return cmp.Or(err, r.err)
}

// begin begins a View's transaction. After a restart of the server every
// connection in the pool is of no use, so it tries others, for reachLimit.
func (s *Store) begin(ctx context.Context) (pgx.Tx, error) {
	began := time.Now()
	for try := 0; ; try++ {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginView})
		switch {
		case err == nil:
			s.reached()
			return tx, nil
		case s.closed.Load():
			return nil, store.ErrClosed
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		if err = s.unavailable(err); !errors.Is(err, store.ErrUnavailable) || time.Since(began) > reachLimit {
			return nil, err
		}
		pause(try)
	}
}

// Update implements [store.Store]. It must not be called from within a
// function of Update or UpdateSoon: it would wait for itself.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.queue.Do(ctx, fn, true)
}

// UpdateSoon implements [store.Store]; here it is Update.
func (s *Store) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return s.queue.Do(ctx, fn, true)
}

// Watch implements [store.Store].
func (s *Store) Watch(ctx context.Context, prefix string) store.Watcher {
	return s.watchers.Add(ctx, prefix)
}

// Close implements [store.Store]. Updates that wait are run and answered.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.queue.Close()
		s.workers.Wait()
		s.watchers.Close()
		s.pool.Close()
	})
	return nil
}

// unavailable says of an error that the server could not be reached, unless it is the
// server's own. The first of an outage is logged, and no text has it: agents read those,
// and it names the server and its user.
func (s *Store) unavailable(err error) error {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if _, ok := errors.AsType[*pgconn.PgError](err); ok && !connecting && !isShutdown(err) {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	if errors.Is(err, context.Canceled) {
		return &unreachableError{err}
	}
	if s.away.CompareAndSwap(false, true) {
		s.config.Logger.Warn("the store cannot be reached", "error", err)
	}
	return &unreachableError{err}
}

// reached notes that the server answers.
func (s *Store) reached() {
	if s.away.Load() && s.away.CompareAndSwap(true, false) {
		s.config.Logger.Info("the store can be reached again")
	}
}

// Away reports whether the server could not be reached when it was last tried.
func (s *Store) Away() bool { return s.away.Load() }

// An unreachableError is a server that could not be reached.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return store.ErrUnavailable.Error() }

func (e *unreachableError) Unwrap() []error { return []error{store.ErrUnavailable, e.cause} }

// The server's codes that matter: PostgreSQL, appendix A.
const (
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeReadOnly       = "25006" // what was the primary has become a standby
	codeIdle           = "25P03" // nothing came in a transaction for too long
	codeClassShutdown  = "57P"   // admin_shutdown, crash_shutdown, cannot_connect_now
	codeClassTooMany   = "53"    // out of disk, memory or connections
	codeUniqueConflict = "23505"
	codeNotThere       = "0A000" // the server has no such thing
	codeSyntax         = "42601"
)

// isConflict reports whether the server refused a transaction that can be run again.
func isConflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == codeSerialization || e.Code == codeDeadlock)
}

// isShutdown reports whether the server says that it is going or not ready.
func isShutdown(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (hasPrefix(e.Code, codeClassShutdown) || hasPrefix(e.Code, codeClassTooMany) || e.Code == codeReadOnly || e.Code == codeIdle)
}

func hasPrefix(code, class string) bool { return len(code) >= len(class) && code[:len(class)] == class }
