// Package app wires Holdgate together: it opens the state, builds each part
// with what it needs, listens, and takes everything down again in the reverse
// order. It holds no logic of its own.
package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	"golang.org/x/net/http/httpproxy"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/push"
	"github.com/holdgate/holdgate/approvals/web"
	"github.com/holdgate/holdgate/cmd/holdgate/app/runs"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/metrics"
	"github.com/holdgate/holdgate/cmd/holdgate/report"
	"github.com/holdgate/holdgate/cmd/holdgate/takeover"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/authzen"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/drain"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/postgres"
)

// Options are what an App needs besides its configuration.
type Options struct {
	Version string
	Logger  *slog.Logger
	Level   *slog.LevelVar      // of Logger, where people may change it; nil: they may not
	Getenv  func(string) string // tells where traces are sent; nil: none are
	// Auto, where set, answers every request by itself: for tests of other
	// people's agents. It is refused on a listener that others can reach.
	Auto holdgate.Answer
	// Patience is how long a loop may stand still before /healthz says so; 0: a minute.
	Patience time.Duration
	// Idle overrides the time between two signs of life; 0 keeps the default.
	Idle time.Duration
	// Dir is the folder that the agent works in and Home its home folder, where
	// they are known.
	Dir, Home string
	// Writable are folders that the agent can write in. Nothing that decides
	// over it may lie there, Program (where it is set) included, unless
	// TrustWritable says so.
	Writable      []string
	TrustWritable bool
	Program       string
	// PluginArgs start a channel that is built in: the program and its
	// arguments, to which the channel's name is added.
	PluginArgs []string
	// Agent, where its ID is set, is who every call is by: the sidecar serves
	// this agent alone.
	Agent holdgate.Agent
	// UndoLapsed, where set, reports whether what the agent changes cannot be undone
	// any longer.
	UndoLapsed func() bool
	// Warden keeps what runs later by itself from Agent.
	Warden runs.Warden
	// Inside, where set, is the network that the agent is confined to: its doors
	// are served, and none that others could reach.
	Inside *Inside
	// Proxies are what the environment says of proxies on the way to upstreams;
	// nil: nothing. See [ProxyEnvironment].
	Proxies *httpproxy.Config
	// Watched is the configuration's file; where it has no path, nothing of the
	// configuration is read again.
	Watched Watched
	// Succession says how the sidecar takes another's place, and gives its own.
	Succession Succession

	kept *takeover.Kept // of an App of this process, which a successor was to follow
}

// An App is a sidecar. Its methods are for one goroutine, but for Wait.
type App struct {
	c        config.Config
	o        Options
	log      *slog.Logger
	recent   *report.Log // the newest lines of log
	heardOf  heardOf
	started  time.Time
	state    *state
	cluster  identity.Cluster // nil where there is none
	current  atomic.Pointer[inForce]
	engine   *rego.Engine
	refused  atomic.Pointer[string] // why the policy as it is now does not load; nil: it is in force
	store    store.Store
	digester *holdgate.Digester
	audit    *audit.Log
	signer   *audit.Signer
	queue    *approvals.Queue
	proxy    *proxy.Server
	api      *api.Server
	page     *web.Server
	push     *push.Sender
	approver *drain.Server
	ca       *tls.Certificate // signs for intercepted hosts
	tls      *certificate     // of the approvers' port; nil: it speaks plain HTTP
	host     *host.Host       // nil where no channel is configured
	// The latest trials of loops; see startPulse.
	queueBeat, auditBeat beat

	runs    *runs.Runs
	configs *configs
	metrics *metrics.Metrics
	silent  silent
	tracer  oteltrace.Tracer // nil: no traces

	kept        *takeover.Kept        // what another sidecar has left to this one; nil: nothing
	predecessor *takeover.Predecessor // nil: none
	ready       func()                // tells the predecessor that this one is ready; nil: there is none
	doors       []takeover.Door       // that a successor gets
	successor   chan *takeover.Successor
	listeners   []api.Listener
	approversAt atomic.Pointer[string] // where the approvers' port listens; nil: nowhere yet
	cleanup     []cleanup
	work        sync.WaitGroup
	failed      chan error
	built       atomic.Bool // engine and queue are there
}

