package app

import (
	"context"
	"maps"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/report"
	"github.com/holdgate/holdgate/plugins"
	"github.com/holdgate/holdgate/rego"
)

// keptLines is how many lines of the log a report has.
const keptLines = 500

// hexDigest is a revision that nobody made up.
var hexDigest = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// Report is how the sidecar is, in the files of a report that strangers may read.
func (a *App) Report(ctx context.Context) map[string]string {
	now := a.current.Load().c
	f, texts := report.Files{}, slices.Concat(config.Texts(a.c), config.Texts(now))
	f.YAML("config.yaml", config.Outline(a.c))
	f.JSON("status.json", a.reportStatus(ctx))
	f.JSON("store.json", a.reportStore(ctx))
	f.JSON("channels.json", a.reportChannels())
	names := slices.Concat(config.Names(a.c), config.Names(now), a.heardOf.list())
	if text, err := a.metrics.Text(); err != nil {
		f["metrics.txt"] = report.Scrub(err.Error()) + "\n"
	} else {
		f.Metrics("metrics.txt", text, func(label, value string) bool {
			shown := report.Files{label: value}
			shown.Conceal(label, texts, names)
			return shown[label] == value && a.brings(label, value)
		})
	}
	f["log.txt"] = a.recent.Text()
	f.Process()
	for _, name := range []string{"log.txt", "status.json", "channels.json"} {
		f.Conceal(name, texts, names)
	}
	return f
}

// brings reports whether the value of a metric's label is Holdgate's own.
func (a *App) brings(label, value string) bool {
	switch label {
	case "rule":
		return a.engine.Loaded().Path == "" && a.engine.Loaded().Name == "" || rego.Ships(value)
	case "revision":
		return hexDigest.MatchString(value)
	case "channel":
		return slices.Contains(plugins.Names(), value)
	}
	_, brought := config.Default("", "").Upstreams[value]
	return brought
}

// heardOf are the names of all who were told of since the start: somebody who is gone
// may stand in the log still. It is safe for concurrent use.
type heardOf struct {
	mu    sync.Mutex
	names map[string]bool
}

// maxHeardOf bounds the names: far more than there are people.
const maxHeardOf = 20_000

// hear takes up the names of people and their accounts.
func (h *heardOf) hear(all []people.Person, in []signed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = make(map[string]bool)
	}
	add := func(name string) {
		if len(h.names) < maxHeardOf {
			h.names[name] = true
		}
	}
	for _, p := range all {
		add(p.Name)
		for _, account := range p.Accounts {
			_, user, _ := strings.Cut(account, ":")
			add(user)
		}
	}
	for _, s := range in {
		add(s.name)
	}
}

func (h *heardOf) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.names))
}

func (a *App) reportStatus(ctx context.Context) map[string]any {
	st := a.status(ctx)
	var troubles, listeners []map[string]any
	for _, t := range st.Troubles {
		troubles = append(troubles, map[string]any{"name": t.Name, "why": report.Scrub(t.Why)})
	}
	for _, l := range st.Listeners {
		listeners = append(listeners, map[string]any{"name": l.Name, "at": sameEverywhere(l), "tls": l.TLS})
	}
	revision := st.Policy.Revision
	if !hexDigest.MatchString(revision) {
		revision = report.Scrub(revision)
	}
	return map[string]any{
		"version": st.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "started_at": st.StartedAt, "now": time.Now(),
		"healthy": st.Health == api.Healthy, "troubles": troubles, "listeners": listeners, "pending": st.Pending,
		"policy": map[string]any{"revision": revision, "mode": st.Policy.Mode, "own_rules": st.Policy.Path != ""},
		"agent":  a.o.Agent.ID != "", "confined": a.o.Inside != nil, "configuration_file": a.c.File != "",
	}
}

// sameEverywhere is a listener's address as far as it is the same everywhere.
func sameEverywhere(l api.Listener) string {
	at, err := netip.ParseAddrPort(l.Addr)
	switch {
	case err != nil:
		return "a socket or a name"
	case at.Addr().IsLoopback() || at.Addr().IsUnspecified():
		return l.Addr
	}
	return "an address of this host"
}

func (a *App) reportStore(ctx context.Context) map[string]any {
	s := map[string]any{"kind": "badger", "waiting": a.queue.Pending()}
	if a.c.Store.Postgres.On() {
		s["kind"] = "postgres"
	} else if size, free, err := a.storeSize(); err != nil {
		s["size"] = report.Scrub(err.Error())
	} else {
		s["size"], s["free"] = size, free
	}
	if h, err := a.audit.Head(ctx); err != nil {
		s["audit_entries"] = report.Scrub(err.Error())
	} else {
		s["audit_entries"] = h.Seq
	}
	if _, since, ok := a.oldest(); ok && !since.IsZero() {
		s["oldest_waits"] = time.Since(since).Round(time.Second).String()
	}
	return s
}

func (a *App) reportChannels() (list []map[string]any) {
	for _, c := range a.channelsNow() {
		list = append(list, map[string]any{"name": report.Scrub(c.Name), "up": c.Up, "restarts": c.Restarts, "waiting": c.Waiting})
	}
	return list
}
