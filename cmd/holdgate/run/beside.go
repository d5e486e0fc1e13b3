package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
)

// beside is how a run uses the sidecar of another process: that serves the run's
// own listeners, and knows by them who asks.
type beside struct {
	conn  *net.UnixConn
	lines *handover.Lines // once the doors were handed over
	terms handover.Terms
	door  string // where the agent finds the agents' door
}

// runBeside runs the agent behind the sidecar that serves the state folder.
func (r *agent) runBeside(ctx, until context.Context) (code int, err error) {
	sc, err := client.New(client.Options{StateDir: r.Config.StateDir, Channel: "cli"})
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	b := &beside{}
	if b.conn, err = sc.Run(ctx, api.Run{Program: r.Program, Confinement: r.Confinement, Dir: r.o.Dir, Writable: r.o.Writable}); err != nil {
		return 0, err
	}
	defer b.conn.Close()
	b.lines = handover.NewLines(b.conn)
	if _, err := handover.Receive(b.conn, &b.terms); err != nil {
		return 0, fmt.Errorf("asking the sidecar to take the agent up: %w", err)
	}
	r.beside = b
	if err := r.handOver(); err != nil {
		return 0, err
	}
	r.note("the sidecar that runs already is used; the agent counts there as %s", b.terms.Agent)
	var watching sync.WaitGroup
	var over atomic.Bool
	watching.Go(func() {
		r.heed(b.lines)
		if !over.Load() {
			r.result("the sidecar that %s used has ended: nothing that it asks goes on any longer; end it and start it anew", b.terms.Agent)
		}
	})
	code, err = r.behind(ctx, until)
	over.Store(true)
	_ = b.conn.Close()
	watching.Wait()
	return code, err
}

// handOver confines the agent and hands its listeners to the sidecar.
func (r *agent) handOver() error {
	doors, err := r.doors()
	if err != nil {
		return err
	}
	d, files, err := doors.Files()
	doors.Close() // the sidecar's alone from now on: where it ends, nobody listens
	if err != nil {
		return fmt.Errorf("handing the agent's network over: %w", err)
	}
	d.Proofs = r.proofs()
	err = handover.Send(r.beside.conn, d, files...)
	for _, f := range files {
		_ = f.Close()
	}
	var answer handover.Served
	if err == nil {
		_, err = handover.Receive(r.beside.conn, &answer)
	}
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return fmt.Errorf("handing the agent's network over: %w", err)
	}
	return nil
}

// doors are the listeners that the agent reaches and nobody else does; one that
// shares the network has a port of its own.
func (r *agent) doors() (handover.Opened, error) {
	if r.Confinement == confine.Strong {
		r.beside.door = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), confine.PortAgents).String()
		if err := r.confine(0); err != nil {
			return handover.Opened{}, err
		}
		return handover.Opened{Agents: []net.Listener{r.box.Agents}, Redirected: r.box.Redirected, Names: r.box.Names}, nil
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return handover.Opened{}, fmt.Errorf("listening for the agent: %w", err)
	}
	r.beside.door = ln.Addr().String()
	if err := r.confineWeak(r.beside.door); err != nil {
		return handover.Opened{}, errors.Join(err, ln.Close())
	}
	return handover.Opened{Agents: []net.Listener{ln}}, nil
}
