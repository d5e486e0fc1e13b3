package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"

	"golang.org/x/net/http/httpproxy"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A Host is this process as the home of a sidecar.
type Host struct {
	Version string
	Getenv  func(string) string
}

// Options are those of a sidecar in this process, for what works in the folder
// that this process does and can write there, and in the others named. trust
// takes rules and configuration that lie there.
func (h Host) Options(who holdgate.Agent, trust bool, writable ...string) (o app.Options, err error) {
	o = app.Options{Version: h.Version, Getenv: h.Getenv, Home: h.Getenv("HOME"), Agent: who, TrustWritable: trust}
	if o.Program, err = os.Executable(); err != nil {
		return o, fmt.Errorf("finding this program: %w", err)
	}
	if o.Dir, err = os.Getwd(); err != nil {
		return o, fmt.Errorf("finding the working folder: %w", err)
	}
	o.Writable = append([]string{o.Dir}, writable...)
	o.PluginArgs, err = PluginArgs()
	return o, err
}

// Start starts a sidecar in this process, on any free ports. It asks nobody on
// the terminal, which is another's.
func (h Host) Start(ctx context.Context, s config.Config, o app.Options) (a *app.App, stop func() error, err error) {
	h.Prepare()
	s.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	s.Plugins = maps.Clone(s.Plugins)
	delete(s.Plugins, "terminal")
	if a, err = app.New(ctx, s, o); err != nil {
		return nil, nil, err
	}
	stop = func() error { return a.Stop(ctx) }
	if err := a.Start(ctx); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return a, stop, nil
}

// Proxies is what the environment says of proxies on the way to upstreams, where
// the configuration does not name them itself.
func (h Host) Proxies(s config.Config) (*httpproxy.Config, error) {
	if p := s.UpstreamProxy; !p.Environment || p.HTTP != "" || p.HTTPS != "" {
		return nil, nil
	}
	return app.ProxyEnvironment(h.Getenv)
}

// gcPercent trades memory for time: the live heap is a few MB, so that the
// default would collect every hundred requests.
const gcPercent = 400

// Prepare makes this process fit for a sidecar: other processes of the same user
// cannot read it, and its garbage is collected less often, within a limit of memory.
func (h Host) Prepare() {
	if h.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if h.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(app.MemoryLimit(0))
	}
	harden()
}

// AgentsDoor is where agents find the sidecar.
func AgentsDoor(st api.Status) (string, error) {
	for _, l := range st.Listeners {
		if l.Name == "agents" {
			return l.Addr, nil
		}
	}
	return "", errors.New("the sidecar does not say where its door for agents is")
}

// Serving reports whether a sidecar serves the state folder. One that does not
// prove to be one is an error.
func Serving(ctx context.Context, stateDir string) (bool, error) {
	sc, err := client.New(client.Options{StateDir: stateDir, Channel: "cli"})
	if err == nil {
		defer sc.Close()
		_, err = sc.Status(ctx)
	}
	if _, none := errors.AsType[*client.NoSidecarError](err); none {
		return false, nil
	}
	return err == nil, err
}

// PluginArgs is the command line that starts a channel which is built in, but
// for the channel's name.
func PluginArgs() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return []string{exe, "plugin", "serve"}, nil
}
