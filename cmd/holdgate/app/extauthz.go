package app

import (
	"fmt"
	"net"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/proxy/extauthz"
	"github.com/holdgate/holdgate/proxy/openfiles"
)

// listenExtAuthz listens for filters of Envoy's; it returns nil where none are expected.
func (a *App) listenExtAuthz() (net.Listener, error) {
	if a.c.Listen.ExtAuthz == "" {
		return nil, nil
	}
	ln, err := a.listen("ext_authz", a.c.Listen.ExtAuthz)
	if err != nil {
		return nil, fmt.Errorf("listen.ext_authz: %w", err)
	}
	return ln, nil
}

// serveExtAuthz serves filters until the sidecar stops: after the agents' door, whose end
// lets go what is held. So it is called before that is to be stopped.
func (a *App) serveExtAuthz(ln net.Listener) []api.Listener {
	if ln == nil {
		return nil
	}
	s := extauthz.New(a.proxy.CheckExternal, int64(a.c.Limits.Body), a.log)
	a.onStop("filters' door", s.Stop)
	a.proxy.Own(ln.Addr())
	a.goServe("filters' door", func() error { return s.Serve(openfiles.Spare(ln)) })
	return []api.Listener{{Name: extauthz.Door, Addr: ln.Addr().String()}}
}
