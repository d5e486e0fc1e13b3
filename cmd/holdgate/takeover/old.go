package takeover

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/proxy/identity"
)

// prompt is how long either side may take for an answer that takes no work.
const prompt = 10 * time.Second

// A Post is where a sidecar hears who wants to take its place.
type Post struct {
	ln net.Listener
	// Proof is what a successor has to show, and Version this sidecar's.
	Proof, Version string
	Logger         *slog.Logger
}

// Listen listens at a path, for this user alone.
func Listen(path string) (*Post, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the old socket: %w", err)
	}
	ln, err := socket.Listen(path)
	if err != nil {
		return nil, fmt.Errorf("listening for a successor: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &Post{ln: ln, Logger: logTo(nil)}, nil
}

// Close ends Serve, and removes the socket.
func (p *Post) Close() error { return p.ln.Close() }

// Serve waits for a successor, and passes it the doors. It returns nil once the post is
// closed.
func (p *Post) Serve(doors []Door) (*Successor, error) {
	for {
		c, err := p.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listening for a successor: %w", err)
		}
		s, err := p.hear(c, doors)
		if err == nil {
			return s, nil
		}
		_ = c.Close()
		p.Logger.Warn("a process that wanted to take this one's place does not", "err", err)
	}
}

// hear checks a claim, and passes the doors.
func (p *Post) hear(conn net.Conn, doors []Door) (_ *Successor, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("it comes by a %T", conn)
	}
	if err := sameUser(c); err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(prompt))
	var in claim
	if err := receive(c, &in); err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(in.Proof), []byte(p.Proof)) != 1 {
		return nil, errors.Join(errors.New("it has not read this state folder's secret.key"),
			handover.Send(c, offer{Error: "the proof is none: secret.key is another than that of the sidecar that runs"}))
	}
	k, err := keep(doors)
	if err != nil {
		return nil, errors.Join(err, handover.Send(c, offer{Error: err.Error()}))
	}
	defer func() {
		if err != nil {
			k.Close()
		}
	}()
	if err := handover.Send(c, offer{Version: p.Version, Doors: doors}, k.files...); err != nil {
		return nil, fmt.Errorf("passing the listening sockets: %w", err)
	}
	if err := receive(c, &taken{}); err != nil {
		return nil, fmt.Errorf("passing the listening sockets: %w", err)
	}
	_ = c.SetDeadline(time.Time{})
	for _, d := range doors {
		socket.Stay(d.Listener, true)
	}
	return &Successor{conn: c, kept: k, PID: in.PID, Version: in.Version, log: p.Logger}, nil
}

// sameUser returns an error where the kernel says that another user is at the other end.
func sameUser(c *net.UnixConn) error {
	if peer := identity.PeerOf(c); peer.Known && int(peer.UID) != os.Geteuid() {
		return fmt.Errorf("the process at the other end runs as the user %d", peer.UID)
	}
	return nil
}

// receive receives a message with which no files may come.
func receive(c *net.UnixConn, message any) error {
	files, err := handover.Receive(c, message)
	closeFiles(files)
	return err
}

// A Successor is a process that has the doors of this one, and waits for its store.
type Successor struct {
	PID     int
	Version string

	conn *net.UnixConn
	kept *Kept
	log  *slog.Logger
}

// Release passes the runs, says that the store is closed, and waits until the successor
// is ready: then it returns nil. Where the successor ends before that, or cannot be
// reached, Release returns what a sidecar in this process goes on with. Once ctx ends it
// returns ctx's error, and nothing is kept.
func (s *Successor) Release(ctx context.Context, runs []Run) (*Kept, error) {
	defer s.conn.Close()
	s.kept.runs = runs
	end := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer end()
	err := s.release()
	switch {
	case err == nil, ctx.Err() != nil:
		s.kept.closeAll()
		return nil, ctx.Err()
	}
	s.log.Warn("the process that was to take this one's place has ended before it was ready: this one goes on", "pid", s.PID, "err", err)
	return s.kept, nil
}

func (s *Successor) release() error {
	for i := range s.kept.runs {
		r := &s.kept.runs[i]
		if err := sendRun(s.conn, r); err != nil {
			return fmt.Errorf("passing the agent %s: %w", r.Agent, err)
		}
		if err := receive(s.conn, &taken{}); err != nil {
			return fmt.Errorf("passing the agent %s: %w", r.Agent, err)
		}
	}
	if err := handover.Send(s.conn, released{}); err != nil {
		return err
	}
	return receive(s.conn, &taken{})
}
