// Package proxy is how traffic comes in and goes on. Every door (the
// base-URL door, the forward proxy, the transparent door, the MCP door) ends in
// one handler, and
// every request takes the same way through it:
//
//	read (bounded) -> parse -> decide -> [hold -> people -> decide again] -> use -> send or refuse -> result
//
// A codec finds the calls in the bytes of a format, package rego decides each,
// package approvals keeps what is held. This package owns the order of the
// steps, the sockets and TLS; it knows neither a format's fields, nor a rule,
// nor who approves.
//
// What policy allows goes on in the bytes that came. What people have approved
// is decided again: their answers count as long as they cover what policy
// demands of the call as it will be sent. Arguments that a person edits make a
// new call, for which no earlier answer counts; the approval that is used is
// bound to the digest of that call, and its bytes are those that the codec
// writes. What an approver says reaches the agent marked as such, and bounded.
//
// A notice in the place of a refused call is, in the agent's next requests, a
// text of the model's own. So what was refused is remembered for the session,
// the upstream and the account, and becomes again the call that it was, with a
// result that says why it was not run. A notice is known by nothing but all of
// its bytes, and each is put back once; a request that has too many that are
// none is not searched further, and what was signed over its body stays as it
// came.
//
// Before policy stands what people have made of the agent: the requests of one
// that is paused wait in line, those of one that is stopped are refused. Where
// that comes in the midst of an answer, a pause lets it flow as far as its first
// call, and a stop ends it.
//
// What cannot be understood is refused whatever policy says, and every decision
// is in the audit log before it takes effect.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/elazarl/goproxy"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcphost"
	"github.com/holdgate/holdgate/proxy/mcpserver"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// Config is what a Server needs. Fields without a word on their default must
// be set.
type Config struct {
	Engine   *rego.Engine
	Queue    *approvals.Queue
	Log      *audit.Log
	Digester *holdgate.Digester
	CA       *tls.Certificate // signs the leaves of intercepted connections; see [OpenCA]

	// Upstreams and MCP are what /up/NAME and /mcp/NAME lead to. Only hosts
	// named here may have loopback, private or metadata addresses.
	Upstreams map[string]*url.URL
	MCP       map[string]*url.URL
	// Commands are MCP servers that Holdgate starts itself, at /mcp/NAME too. No
	// name may be in MCP as well.
	Commands map[string]Command

	// Dir is the folder that the agents work in and Home their home folder,
	// where they are known: paths in calls are read against them.
	Dir, Home string
	// Private are folders of Holdgate's own, absolute: what lies there decides
	// calls.
	Private []string

	// Formats say which model format is spoken where no path tells.
	Formats []route.Format

	// Agent, where its ID is set, is who makes every request: the server serves
	// this agent alone. Else callers are [holdgate.AgentDefault].
	Agent holdgate.Agent
	// Agents are those that are known by a credential; nil: none.
	Agents *identity.Book
	// Credentials are put into requests to where they belong.
	Credentials []*credential.Credential

	// Confidence says what becomes of agents' reports of how sure they are.
	Confidence Confidence

	Limits Limits
	// Notice puts a line into held model answers that says who is being asked.
	Notice bool
	// NoRehydrate leaves notices in later requests as they are. Otherwise they
	// become again the calls in whose place they stood, with results that say
	// that they were refused.
	NoRehydrate bool
	// Rounds is how often Holdgate answers the model itself where all calls of
	// an answer were refused, so that the agent's turn goes on; 0: the agent gets
	// the notices, and its turn ends.
	Rounds int
	// AllowUnsupported lets model APIs through whose tool calls Holdgate
	// cannot see. Otherwise they are refused.
	AllowUnsupported bool
	SyncAllows       bool // plain allows are synced before they take effect, too
	NoInputs         bool // the audit log keeps no arguments
	NoTasks          bool // held calls of MCP clients do not become tasks
	OfferTasks       bool // they do in revision 2026-07-28 even where the server has no tasks
	// ProgressClients are the names of MCP clients that wait on, without end, as long
	// as they hear of progress.
	ProgressClients []string
	// Page is where people decide, with {request} in the place of a request's id:
	// MCP clients that can are asked to show it to their users. Empty: none is.
	Page string
	// RootCAs verify upstream servers; nil means the system's.
	RootCAs *x509.CertPool
	// ProxyFor is the proxy through which a URL is asked for, or nil for none; the
	// function itself may be nil. ProxyLooksUp leaves it to proxies to look up the
	// names of hosts that no configuration names: otherwise each is looked up here
	// first, and refused where its address is private.
	ProxyFor     func(*url.URL) *url.URL
	ProxyLooksUp bool
	// Resolver resolves the names that agents use; nil: the system's.
	Resolver *net.Resolver
	// Untouched are hosts whose TLS is passed on as it comes.
	Untouched []Untouched
	Logger    *slog.Logger
}

