package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/takeover"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
)

// A Succession says how a sidecar takes and gives its place; see package takeover. The
// zero value does neither.
type Succession struct {
	Offered bool // another process may take this one's place
	Replace bool // this process takes the place of one that runs, if any
	// Late is called where this process has another's place, and is not ready in time.
	Late func()
}

// postName is the socket at which a sidecar hears who wants to take its place.
const postName = "replace.sock"

// ReadyWithin is how long a sidecar may take to be ready, once the one whose place it
// takes has closed its store.
const ReadyWithin = 2 * time.Minute

// lockedFor is how long the store may be locked by a process that was killed.
const lockedFor = 30 * time.Second

// Run runs a sidecar until ctx ends, a part fails, or another process has taken its place.
// started is called once, when it is ready. Where a successor does not get ready, the
// sidecar starts again with the configuration that was in force.
func Run(ctx context.Context, c config.Config, o Options, started func(*App)) error {
	for {
		a, err := New(ctx, c, o)
		if err != nil {
			return err
		}
		var by *takeover.Successor
		if err = a.Start(ctx); err == nil {
			started(a)
			by, err = a.await(ctx)
		}
		if by == nil {
			if stopErr := a.Stop(context.WithoutCancel(ctx)); err == nil {
				err = stopErr
			}
			return err
		}
		c = a.current.Load().c
		o.kept, err = a.makeWay(ctx, by)
		if err != nil || o.kept == nil {
			return err
		}
		o.Succession.Replace, o.Watched.First, started = false, c, func(*App) {}
	}
}

// await is [App.Wait] which also returns once another process has the doors.
func (a *App) await(ctx context.Context) (*takeover.Successor, error) {
	select {
	case by := <-a.successor:
		return by, nil
	case err := <-a.failed:
		return nil, err
	case <-ctx.Done():
		return nil, nil
	}
}

// makeWay stops, and waits until the successor is ready. Otherwise it returns what this
// process goes on with.
func (a *App) makeWay(ctx context.Context, by *takeover.Successor) (*takeover.Kept, error) {
	a.log.Info("another process takes this one's place", "pid", by.PID, "version", by.Version)
	a.runs.Leave()
	if err := a.Stop(context.WithoutCancel(ctx)); err != nil {
		a.log.Error("stopping for another process", "err", err)
	}
	kept, err := by.Release(ctx, a.runs.Left())
	if ctx.Err() != nil {
		return nil, nil // this process is to end
	}
	return kept, err
}

// takePlace has a sidecar that runs make way for this one. It returns once the other's
// store is closed.
func (a *App) takePlace(ctx context.Context) error {
	a.kept = a.o.kept
	if a.o.Succession.Replace {
		if a.c.Store.Postgres.On() {
			return errors.New("--replace is for a store in the state folder: with PostgreSQL start another member, and stop this one then")
		}
		p, err := takeover.Claim(ctx, filepath.Join(a.c.StateDir, postName), a.proof(), a.o.Version, a.log)
		if errors.Is(err, takeover.ErrNobody) {
			a.log.Info("no sidecar runs on this state folder whose place could be taken: this one starts")
			return nil
		}
		if err != nil {
			return err
		}
		a.onStop("place of another", func(context.Context) error { return p.Close() })
		a.predecessor, a.kept = p, p.Kept
		a.log.Info("the doors of the sidecar that runs are passed: waiting for it to close its store", "version", p.Version)
		if err := p.Await(ctx); err != nil {
			return err
		}
		if a.o.Succession.Late != nil {
			late := time.AfterFunc(ReadyWithin, a.o.Succession.Late)
			a.onStop("deadline", func(context.Context) error { late.Stop(); return nil })
			a.ready = func() { late.Stop(); p.Ready() }
		} else {
			a.ready = p.Ready
		}
		a.log.Info("the store of the sidecar that ran is closed")
	}
	return a.runs.EnterKept(a.kept.Runs())
}

// proof shows that a process has read the state folder's secret.
func (a *App) proof() string { return hex.EncodeToString(a.state.key(purposeReplace)) }

// succeed is the last step of a start: the predecessor may end, and successors are heard.
func (a *App) succeed() error {
	if a.ready != nil {
		a.ready()
	}
	if a.o.kept != nil {
		a.o.kept.Served()
	}
	if !a.o.Succession.Offered || a.c.Store.Postgres.On() {
		return nil
	}
	post, err := takeover.Listen(filepath.Join(a.c.StateDir, postName))
	if err != nil {
		return err
	}
	post.Proof, post.Version, post.Logger = a.proof(), a.o.Version, a.log
	a.onStop("successors", func(context.Context) error {
		if err := post.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	a.work.Go(func() {
		by, err := post.Serve(a.doors)
		if by != nil {
			a.successor <- by
		}
		if err != nil {
			a.log.Error("no other process can take this one's place any longer", "err", err)
		}
	})
	return nil
}

// listen listens at an address, or takes the door there that another process has passed.
func (a *App) listen(name, address string) (net.Listener, error) {
	return a.door(name, address, func() (net.Listener, error) { return net.Listen("tcp", address) })
}

// listenSocket is listen at a path, for the owner alone.
func (a *App) listenSocket(path string) (net.Listener, error) {
	return a.door("socket", path, func() (net.Listener, error) { return listenUnix(path) })
}

func (a *App) door(name, address string, anew func() (net.Listener, error)) (net.Listener, error) {
	ln, err := a.kept.Listener(name, address)
	if ln == nil && err == nil {
		ln, err = anew()
	}
	if err != nil {
		return nil, err
	}
	a.doors = append(a.doors, takeover.Door{Name: name, Address: address, Listener: ln})
	return ln, nil
}

// openKept is [OpenLocal] where another process may have been killed a moment ago, whose
// lock the kernel has yet to take back.
func (a *App) openKept(ctx context.Context, options ...badger.Option) (store.Store, error) {
	began := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := OpenLocal(a.c.StateDir, a.log, options...)
		if !errors.Is(err, badger.ErrInUse) {
			return st, err
		}
		if a.kept == nil && a.o.Succession.Replace {
			err = fmt.Errorf("%w: nobody can take its place, for it is the sidecar of a holdgate run, of a version without --replace, or is being replaced just now", err)
		}
		if a.kept == nil || time.Since(began) > lockedFor {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
