// Package proxy is how traffic comes in and goes on. Every door (the
// base-URL door, the forward proxy, the transparent door, the MCP door) ends in
// one function, [request.run], and every request takes the same way through it:
//
//	read (bounded) -> parse -> decide -> [hold -> people -> decide again] -> use -> send or refuse -> result
//
// A codec finds the calls in the bytes of a format, package rego decides each,
// package approvals keeps what is held. This package owns the doors and the
// order of the steps; it knows neither a format's fields, nor a rule, nor who
// approves.
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
	"cmp"
	"context"
	"crypto/tls"
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

	lru "github.com/hashicorp/golang-lru/v2"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/acpproxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/authzen"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/drain"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/mcpserver"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/socket"
	"github.com/holdgate/holdgate/proxy/steps"
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
	// HookKey is what answers to hooks are signed with; empty: they are not.
	HookKey []byte
	CA      *tls.Certificate // signs the leaves of intercepted connections; see [intercept.OpenCA]

	// Upstreams and MCP are what /up/NAME and /mcp/NAME lead to. Only hosts
	// named here may have loopback, private or metadata addresses.
	Upstreams map[string]*url.URL
	MCP       map[string]*url.URL
	// Commands are MCP servers that Holdgate starts itself, at /mcp/NAME too. No
	// name may be in MCP as well.
	Commands map[string]mcpproxy.Command

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
	// Warden keeps what runs later by itself from agents whose changes can be undone.
	Warden gate.Warden
	// Proofs, where it is set, says what still holds of what was proven of an agent.
	Proofs func(holdgate.Agent) holdgate.Proofs
	// Agents says who is known by a credential, and is asked for each request; nil:
	// nobody.
	Agents func() *identity.Book

	// AuthZEN says which agents may ask for decisions of calls that others make.
	AuthZEN authzen.Options

	// Confidence says what becomes of agents' reports of how sure they are.
	Confidence Confidence

	Limits Limits
	// Quotas are what one agent may ask for and write, and are asked for at each call; nil:
	// any number.
	Quotas func() gate.Limits
	Models model.Options
	Relay  mcpproxy.Options
	// Network is how upstreams are reached, and what is put into requests to them.
	Network upstream.Config
	// AllowUnsupported lets model APIs through whose tool calls Holdgate
	// cannot see. Otherwise they are refused.
	AllowUnsupported bool
	SyncAllows       bool // plain allows are synced before they take effect, too
	NoInputs         bool // the audit log keeps no arguments
	// PassThrough are hosts whose TLS is passed on as it comes.
	PassThrough []intercept.PassThrough
	// Original says where a connection was to go that was redirected to the transparent
	// door; nil: as netfilter has it.
	Original func(net.Conn) (netip.AddrPort, error)
	Logger   *slog.Logger

	// OnRefused, OnHeld and OnAnswered, where they are set, are told of each request that
	// never reached policy, how each client that waits does so (both: [gate.Config]), and of
	// each request that went to an upstream ([steps.Steps]).
	OnRefused  func(rule string)
	OnHeld     func(gate.Rung)
	OnAnswered func(steps.Answered)
	// Tracer makes spans of requests; nil: none are made. See [trace.NewTracer].
	Tracer oteltrace.Tracer
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
}

func (l Limits) withDefaults() Limits {
	l.Body, l.Call = cmp.Or(l.Body, 32<<20), cmp.Or(l.Call, 8<<20)
	l.Idle, l.Budget, l.MCP = cmp.Or(l.Idle, 10*time.Second), cmp.Or(l.Budget, 290*time.Second), cmp.Or(l.MCP, mcp.DefaultPatience)
	return l
}