// Confidence says what becomes of agents' reports. The zero value stores them, and
// does nothing else.
type Confidence struct {
	Enabled      bool    // policy is told of them
	AutoEscalate bool    // those below the threshold open a gate
	Threshold    float64 // from 0 to 1
}

// Limits bound what one exchange may take. Zero fields mean the defaults.
type Limits struct {
	Body   int64         // bytes of a request or of a whole answer, decoded; 32 MiB
	Call   int64         // bytes of one call of an answer; 8 MiB
	Idle   time.Duration // between two signs of life to a client that waits; 10 s
	Budget time.Duration // how long a client without headers waits, for clients not in the table; 290 s
	MCP    time.Duration // how long an MCP client waits for a held call; 55 s

	Decisions float64 // that one agent may ask for in a second; 0: any number
	LogBytes  int64   // that one agent's calls may add to the log in an hour; 0: any number
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 32 << 20
	}
	if l.Call == 0 {
		l.Call = 8 << 20
	}
	if l.Idle == 0 {
		l.Idle = 10 * time.Second
	}
	if l.Budget == 0 {
		l.Budget = 290 * time.Second
	}
	if l.MCP == 0 {
		l.MCP = mcp.DefaultPatience
	}
	return l
}

// A Server is the agents' door.
type Server struct {
	c           Config
	table       *route.Table // of what is spoken where
	gate        *gate.Gate
	api         *agentapi.Server  // for agents
	self        *mcpserver.Server // the same over MCP
	out         *upstream.Network
	connect     *goproxy.ProxyHttpServer
	outer       *http.Server
	inner       *http.Server // serves the decrypted insides of CONNECT
	tunnels     *tunnelListener
	returned    *handed // connections that the outer server is given back
	models      *model.Flow
	asked       *lru.Cache[askKey, string]   // the methods of what MCP servers asked
	sentCalls   *lru.Cache[askKey, sentCall] // what MCP servers were asked, where policy looks at the answers
	sessions    sseSessions
	waiting     mcpWaits
	clients     *lru.Cache[clientKey, string] // what MCP clients call themselves
	strays      *lru.Cache[holdgate.Digest, stray]
	tasks       heldTasks
	pages       *lru.Cache[shownPage, string]       // that clients were asked to show
	pageAsked   *lru.Cache[waitKey, struct{}]       // what they will answer to that
	opensPages  *lru.Cache[clientKey, struct{}]     // clients whose users can open pages
	taskServers *lru.Cache[clientKey, mcp.TaskForm] // how MCP servers have tasks
	challenges  challenges
	strange     *lru.Cache[place, struct{}] // where findings were made
	hosted      map[string]*mcphost.Server  // MCP servers that run here, by name

	// waits ends when Shutdown begins: nobody waits for a person through it.
	// life ends when Shutdown's patience does: nothing is read any longer.
	waits, life       context.Context
	endWaits, endLife context.CancelFunc
	running           sync.WaitGroup
	pipes             sync.WaitGroup // streams of stdio MCP servers

	begin    sync.Once                              // of the inner server
	original func(net.Conn) (netip.AddrPort, error) // where a redirected connection was to go
	leaves   *leaves
}

