package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/proxy/openfiles"
)

// A cleanup takes one part down.
type cleanup struct {
	name string
	fn   func(context.Context) error
}

func (a *App) onStop(name string, fn func(context.Context) error) {
	a.cleanup = append(a.cleanup, cleanup{name, fn})
}

// Start listens and serves. It returns once every listener is ready.
func (a *App) Start(ctx context.Context) error {
	agents, err := a.listenAgents()
	if err != nil {
		return fmt.Errorf("listening for agents: %w", err)
	}
	approvers, err := a.listen("approvers", a.c.Listen.Approvers)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for approvers: %w", err), agents.Close())
	}
	sock, err := a.listenSocket(filepath.Join(a.c.StateDir, socketName))
	if err != nil {
		return errors.Join(err, agents.Close(), approvers.Close())
	}
	own, err := a.listenOwnSocket()
	if err != nil {
		return errors.Join(err, agents.Close(), approvers.Close(), sock.Close())
	}
	redirected, err := a.listenTransparent()
	if err != nil {
		return errors.Join(fmt.Errorf("listening for redirected connections: %w", err), agents.Close(), approvers.Close(), sock.Close(), closeAll(own))
	}
	scrapers, err := a.listenMetrics()
	if err != nil {
		return errors.Join(err, agents.Close(), approvers.Close(), sock.Close(), closeAll(own), closeAll(redirected...))
	}
	filters, err := a.listenExtAuthz()
	if err != nil {
		return errors.Join(err, agents.Close(), approvers.Close(), sock.Close(), closeAll(own), closeAll(redirected...), closeAll(scrapers))
	}
	at := approvers.Addr().String()
	a.approversAt.Store(&at)
	background := a.startBackground(ctx)
	a.onStop("background work", func(context.Context) error { background(); a.work.Wait(); return nil })
	asked := a.serveExtAuthz(filters)
	a.onStop("agents' door", a.proxy.Shutdown)
	a.onStop("approvers' door", a.approver.Shutdown)
	a.proxy.Own(approvers.Addr())
	a.listeners = []api.Listener{
		{Name: "agents", Addr: agents.Addr().String()},
		{Name: "approvers", Addr: approvers.Addr().String(), TLS: a.tls != nil},
		{Name: "approvers", Addr: sock.Addr().String()},
	}
	if a.configs.provider != nil {
		a.log.Info("people sign in at a provider, which must know this redirect URI", "issuer", a.c.OIDC.Issuer, "redirect_uri", a.page.Redirect())
	}
	a.goServe("agents' door", func() error { return a.proxy.Serve(openfiles.Spare(agents)) })
	if own != nil {
		a.listeners = append(a.listeners, api.Listener{Name: "agents", Addr: own.Addr().String()})
		a.goServe("agents' socket", func() error { return a.proxy.Serve(openfiles.Spare(own)) })
	}
	a.serveTransparent(redirected)
	a.serveMetrics(scrapers)
	a.listeners = append(a.listeners, asked...)
	a.serveInside(ctx)
	a.runs.ServeKept(a.kept.Runs())
	a.goServe("approvers' door", func() error { return a.serveApprovers(openfiles.SpareLess(approvers)) })
	a.goServe("approvers' socket", func() error { return a.approver.Serve(sock) })
	return a.succeed()
}

func (a *App) goServe(name string, serve func() error) {
	a.work.Go(func() {
		if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, context.Canceled) {
			a.fail(name, err)
		}
	})
}

// Listeners says where the doors are, in the order in which they are printed.
func (a *App) Listeners() []api.Listener { return a.listeners }

// AwaitRuns waits until no agent that another process started uses this sidecar,
// or until ctx ends. tell is told once of whom it waits for, if of anybody.
func (a *App) AwaitRuns(ctx context.Context, tell func(agents []string)) {
	agents, none := a.runs.Live()
	if len(agents) == 0 || ctx.Err() != nil {
		return
	}
	tell(agents)
	select {
	case <-none:
	case <-ctx.Done():
	case err := <-a.failed:
		a.failed <- err
	}
}

// RunEnded is for when the run of an agent has ended, and nothing of it asks any more.
func (a *App) RunEnded(agent string) { a.runs.Ended(agent) }

// Wait returns the first failure of a part, or ctx's end as nil.
func (a *App) Wait(ctx context.Context) error {
	select {
	case err := <-a.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// grace is how long running exchanges may go on when the app stops.
const grace = 5 * time.Second

// Stop takes everything down, the last part first. It may be called more than
// once. What is held stays in the store.
func (a *App) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	var errs []error
	for len(a.cleanup) > 0 {
		c := a.cleanup[len(a.cleanup)-1]
		a.cleanup = a.cleanup[:len(a.cleanup)-1]
		if err := c.fn(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			errs = append(errs, fmt.Errorf("stopping the %s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

// listenUnix listens on a socket that only its owner may use. A socket that
// nobody serves any longer is removed: the store's lock says that no other
// sidecar uses this folder.
func listenUnix(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the old socket: %w", err)
	}
	ln, err := socket.Listen(path)
	if err != nil {
		return nil, fmt.Errorf("listening for approvers: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}