// A Server is the agents' door.
type Server struct {
	c           Config
	table       *route.Table // of what is spoken where
	steps       *steps.Steps
	api         *agentapi.Server  // for agents
	self        *mcpserver.Server // the same over MCP
	authzen     *authzen.Server   // for gateways and the like
	outer       *drain.Server
	inner       *drain.Server // serves the decrypted insides of CONNECT
	connections *intercept.Interceptor
	models      *model.Flow
	sockets     *socket.Sockets
	mcp         *mcpproxy.Proxy
	acp         *acpproxy.Proxy
	strange     *lru.Cache[place, struct{}] // where findings were made

	// endWaits ends the wait of everybody who waits for a person, when Shutdown
	// begins. endLife ends all reading, when Shutdown's patience does.
	endWaits, endLife context.CancelFunc
	running           sync.WaitGroup

	begin sync.Once // of the inner server
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
	c.MCP = mcpproxy.WithCommands(c.MCP, c.Commands)
	c.Network.Named = slices.AppendSeq(slices.Collect(maps.Values(c.Upstreams)), maps.Values(c.MCP))
	c.Models.Idle, c.Relay.Idle, c.Relay.Patience = c.Limits.Idle, c.Limits.Idle, c.Limits.MCP
	s := &Server{c: c}
	s.steps, s.endWaits, s.endLife = newSteps(ctx, c)
	var err error
	if s.table, err = route.NewTable(route.Codecs(int(c.Limits.Call)), c.Formats, c.Upstreams, c.MCP); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if s.connections, err = intercept.New(intercept.Config{Steps: s.steps, CA: c.CA, PassThrough: c.PassThrough, Table: s.table, Running: &s.running, Original: c.Original, Tracer: c.Tracer}); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	s.strange, _ = lru.New[place, struct{}](maxStrange) // it fails for a size of 0 alone
	c.Queue.Agents.Expect(s.steps.Callers.Unnamed("").Agent)
	for _, a := range s.steps.Callers.Known() {
		c.Queue.Agents.Expect(a)
	}
	s.api = agentapi.New(s.Agents(), agents{s}, c.HookKey, func(r *http.Request) approvals.Caller { return s.steps.Callers.Of(r, agentapi.Door) }, c.Logger)
	s.authzen = authzen.New(authzen.Config{Options: c.AuthZEN, Gate: func() *gate.Gate { return s.steps.Gate }, Queue: c.Queue, Digester: c.Digester, Logger: c.Logger,
		Caller: func(r *http.Request) approvals.Caller { return s.steps.Callers.Of(r, authzen.Door) }, Waiting: s.steps.Waiting})
	s.models = model.New(s.modelConfig())
	s.sockets = &socket.Sockets{Serve: s.serve, Idle: c.Limits.Idle}
	s.self = mcpserver.New(mcpserver.Options{Service: s.Agents(), Caller: s.selfCaller, Follow: s.selfFollow, Every: c.Limits.Idle, Patience: c.Limits.MCP, Ending: s.steps.Waits.Done()})
	s.mcp, s.acp = mcpproxy.New(s.mcpConfig()), acpproxy.New(s.steps)
	errLog := slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug)
	s.outer = drain.New(&http.Server{Handler: http.HandlerFunc(s.serveOuter), Protocols: outerProtocols(), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: errLog, BaseContext: s.baseContext, ConnContext: intercept.OuterContext})
	s.inner = drain.New(&http.Server{Handler: http.HandlerFunc(s.serveInner), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: errLog, ConnContext: intercept.TunnelContext})
	return s, nil
}

// newSteps makes what all requests have in common of a configuration. endWaits ends
// the time in which people are waited for, and endLife all time.
func newSteps(ctx context.Context, c Config) (s *steps.Steps, endWaits, endLife context.CancelFunc) {
	s = &steps.Steps{
		Callers: caller.Finder{Agents: c.Agents, Agent: c.Agent, Dir: c.Dir},
		Out:     upstream.New(c.Network),
		Queue:   c.Queue, Digester: c.Digester, Operation: c.Engine.Operation, Logger: c.Logger, Body: c.Limits.Body, Budget: c.Limits.Budget, OnAnswered: c.OnAnswered,
	}
	s.Life, endLife = context.WithCancel(ctx)
	s.Waits, endWaits = context.WithCancel(s.Life)
	s.Gate = gate.New(s.Life, gateConfig(c, s.Out))
	return s, endWaits, endLife
}

// gateConfig is what the gate needs of the configuration.
func gateConfig(c Config, out *upstream.Network) gate.Config {
	return gate.Config{
		Policy: c.Engine, Queue: gate.QueueOf(c.Queue), Catalog: mcpproxy.NewCatalog(c.Queue, c.MCP), Log: c.Log, Digester: c.Digester, Logger: c.Logger,
		Home: c.Home, Private: c.Private, Deciders: out.Approvers,
		Confidence: gate.Confidence{Enabled: c.Confidence.Enabled, Threshold: c.Confidence.Threshold},
		Limits:     c.Quotas,
		SyncAllows: c.SyncAllows, NoInputs: c.NoInputs, OnRefused: c.OnRefused, OnHeld: c.OnHeld, Proofs: c.Proofs, Warden: c.Warden,
	}
}