// New returns a Server that is not yet listening. It lives no longer than ctx.
func New(ctx context.Context, c Config) (*Server, error) {
	switch {
	case c.Engine == nil, c.Queue == nil, c.Log == nil, c.Digester == nil, c.CA == nil:
		return nil, errors.New("proxy: engine, queue, log, digester and CA must all be set")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Limits = c.Limits.withDefaults()
	c.MCP = withCommands(c)
	s := &Server{c: c, leaves: &leaves{}, tunnels: newTunnelListener(), returned: newHanded(), original: originalDst}
	s.out = upstream.New(upstream.Config{Named: slices.AppendSeq(slices.Collect(maps.Values(c.Upstreams)), maps.Values(c.MCP)),
		RootCAs: c.RootCAs, ProxyFor: c.ProxyFor, ProxyLooksUp: c.ProxyLooksUp, Credentials: c.Credentials, Resolver: c.Resolver})
	var err error
	if s.table, err = route.NewTable(route.Codecs(int(c.Limits.Call)), c.Formats, c.Upstreams, c.MCP); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if err := s.checkUntouched(); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if s.sentCalls, err = lru.New[askKey, sentCall](maxSent); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if s.asked, err = lru.New[askKey, string](maxAsked); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if s.clients, err = lru.New[clientKey, string](maxClients); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if s.strays, err = lru.New[holdgate.Digest, stray](maxStrays); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if s.taskServers, err = lru.New[clientKey, mcp.TaskForm](maxClients); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	s.pages, _ = lru.New[shownPage, string](maxPages) // it fails for a size of 0 alone
	s.pageAsked, _ = lru.New[waitKey, struct{}](maxPages)
	s.opensPages, _ = lru.New[clientKey, struct{}](maxClients)
	if s.strange, err = lru.New[place, struct{}](maxStrange); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	c.Queue.Expect(s.unnamedCaller("").Agent)
	for _, a := range c.Agents.Agents() {
		c.Queue.Expect(a)
	}
	s.api = agentapi.New(s.Agents(), func(r *http.Request) approvals.Caller { return s.caller(r, route.Target{Door: agentapi.Door}) }, c.Logger)
	s.life, s.endLife = context.WithCancel(ctx)
	s.waits, s.endWaits = context.WithCancel(s.life)
	s.gate = gate.New(s.life, s.gateConfig())
	s.models = model.New(s.modelConfig())
	s.self = mcpserver.New(mcpserver.Options{Service: s.Agents(), Caller: s.selfCaller, Every: c.Limits.Idle, Patience: c.Limits.MCP, Ending: s.waits.Done()})
	s.hosted = hosted(c)
	s.connect = s.connectProxy()
	errLog := slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug)
	s.outer = &http.Server{Handler: http.HandlerFunc(s.serveOuter), Protocols: outerProtocols(), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: errLog, BaseContext: s.baseContext, ConnContext: outerContext}
	s.inner = &http.Server{Handler: http.HandlerFunc(s.serveInner), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: errLog, ConnContext: tunnelContext}
	return s, nil
}

// gateConfig is what the gate needs of the configuration.
func (s *Server) gateConfig() gate.Config {
	c := &s.c
	return gate.Config{
		Policy: c.Engine, Queue: gate.QueueOf(c.Queue), Catalog: &catalog{queue: c.Queue}, Log: c.Log, Digester: c.Digester, Logger: c.Logger,
		Home: c.Home, Private: c.Private, Deciders: s.out.Approvers,
		Confidence: gate.Confidence{Enabled: c.Confidence.Enabled, Threshold: c.Confidence.Threshold},
		Limits:     gate.Limits{Decisions: c.Limits.Decisions, LogBytes: c.Limits.LogBytes},
		SyncAllows: c.SyncAllows, NoInputs: c.NoInputs,
	}
}

// modelConfig is what the flow of models needs of the configuration.
func (s *Server) modelConfig() model.Config {
	c := &s.c
	return model.Config{
		Gate: s.gate, Queue: c.Queue, Digester: c.Digester, Logger: c.Logger, Life: s.life, Waits: s.waits, Running: &s.running, Connections: s,
		Options: model.Options{Notice: c.Notice, NoRehydrate: c.NoRehydrate, Rounds: c.Rounds, Body: c.Limits.Body, Idle: c.Limits.Idle},
	}
}

// outerProtocols are HTTP/1.1 and, without TLS, HTTP/2 for who knows beforehand
// that it is spoken: AWS's SDK for JavaScript asks for streams in no other way.
func outerProtocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Own tells the server an address where Holdgate serves approvers: nobody may
// be sent there, and calls that aim at it are marked for policy. Call it before
// Serve.
func (s *Server) Own(a net.Addr) { s.out.Own(a, true) }

// Serve serves the agents' door on ln until Shutdown. It returns nil after one.
// Several listeners may be served at a time.
func (s *Server) Serve(ln net.Listener) error {
	s.out.Own(ln.Addr(), false)
	s.serveTunnels()
	return served(s.outer.Serve(ln))
}

// serveTunnels starts to serve what is inside tunnels, and connections that are
// given back. Shutdown ends it and waits for it.
func (s *Server) serveTunnels() {
	s.begin.Do(func() {
		s.takeUpTasks()
		s.running.Go(func() { _ = s.inner.Serve(s.tunnels) }) // what it accepts from does not fail
		s.running.Go(func() { _ = s.outer.Serve(s.returned) })
	})
}

// served is how serving ended, without what a shutdown makes of it.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Shutdown stops listening, gives running exchanges until ctx ends, and then
// cuts them. What is held stays in the queue.
func (s *Server) Shutdown(ctx context.Context) error {
	s.endWaits()
	s.models.Wake()
	err := errors.Join(s.outer.Shutdown(ctx), s.inner.Shutdown(ctx), s.models.Wait(ctx))
	s.endLife()
	if err != nil {
		err = errors.Join(s.outer.Close(), s.inner.Close())
		s.models.Close()
	}
	_ = s.tunnels.Close()
	_ = s.returned.Close()
	s.tunnels.closeConns()
	s.pipes.Wait()
	s.running.Wait()
	s.self.Close()
	for _, h := range s.hosted {
		h.Close()
	}
	s.out.Close()
	return err
}