// New opens the state and builds every part. It listens on nothing yet. Where
// it fails, what it had opened is closed again.
func New(ctx context.Context, c config.Config, o Options) (_ *App, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &App{c: c, o: o, recent: report.NewLog(keptLines), started: time.Now(), failed: make(chan error, 1), successor: make(chan *takeover.Successor, 1)}
	a.log = slog.New(trace.LogHandler(a.recent.Handler(o.Logger.Handler())))
	a.runs = runs.New(runs.Config{InForce: func() config.Config { return a.current.Load().c }, Program: o.Program, TrustWritable: o.TrustWritable,
		Own: o.Agent, Lapsed: o.UndoLapsed, Warden: o.Warden, Logger: a.log})
	a.configs, a.metrics = newConfigs(a, o.Watched), a.newMetrics()
	if err := errors.Join(checkAuto(c, o), checkWritable(c, o)); err != nil {
		return nil, err
	}
	a.sayConfiguration(ctx)
	ctx, stop := context.WithCancel(ctx)
	a.onStop("context", func(context.Context) error { stop(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := a.openTraces(ctx); err != nil {
		return nil, err
	}
	if err := a.checkKeys(ctx); err != nil {
		return nil, err
	}
	if a.state, err = openState(c.StateDir); err != nil {
		return nil, err
	}
	if a.cluster, err = cluster(c.Kubernetes); err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	first, err := a.makeInForce(c, nil, nil)
	if err != nil {
		return nil, err
	}
	a.current.Store(first)
	if a.ca, err = intercept.OpenCA(c.StateDir); err == nil {
		err = writeBundle(c.StateDir)
	}
	if err != nil {
		return nil, err
	}
	if err := a.setTLS(); err != nil {
		return nil, err
	}
	if err := a.takePlace(ctx); err != nil {
		return nil, err
	}
	if err := a.openStore(ctx, a.state); err != nil {
		return nil, err
	}
	if err := a.openPolicy(ctx); err != nil {
		return nil, err
	}
	if err := a.buildProxy(ctx); err != nil {
		return nil, err
	}
	if err := a.buildAPI(a.state); err != nil {
		return nil, err
	}
	a.built.Store(true)
	return a, a.buildHost(a.state)
}

// openStore opens the database, the audit log in it, and the queue.
func (a *App) openStore(ctx context.Context, s *state) error {
	st, err := a.openDatabase(ctx, s)
	if err != nil {
		return err
	}
	a.store = st
	a.onStop("store", func(context.Context) error { return a.closeStore(st) })
	if a.audit, err = audit.Open(ctx, st, s.key(purposeAudit)); err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	a.audit.Follow(a.metrics.Entry)
	member := ""
	if shared, ok := st.(*postgres.Store); ok {
		member = shared.Member()
		a.audit.As(member)
	}
	note := "holdgate " + a.o.Version
	if a.predecessor != nil {
		note += ", in the place of " + a.predecessor.Version
	}
	if _, err := a.audit.Write(ctx, audit.Entry{Type: audit.TypeStart, Note: note}, true); err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	if a.digester, err = holdgate.NewDigester(s.key(purposeDigest)); err != nil {
		return err
	}
	if err := a.openRoster(ctx); err != nil {
		return err
	}
	begin, err := a.c.Sessions.Setting()
	if err != nil {
		return err
	}
	seal, older := s.sealKeys()
	a.queue, err = approvals.Open(ctx, approvals.Config{
		Store: st, Member: member, Log: a.audit, Digester: a.digester, SealKey: seal, OpenKeys: older,
		Redeem:    time.Duration(a.c.Limits.Redeem),
		MaxGrant:  time.Duration(a.c.Limits.Grant),
		Retention: approvals.Retention{Requests: time.Duration(a.c.Retention.Requests), Events: time.Duration(a.c.Retention.Events)},
		Reserve:   int64(a.c.Limits.DiskReserve), Logger: a.log, NoInputs: a.c.Audit.Inputs == config.InputsNone,
		Redactions: a.redactions, Judge: a.judge, Past: a.past, Confirm: a.configs.confirm, Conceal: rego.Conceal, Begin: begin, InForce: func() approvals.InForce { return a.current.Load().queue },
		Site: a.site,
		OnEnded: func(e approvals.Ended) {
			a.metrics.Ended(e.At.Sub(e.Asked), e.Status, e.Decision, e.Channel)
			gate.TraceHold(a.tracer, e)
		},
	})
	if err != nil {
		return fmt.Errorf("opening the queue: %w", err)
	}
	a.onStop("queue", func(context.Context) error { return a.queue.Close() })
	live, _ := a.runs.Live()
	if err := a.queue.RunsEnded(ctx, live...); err != nil {
		return fmt.Errorf("looking for what earlier runs have asked: %w", err)
	}
	return nil
}

// private is the state folder as calls may name it: as it was configured, and
// where its links lead.
func private(stateDir string) []string {
	var folders []string
	if abs, err := filepath.Abs(stateDir); err == nil {
		folders = append(folders, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			folders = append(folders, real)
		}
	}
	return folders
}

// Own is what belongs to the sidecar of the configuration, as far as it says so:
// a port that is chosen at random is not in it.
func Own(c config.Config) rego.Own {
	own := rego.Own{Folders: private(c.StateDir)}
	if addr, err := netip.ParseAddrPort(c.Listen.Approvers); err == nil {
		own.Listeners = append(own.Listeners, addr)
	}
	return own
}

func (a *App) buildProxy(ctx context.Context) (err error) {
	pc := proxy.Config{
		Engine: a.engine, Queue: a.queue, Log: a.audit, Digester: a.digester, CA: a.ca, Logger: a.log,
		HookKey: a.state.hook, Upstreams: map[string]*url.URL{}, MCP: map[string]*url.URL{}, Commands: map[string]mcpproxy.Command{},
		Agent: runs.Proven(a.c, a.o.Agent, a.o.Agent.Proofs), Dir: a.o.Dir, Home: a.o.Home, Private: private(a.c.StateDir), AllowUnsupported: a.c.Unsupported == config.UnsupportedAllow,
		Models: model.Options{Notice: a.c.Holds.Notice, NoRehydrate: !a.c.Holds.Rehydrate, Rounds: a.c.Holds.Continues()},
		Relay: mcpproxy.Options{NoTasks: a.c.Holds.MCPTasks == config.TasksOff, OfferTasks: a.c.Holds.MCPTasks == config.TasksOffer,
			Page: a.requestPage, ProgressClients: a.c.Holds.MCPProgress},
		SyncAllows: a.c.Audit.Sync == config.SyncAlways, NoInputs: a.c.Audit.Inputs == config.InputsNone,
		Limits: proxy.Limits{Body: int64(a.c.Limits.Body), Call: int64(a.c.Limits.Call), Idle: a.o.Idle, MCP: time.Duration(a.c.Holds.MCPWait)},
	}
	pc.Quotas = func() gate.Limits {
		l := a.current.Load().c.Limits
		return gate.Limits{Decisions: float64(l.Decisions), LogBytes: int64(l.LogBytes)}
	}
	pc.Models.Prices = func() holdgate.Prices { return a.current.Load().prices }
	pc.Models.OnUsed = a.metrics.Used
	pc.OnRefused = a.metrics.Refused
	pc.OnHeld = func(r gate.Rung) { a.metrics.Held(string(r)) }
	pc.OnAnswered = func(s steps.Answered) {
		a.metrics.Answered(s.Upstream, s.Took, s.Status, s.Trace)
		a.silent.answered(s, time.Now())
	}
	pc.Tracer = a.tracer
	pc.Proofs, pc.Warden = a.runs.StillProven, a.runs.Keeper()
	pc.Agents = func() *identity.Book { return a.current.Load().agents }
	pc.AuthZEN = authzen.Options{Clients: a.enforcementPoint, URL: a.c.Listen.AuthZENURL, Redeem: time.Duration(a.c.Limits.Redeem)}
	pc.Network.Credentials = func() []*credential.Credential { return a.current.Load().credentials }
	line, err := a.c.Confidence.Line()
	if err != nil {
		return err
	}
	pc.Confidence = proxy.Confidence{Enabled: a.c.Confidence.Enabled, AutoEscalate: a.c.Confidence.AutoEscalate, Threshold: line}
	for name, u := range a.c.Upstreams {
		if pc.Upstreams[name], err = url.Parse(u.URL); err != nil {
			return fmt.Errorf("upstream %s: %w", name, err)
		}
		if u.Format != "" {
			pc.Formats = append(pc.Formats, route.Format{Host: pc.Upstreams[name].Host, Path: pc.Upstreams[name].Path, Name: u.Format})
		}
	}
	for _, f := range a.c.Formats {
		pc.Formats = append(pc.Formats, route.Format{Host: f.Host, Path: f.Path, Name: f.Format})
	}
	for name, m := range a.c.MCP {
		if len(m.Command) > 0 {
			pc.Commands[name] = command(m)
			continue
		}
		if pc.MCP[name], err = url.Parse(m.URL); err != nil {
			return fmt.Errorf("MCP server %s: %w", name, err)
		}
	}
	if err := a.reach(&pc); err != nil {
		return err
	}
	a.proxy, err = proxy.New(ctx, pc)
	return err
}

func (a *App) buildAPI(s *state) (err error) {
	if a.signer, err = audit.NewSigner(s.key(purposeSign)); err != nil {
		return err
	}
	var watched api.Configs
	if a.o.Watched.Path != "" {
		watched = a.configs
	}
	a.api, err = api.New(api.Config{
		Queue: a.queue, Log: a.audit, Store: a.store, Digester: a.digester,
		Credentials: func() []api.Credential { return a.current.Load().tokens }, Status: a.status, Stalled: a.stalled, Policy: policies{a}, Configs: watched, Roster: a.configs, Plugins: channels{a}, Runs: a.runs, Logger: a.log,
		Signer: a.signer, KeyApart: a.o.Inside != nil, Links: links{a}, OwnHost: a.ownHost, Metrics: a.metrics.Handler(a.log), Level: a.o.Level, Report: a.Report,
		Members: a.members(),
	})
	if err != nil {
		return err
	}
	if a.push, err = push.New(push.Config{Store: a.store, Queue: a.queue, People: a.queue.People, Seed: s.key(purposePush), Contact: a.contact, Refuse: upstream.Refused, Logger: a.log}); err != nil {
		return err
	}
	a.page, err = web.New(web.Config{API: a.api, People: a.queue.People, Passkeys: a.queue.Passkeys, Push: a.push, Name: web.Name(s.key(purposePage)), TLS: a.tlsNames(), Login: a.login(), Address: a.approversAddr, Logger: a.log})
	if err != nil {
		return err
	}
	a.approver = drain.New(&http.Server{Handler: a.page, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)})
	a.approver.RegisterOnShutdown(a.api.Close)
	return nil
}

// contact is whom a browser's maker can turn to about what is pushed: who is configured, or
// where the page is, if that is a place which others know. Empty is nobody.
func (a *App) contact() string {
	if a.c.Listen.PushContact == "" && a.tls != nil {
		return a.page.Origin()
	}
	return a.c.Listen.PushContact
}

// site is where people sign with passkeys.
func (a *App) site() passkeys.Site {
	if a.page == nil {
		return passkeys.Site{}
	}
	return a.page.Site()
}

// links makes links to the page, which is made after the API.
type links struct{ a *App }

func (l links) Link(c api.Credential, path string) (api.Link, error) { return l.a.page.Link(c, path) }

// requestPage is where a request is decided, as those who are no people are told: agents'
// clients, and channels that others run. It is the configuration's holds.page; by
// default this sidecar's own, where browsers can come to it. The page's own name below
// localhost is not in it, since an agent that knew it could serve under it at another
// port, and be sent the page's cookies: the approvers' port says what to run instead.
func (a *App) requestPage(request string) string {
	switch page := a.c.Holds.Page; {
	case page == config.PageOff:
		return ""
	case page != "":
		return strings.ReplaceAll(page, config.PageRequest, url.PathEscape(request))
	case a.page == nil || a.approversAddr() == "":
		return ""
	case a.tls != nil:
		return a.page.Origin() + "/requests/" + url.PathEscape(request)
	case !loopbackOnly(a.c.Listen.Agents):
		return "" // whoever asks is elsewhere, and could not open it
	}
	return "http://" + a.approversAddr() + "/requests/" + url.PathEscape(request)
}

// loopbackOnly reports whether nobody can reach an address from elsewhere.
func loopbackOnly(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, perr := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || perr == nil && ip.IsLoopback())
}

// approversAddr is where the approvers' port listens, empty before it does.
func (a *App) approversAddr() string {
	if at := a.approversAt.Load(); at != nil {
		return *at
	}
	return ""
}

// status is what GET /v1/status says.
func (a *App) status(ctx context.Context) api.Status {
	l := a.engine.Loaded()
	s := api.Status{Version: a.o.Version, Health: api.Healthy, StartedAt: a.started, Listeners: a.listeners,
		Policy: api.Policy{Revision: l.Revision, Path: l.Path, Mode: a.c.Policy.Mode}}
	if why := a.refused.Load(); why != nil {
		s.Policy.Refused = *why
	}
	if s.Troubles = a.troubles(ctx); len(s.Troubles) > 0 {
		s.Health = s.Troubles[0].Why
	}
	s.Pending = a.queue.Pending()
	s.Unreached = a.silent.list(time.Now())
	s.Agent = cmp.Or(a.o.Agent.ID, holdgate.AgentDefault)
	return s
}
