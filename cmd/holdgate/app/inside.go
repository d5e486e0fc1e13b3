package app

import (
	"context"
	"net"

	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/openfiles"
)

// An Inside is the network of a confined agent: listeners there, which nobody
// but the agent reaches.
type Inside struct {
	Agents     net.Listener     // the agents' door
	Redirected []net.Listener   // where TCP to anywhere else is led to
	Names      []net.PacketConn // where questions for names are led to
}

// listenAgents is the agents' door: the confined agent's, or one on the host.
func (a *App) listenAgents() (net.Listener, error) {
	if a.o.Inside != nil {
		return a.o.Inside.Agents, nil
	}
	return a.listen("agents", a.c.Listen.Agents)
}

// serveInside serves what the confined agent's network leads to.
func (a *App) serveInside(ctx context.Context) {
	if a.o.Inside == nil {
		return
	}
	names := &intercept.Names{}
	for _, ln := range a.o.Inside.Redirected {
		a.goServe("transparent door", func() error { return a.proxy.ServeTransparent(openfiles.Spare(ln), names) })
	}
	ctx, stop := context.WithCancel(ctx)
	a.onStop("names", func(context.Context) error { stop(); return nil })
	for _, pc := range a.o.Inside.Names {
		a.goServe("names", func() error { return names.Serve(ctx, pc) })
	}
}