// modelConfig is what the flow of models needs of the configuration.
func (s *Server) modelConfig() model.Config {
	c := &s.c
	return model.Config{
		Steps: s.steps, Running: &s.running, Connections: s.connections,
		Options: c.Models,
	}
}

// mcpConfig is what the flow of MCP needs of the configuration.
func (s *Server) mcpConfig() mcpproxy.Config {
	c := &s.c
	return mcpproxy.Config{
		Steps: s.steps, Engine: c.Engine, Servers: c.MCP, Commands: c.Commands, Running: &s.running, Serve: s.serve,
		Options: c.Relay,
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
func (s *Server) Own(a net.Addr) { s.steps.Out.Own(a, true) }

// Serve serves the agents' door on ln until Shutdown. It returns nil after one.
// Several listeners may be served at a time.
func (s *Server) Serve(ln net.Listener) error {
	s.steps.Out.Own(ln.Addr(), false)
	s.serveTunnels()
	return served(s.outer.Serve(ln))
}

// A runListener is a listener that one agent alone reaches.
type runListener struct {
	net.Listener
	who caller.Who
}

// baseContext keeps whose a listener is for its connections.
func (s *Server) baseContext(ln net.Listener) context.Context {
	if l, ok := ln.(*runListener); ok {
		return caller.WithConnection(context.Background(), &l.who)
	}
	return context.Background()
}

// RunEnded is for when a run has ended: the name of its agent may be another's next.
func (s *Server) RunEnded(agent string) { s.steps.ForgetAccounts(agent) }

// Accounts are those that count as the own of a run's agent; see [steps.Steps.Accounts].
func (s *Server) Accounts(agent string) []holdgate.Digest { return s.steps.Accounts(agent) }

// RunGoesOn is for a run that another process has served until now, and whose agent has
// these accounts of its own.
func (s *Server) RunGoesOn(agent string, accounts []holdgate.Digest) {
	s.steps.KnowAccounts(agent, accounts)
}

// ServeRun serves the agents' door on ln, which the agent alone reaches, until
// ln is closed or Shutdown. dir is the folder that it works in.
func (s *Server) ServeRun(ln net.Listener, agent holdgate.Agent, dir string) error {
	return s.Serve(&runListener{ln, caller.Who{Agent: agent, Dir: dir}})
}

// ServeTransparent serves connections that a firewall redirected to ln, until
// Shutdown; it returns nil after one. names are those that were given out inside
// the network that is redirected; nil where names are resolved as everywhere.
func (s *Server) ServeTransparent(ln net.Listener, names *intercept.Names) error {
	s.serveTunnels()
	return s.connections.ServeTransparent(ln, names, nil)
}

// ServeRunTransparent is ServeTransparent for a network that the agent alone is
// in, which works in the folder dir. It also ends where ln is closed.
func (s *Server) ServeRunTransparent(ln net.Listener, names *intercept.Names, agent holdgate.Agent, dir string) error {
	s.serveTunnels()
	return s.connections.ServeTransparent(ln, names, &caller.Who{Agent: agent, Dir: dir})
}

// serveTunnels starts to serve what is inside tunnels, and connections that are
// given back. Shutdown ends it and waits for it.
func (s *Server) serveTunnels() {
	s.begin.Do(func() {
		s.mcp.TakeUpTasks()
		s.running.Go(func() { _ = s.inner.Serve(s.connections.Inside()) }) // what it accepts from does not fail
		s.running.Go(func() { _ = s.outer.Serve(s.connections.GivenBack()) })
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
	err := s.outer.Shutdown(ctx)
	s.connections.Settle(ctx)
	err = errors.Join(err, s.inner.Shutdown(ctx), s.models.Wait(ctx))
	s.endLife()
	if err != nil {
		err = errors.Join(s.outer.Close(), s.inner.Close())
		s.models.Close()
	}
	s.connections.Close()
	s.mcp.Wait()
	s.running.Wait()
	s.self.Close()
	s.mcp.Close()
	s.steps.Out.Close()
	return err
}
