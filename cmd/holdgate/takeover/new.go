package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
)

// ErrNobody says that no sidecar hears who wants to take its place.
var ErrNobody = errors.New("no sidecar runs whose place could be taken")

// A Predecessor is the sidecar whose place this process takes.
type Predecessor struct {
	Version string
	Kept    *Kept

	conn *net.UnixConn
	log  *slog.Logger
}

// Claim takes the place of the sidecar that listens at the path: it has that one's doors
// afterwards, and that one begins to stop. Close the Predecessor in any case, after the
// store that was opened since.
func Claim(ctx context.Context, path, proof, version string, log *slog.Logger) (*Predecessor, error) {
	conn, err := socket.Dial(ctx, path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("reaching the sidecar that runs: %w", err)
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the sidecar that runs is reached by a %T", conn), conn.Close())
	}
	p, err := claimed(c, claim{Proof: proof, Version: version, PID: os.Getpid()})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking the place of the sidecar that runs: %w", err), c.Close())
	}
	p.log = logTo(log)
	return p, nil
}

func claimed(c *net.UnixConn, in claim) (*Predecessor, error) {
	if err := sameUser(c); err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(prompt))
	if err := handover.Send(c, in); err != nil {
		return nil, err
	}
	var o offer
	files, err := handover.Receive(c, &o)
	if err == nil && o.Error != "" {
		err = errors.New(o.Error)
	}
	if err == nil && len(files) != len(o.Doors) {
		err = fmt.Errorf("%d files came, and %d were named", len(files), len(o.Doors))
	}
	if err == nil {
		err = handover.Send(c, taken{})
	}
	if err != nil {
		closeFiles(files)
		return nil, err
	}
	_ = c.SetDeadline(time.Time{})
	return &Predecessor{conn: c, Version: o.Version, Kept: &Kept{doors: o.Doors, files: files}}, nil
}

// Await waits until the predecessor has closed its store. Where it ends before it says
// so, its store is free as well, and its runs have ended.
func (p *Predecessor) Await(ctx context.Context) error {
	end := context.AfterFunc(ctx, func() { _ = p.conn.SetDeadline(time.Unix(1, 0)) })
	defer end()
	for {
		var r released
		files, err := handover.Receive(p.conn, &r)
		switch {
		case ctx.Err() != nil:
			closeFiles(files)
			return ctx.Err()
		case gone(err):
			p.log.Warn("the process whose place this one takes has ended by itself", "err", err)
			return nil
		case err != nil:
			return fmt.Errorf("waiting for the sidecar that runs to close its store: %w", err)
		case r.Run == nil:
			closeFiles(files)
			return nil
		}
		if err := takeRun(r.Run, files); err != nil {
			return fmt.Errorf("taking up the agent %s: %w", r.Run.Agent, err)
		}
		p.Kept.runs = append(p.Kept.runs, *r.Run)
		if err := handover.Send(p.conn, taken{}); err != nil && !gone(err) {
			return err
		}
	}
}

// gone reports whether an error says that the other side has ended.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Ready tells the predecessor that its doors are served. What was not taken of them is
// closed.
func (p *Predecessor) Ready() {
	p.Kept.Served()
	if err := handover.Send(p.conn, taken{}); err != nil {
		p.log.Warn("the process whose place this one takes does not hear that this one is ready", "err", err)
	}
}

// Close ends the connection. Before [Predecessor.Ready] it gives the place back.
func (p *Predecessor) Close() error {
	p.Kept.Close()
	return p.conn.Close()
}
