package api

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
)

// RunProtocol is what a connection speaks after POST /v1/runs.
const RunProtocol = "holdgate-run/1"

// A Run is an agent that another process starts, and that is to use this sidecar.
type Run struct {
	Program     string   `json:"program"`     // its name
	Confinement string   `json:"confinement"` // "strong", "weak" or "unconfined"
	Dir         string   `json:"dir"`         // that it works in
	Writable    []string `json:"writable"`    // folders that it can write in
	By          string   `json:"-"`           // the person who starts it, by their token
}

// Runs takes up agents that other processes start. Its methods may be called by
// several goroutines.
type Runs interface {
	// Check says why the sidecar cannot be used for a run.
	Check(Run) error
	// Serve serves the run until one side of the connection, which it owns from
	// then on, has ended. It returns at once.
	Serve(*net.UnixConn, Run)
}

// takeRun hands a connection of the socket's over to whoever starts an agent.
// Only there can listeners be passed.
func (s *Server) takeRun(w http.ResponseWriter, r *request) error {
	body, err := s.readBody(w, r, MaxBody)
	if err != nil {
		return err
	}
	in, err := decode[Run](body)
	if err != nil {
		return err
	}
	if n, ok := s.c.Queue.People().Find(r.by); !ok || !n.Has(people.RoleOperate) {
		return fmt.Errorf("%w: starting agents takes the role %s; ask somebody who has it", people.ErrNotEntitled, people.RoleOperate)
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if s.c.Runs == nil || local == nil || local.Network() != "unix" || r.ProtoMajor != 1 || r.Header.Get("Upgrade") != RunProtocol {
		w.Header().Set("Upgrade", RunProtocol)
		w.Header().Set("Connection", "Upgrade")
		return problem(http.StatusUpgradeRequired, "upgrade", "For holdgate run", "this is for `holdgate run`, over the sidecar's own socket")
	}
	in.By = r.by
	if err := s.c.Runs.Check(in); err != nil {
		return problem(http.StatusConflict, "run", "The sidecar cannot be used", err.Error())
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("taking the connection: %w", err)
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok || rw.Reader.Buffered() > 0 {
		_ = conn.Close()
		return errors.New("the connection cannot be taken")
	}
	_ = unix.SetDeadline(time.Time{})
	if _, err := io.WriteString(unix, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+RunProtocol+"\r\n\r\n"); err != nil {
		return errors.Join(err, unix.Close())
	}
	s.c.Runs.Serve(unix, in)
	return nil
}
