package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// StartReplica makes a server of the test's own that follows another by streaming
// replication, and starts it. It ends with the test, whatever became of it.
func StartReplica(t testing.TB, primary *Server) *Server {
	t.Helper()
	s, err := empty(nil)
	check(t, err)
	t.Cleanup(func() { s.Stop() })
	if err := s.Follow(primary); err != nil {
		t.Fatal(err)
	}
	return s
}

// Follow makes a server that does not run a replica of another, whatever it held,
// and starts it.
func (s *Server) Follow(primary *Server) error {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	out, err := s.command("pg_basebackup", "-h", primary.Socket, "-U", "holdgate", "-D", s.dir, "-c", "fast", "-R", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(s.dir, "postmaster.pid")); err != nil && !os.IsNotExist(err) {
		return err
	}
	return s.Start()
}

// Promote makes a replica the server that takes writes. Nobody is waited for then.
func (s *Server) Promote() error {
	return s.Exec(`ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`, `SELECT pg_promote()`)
}

// Synchronize lets no commit be acknowledged from now on before a replica has it, and
// waits until there is one.
func (s *Server) Synchronize() error {
	if err := s.Exec(`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`); err != nil {
		return err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, Address(s.Socket, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var n int
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&n); err != nil || n > 0 {
			return err
		}
	}
	return fmt.Errorf("no replica of %s is synchronous", s.Socket)
}

// Exec runs statements, each in a transaction of its own.
func (s *Server) Exec(statements ...string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, Address(s.Socket, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
