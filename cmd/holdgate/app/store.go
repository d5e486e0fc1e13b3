package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/drain"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/move"
	"github.com/holdgate/holdgate/store/postgres"
)

// openDatabase opens the store where the configuration has it. In PostgreSQL it
// waits until no other sidecar works on it.
func (a *App) openDatabase(ctx context.Context, s *state) (store.Store, error) {
	if !a.c.Store.Postgres.On() {
		return a.openKept(ctx, badger.OnSync(a.metrics.Synced))
	}
	dir := a.c.StateDir
	if err := CheckUnfinished(dir); err != nil {
		return nil, err
	}
	pc, err := postgresConfig(a.c.Store.Postgres, a.log)
	if err != nil {
		return nil, err
	}
	pc.OnCommit, pc.About = a.metrics.Synced, a.about
	pc.OnTakenOver = func() { a.fail("store", postgres.ErrTakenOver) }
	wait := &standby{app: a}
	pc.OnWaiting = func(holder string) {
		a.log.Warn("standing by: another member works on the store", "member", holder)
		if err := wait.waits(holder); err != nil {
			a.log.Warn("probes, commands or scrapers find nobody while this member stands by", "error", err)
		}
	}
	pc.OnWarning = func(warning string) { a.log.Warn("of the database", "warning", warning) }
	if err := checkSecret(ctx, pc, s, dir); err != nil {
		return nil, err
	}
	pc.OnWarning = nil // it was said
	st, err := postgres.Open(ctx, pc)
	wait.stop()
	if err != nil {
		return nil, err
	}
	err = CheckUnfinished(dir)
	if err == nil {
		err = sameSecret(ctx, st, s, true)
	}
	if err != nil { // much may have changed while this member stood by
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// postgresConfig is how the store in PostgreSQL is opened.
func postgresConfig(p config.Postgres, log *slog.Logger) (postgres.Config, error) {
	pc := postgres.Config{URL: p.URL, Member: p.Member, Lease: time.Duration(p.TakeOver), Logger: log}
	if p.URLFile != "" {
		url, err := credential.ReadFile(p.URLFile)
		if err != nil {
			return pc, fmt.Errorf("store.postgres.url_file: %w", err)
		}
		pc.URL = url
	}
	if p.PasswordFile != "" || len(p.PasswordCommand) > 0 {
		c := &credential.Credential{Spec: credential.Spec{File: p.PasswordFile, Command: p.PasswordCommand,
			Timeout: time.Duration(config.Credential{}.WithDefaults().Timeout)}}
		pc.Password = c.Read
	}
	if pc.Member == "" {
		name, err := os.Hostname()
		if err != nil {
			return pc, fmt.Errorf("store.postgres.member: this host has no name: %w", err)
		}
		pc.Member = name
	}
	return pc, nil
}

// Where the store says by which secrets it was made: the first, and the newest.
const (
	secretKey  = "members/secret"
	sealingKey = "members/sealing"
)

// checkKeys refuses to make keys beside a database in PostgreSQL that has a state: it was
// made with the keys of another member.
func (a *App) checkKeys(ctx context.Context) error {
	path := filepath.Join(a.c.StateDir, secretFile)
	if _, err := os.Lstat(path); !a.c.Store.Postgres.On() || !errors.Is(err, fs.ErrNotExist) {
		return nil // what is there is checked when it is read
	}
	pc, err := postgresConfig(a.c.Store.Postgres, a.log)
	if err != nil {
		return err
	}
	pc.Member = ""
	st, err := postgres.Open(ctx, pc)
	if err != nil {
		return err
	}
	err = st.View(ctx, func(tx store.Tx) error {
		for _, err := range tx.Scan("", "") {
			if err == nil {
				err = fmt.Errorf("%s is missing, and the database has a state: first put the keys of its members there, with `holdgate store keys --from FOLDER`", path)
			}
			return err
		}
		return nil
	})
	return errors.Join(err, st.Close())
}

// checkSecret is sameSecret before this member stands by, so that one that could
// not take over says so at once.
func checkSecret(ctx context.Context, pc postgres.Config, s *state, stateDir string) error {
	pc.Member = ""
	st, err := postgres.Open(ctx, pc)
	if err != nil {
		return err
	}
	err = st.View(ctx, func(tx store.Tx) error { return checkEmpty(tx, stateDir) })
	if err == nil {
		err = sameSecret(ctx, st, s, false)
	}
	return errors.Join(err, st.Close())
}

// sameSecret refuses a store that was made by another secret.key: its sealed
// bodies could not be opened, and its log's head not be checked. It refuses one
// to which not all has come, too. A member that works says which secret it seals
// with from now on.
func sameSecret(ctx context.Context, st store.Store, s *state, works bool) error {
	return st.Update(ctx, func(tx store.Tx) error {
		if err := move.Check(tx); err != nil {
			return explainUnfinished(err)
		}
		marks := s.marks()
		was, err := tx.Get(secretKey)
		switch {
		case errors.Is(err, store.ErrNotFound):
			err = tx.Set(secretKey, marks[0])
		case err == nil && !bytes.Equal(was, marks[0]):
			err = errors.New("this database was made by a member with another secret.key: give every member's state folder the same file. Where this folder has no state, remove secret.key, approver.token, ca.pem and ca.key from it, and run `holdgate store keys --from FOLDER`")
		}
		if err != nil {
			return err
		}
		was, err = tx.Get(sealingKey)
		known := err == nil && slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Equal(m, was) })
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case err == nil && !known:
			return errors.New("another member seals with a line of secret.key that is not in the file of this one: give every member's state folder the same file")
		case works:
			return tx.Set(sealingKey, marks[len(marks)-1])
		}
		return nil
	})
}

