package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/metrics"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/openfiles"
	"github.com/holdgate/holdgate/store"
)

// newMetrics returns metrics of the sidecar. What they are told and asked about is made
// afterwards.
func (a *App) newMetrics() *metrics.Metrics {
	n := metrics.Names{Version: a.o.Version}
	for name := range a.c.Upstreams {
		n.Upstreams = append(n.Upstreams, name)
	}
	for name := range a.c.MCP {
		n.Upstreams = append(n.Upstreams, "mcp/"+name)
	}
	for name := range a.c.Plugins {
		n.Channels = append(n.Channels, name)
	}
	for _, rung := range gate.Rungs() {
		n.Rungs = append(n.Rungs, string(rung))
	}
	return metrics.New(n, metrics.Sources{Standby: func() bool { return !a.built.Load() }, Pending: a.oldest, Policy: a.policyNow, Store: a.storeSize, Writable: a.writable, Head: a.head, Channels: a.channelsNow})
}

// scrapeTime bounds what one scrape may ask of the store.
const scrapeTime = 5 * time.Second

// oldest is how many requests wait, and since when.
func (a *App) oldest() (pending int, since time.Time, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	p, err := a.queue.Page(ctx, approvals.Filter{Status: holdgate.StatusPending, Limit: 1})
	if err != nil {
		return 0, time.Time{}, false
	}
	for _, r := range p.Requests {
		since = r.CreatedAt
	}
	return a.queue.Pending(), since, true
}

func (a *App) policyNow() (revision string, broken bool) {
	l := a.engine.Loaded()
	return l.Revision, l.Broken != ""
}

// errNoFiles says that the store is in a server, which has metrics of its own.
var errNoFiles = errors.New("the store has no files here")

// storeSize is what the store's files take, and what is free for it.
func (a *App) storeSize() (size, free int64, err error) {
	if a.c.Store.Postgres.On() {
		return 0, 0, errNoFiles
	}
	err = filepath.WalkDir(filepath.Join(a.c.StateDir, dbName), func(_ string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && d.Type().IsRegular() {
			info, err = d.Info()
		}
		if info != nil {
			size += info.Size()
		}
		if errors.Is(err, fs.ErrNotExist) { // compacted away meanwhile
			return nil
		}
		return err
	})
	if disk, ok := a.store.(store.Disk); ok && err == nil {
		free, err = disk.Free()
	}
	return size, free, err
}

func (a *App) head() (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	h, err := a.audit.Head(ctx)
	return h.Seq, err
}

func (a *App) channelsNow() (list []metrics.Channel) {
	if a.host == nil {
		return nil
	}
	for _, s := range a.host.Status() {
		list = append(list, metrics.Channel{Name: s.Name, Up: s.State == host.StateRunning, Restarts: s.Restarts, Waiting: s.Waiting, Due: s.Due})
	}
	return list
}

// listenMetrics listens for scrapers; it returns nil where none are expected.
func (a *App) listenMetrics() (net.Listener, error) {
	if a.c.Listen.Metrics == "" {
		return nil, nil
	}
	ln, err := a.listen("metrics", a.c.Listen.Metrics)
	if err != nil {
		return nil, fmt.Errorf("listen.metrics: %w", err)
	}
	return ln, nil
}

// serveMetrics serves scrapers, which show no token, until the sidecar stops. No agent is
// sent there by the proxy.
func (a *App) serveMetrics(ln net.Listener) {
	if ln == nil {
		return
	}
	s := a.scraped()
	s.ErrorLog = a.approver.ErrorLog
	a.onStop("metrics' door", s.Shutdown)
	a.proxy.Own(ln.Addr())
	ln = openfiles.SpareLess(ln)
	a.listeners = append(a.listeners, api.Listener{Name: "metrics", Addr: ln.Addr().String()})
	a.goServe("metrics' door", func() error { return s.Serve(ln) })
}

// scraped is a server for scrapers.
func (a *App) scraped() *http.Server {
	return &http.Server{Handler: Scrapers(a.c.Listen.MetricsFrom, a.metrics.Handler(a.log)), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
}

// Scrapers lets those read metrics who are on this host, or in a network that is named.
// What is no network names nobody.
func Scrapers(from []string, metrics http.Handler) http.Handler {
	s := scrapers{metrics: metrics}
	for _, one := range from {
		if p, err := netip.ParsePrefix(one); err == nil {
			s.from = append(s.from, p)
		}
	}
	return s
}

type scrapers struct {
	from    []netip.Prefix
	metrics http.Handler
}

// ServeHTTP implements [http.Handler].
func (s scrapers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !s.may(r):
		http.Error(w, "metrics are for this host, under its address, and for the networks that listen.metrics_from names", http.StatusForbidden)
	case r.URL.Path != "/metrics":
		http.Error(w, "metrics are at /metrics", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
	default:
		s.metrics.ServeHTTP(w, r)
	}
}

// may reports whether the one who asks may read metrics. On this host that takes an
// address or localhost as Host: a web page can give a name of its own our address.
func (s scrapers) may(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip := peer.Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		_, err = netip.ParseAddr(host)
		return (err == nil || host == "localhost") && r.Header.Get("Origin") == ""
	}
	for _, p := range s.from {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// closeAll closes listeners that are there.
func closeAll(list ...net.Listener) error {
	var errs []error
	for _, ln := range list {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}
