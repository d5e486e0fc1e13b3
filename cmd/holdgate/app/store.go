package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/postgres"
)

// openDatabase opens the store where the configuration has it. In PostgreSQL it
// waits until no other sidecar works on it.
func (a *App) openDatabase(ctx context.Context, s *state) (store.Store, error) {
	if !a.c.Store.Postgres.On() {
		return badger.Open(filepath.Join(a.c.StateDir, "db"), a.log, badger.OnSync(a.metrics.Synced))
	}
	pc, err := a.postgres(ctx)
	if err != nil {
		return nil, err
	}
	wait := &standby{addr: a.c.Listen.Approvers, tls: a.tls}
	pc.OnWaiting = func(holder string) {
		a.log.Warn("standing by: another member works on the store", "member", holder)
		if err := wait.start(holder); err != nil {
			a.log.Warn("probes find nobody while this member stands by", "error", err)
		}
	}
	if err := checkSecret(ctx, pc, s.key(purposeShared)); err != nil {
		return nil, err
	}
	st, err := postgres.Open(ctx, pc)
	wait.stop()
	if err != nil {
		return nil, err
	}
	for _, warning := range st.Warnings() {
		a.log.Warn(warning)
	}
	return st, nil
}

// postgres is the configuration of the store in PostgreSQL.
func (a *App) postgres(ctx context.Context) (postgres.Config, error) {
	p := a.c.Store.Postgres
	pc := postgres.Config{URL: p.URL, Member: p.Member, Lease: time.Duration(p.TakeOver), Logger: a.log, OnCommit: a.metrics.Synced}
	pc.OnTakenOver = func() { a.fail("store", postgres.ErrTakenOver) }
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

// secretKey is where the store says by which secret it was made.
const secretKey = "members/secret"

// checkSecret is sameSecret before this member stands by, so that one that could
// not take over says so at once.
func checkSecret(ctx context.Context, pc postgres.Config, mark []byte) error {
	pc.Member = ""
	st, err := postgres.Open(ctx, pc)
	if err != nil {
		return err
	}
	return errors.Join(sameSecret(ctx, st, mark), st.Close())
}

// sameSecret refuses a store that was made by another secret.key: its sealed
// bodies could not be opened, and its log's head not be checked.
func sameSecret(ctx context.Context, st store.Store, mark []byte) error {
	return st.Update(ctx, func(tx store.Tx) error {
		was, err := tx.Get(secretKey)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return tx.Set(secretKey, mark)
		case err != nil:
			return err
		case !bytes.Equal(was, mark):
			return errors.New("this database was made by a member with another secret.key: give every member's state folder the same file")
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

// A standby answers probes while another member works on the store: this one is
// alive, and not ready.
type standby struct {
	addr   string
	tls    *certificate
	server *http.Server
	done   chan struct{}
}

// start listens where approvers will, unless it does.
func (s *standby) start(holder string) error {
	if s.server != nil {
		return nil
	}
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, map[string]string{"health": "standing by"})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusServiceUnavailable, map[string]string{"title": "Not ready",
			"detail": "standby: this member stands by: " + holder + " works on the store"})
	})
	s.server, s.done = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, make(chan struct{})
	go func() {
		defer close(s.done)
		s.tls.serve(s.server, ln)
	}()
	return nil
}

func say(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(what)
}

// stop frees the address.
func (s *standby) stop() {
	if s.server != nil {
		s.server.Close()
		<-s.done
	}
}