// fail ends the app with the failure of a part.
func (a *App) fail(name string, err error) {
	select {
	case a.failed <- fmt.Errorf("%s: %w", name, err):
	default:
	}
}

// A standby answers probes, commands and scrapers while another member works on the store:
// this one is alive, and not ready.
type standby struct {
	app    *App
	holder atomic.Pointer[string] // the member that works
	server *drain.Server
	scrape *http.Server // nil: nobody can
	work   sync.WaitGroup
}

// waits says who works, and listens where approvers and scrapers will, unless it does.
func (s *standby) waits(holder string) error {
	s.holder.Store(&holder)
	return errors.Join(s.serve(), s.serveMetrics())
}

// serveMetrics serves scrapers.
func (s *standby) serveMetrics() error {
	if s.scrape != nil {
		return nil
	}
	ln, err := s.app.listenMetrics()
	if ln == nil || err != nil {
		return err
	}
	s.scrape = s.app.scraped()
	s.work.Go(func() { s.scrape.Serve(ln) })
	return nil
}

// serve answers probes and commands.
func (s *standby) serve() error {
	if s.server != nil {
		return nil
	}
	c := s.app.c
	ln, err := net.Listen("tcp", c.Listen.Approvers)
	if err != nil {
		return err
	}
	handler := api.NewStandby(func() []api.Credential { return s.app.current.Load().tokens }, func() string { return *s.holder.Load() })
	s.server = drain.New(&http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second})
	s.work.Go(func() { s.app.tls.serve(s.server, ln) })
	path := filepath.Join(c.StateDir, socketName)
	if conn, err := socket.Dial(context.Background(), path); err == nil { // the member that works has the same folder
		return conn.Close()
	}
	sock, err := listenUnix(path)
	if err != nil {
		return err
	}
	s.work.Go(func() { s.server.Serve(sock) })
	return nil
}

// stop frees the addresses.
func (s *standby) stop() {
	if s.server != nil {
		s.server.Close()
	}
	if s.scrape != nil {
		s.scrape.Close()
	}
	s.work.Wait()
}
