// Package mcpproxy relays MCP between agents and servers, and has each call judged.
//
// A [Proxy] takes a request from its door once who asks and where it goes are known. Its
// messages are read and parsed, each that asks for something is decided, those that are
// held wait, and the body goes on as it came, or an answer in its place
// (exchange.run). Each answer of the server, and each question to the client,
// is judged too (exchange.fromServer).
//
// A held call waits on its own connection, as a task of the protocol's, or until the
// client makes the same call again. Servers on standard streams are served by package
// stdio, whose messages come here as requests do.
package mcpproxy

import (
	"net/http"
	"net/url"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcphost"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/rego"
)

// Config is what a [Proxy] needs. Fields without a word on their default must be
// set.
type Config struct {
	*steps.Steps

	Engine   *rego.Engine
	Servers  map[string]*url.URL // by name, those that run here included
	Commands map[string]Command  // MCP servers that are started here; may be empty
	Options  Options

	Running *sync.WaitGroup // of what goes on without its handler
	// Serve takes a request through the steps from the beginning. An error says that
	// its answer is not whole.
	Serve func(http.ResponseWriter, *http.Request, *route.Target) error
}

// Options are what people can set.
type Options struct {
	Idle     time.Duration // between two signs of life
	Patience time.Duration // how long a client waits that is not in the table

	NoTasks         bool     // held calls do not become tasks
	OfferTasks      bool     // they do in revision 2026-07-28 even where the server has no tasks
	ProgressClients []string // names of clients that wait on, without end, as long as they hear of progress
	// Page is where people decide a request; nil, or empty: nowhere.
	Page func(request string) string
}

// A Proxy relays MCP and has each call judged. It may be used by several goroutines.
type Proxy struct {
	c      Config
	hosted map[string]*mcphost.Server // MCP servers that run here, by name
	pipes  sync.WaitGroup             // streams of servers on standard streams

	sessions   sseSessions
	waiting    clientWaits
	tasks      heldTasks
	challenges challenges
	pages      pages

	asked       *lru.Cache[askKey, string]                 // the methods of what servers asked
	sentCalls   *lru.Cache[askKey, sentCall]               // what servers were asked, where policy looks at the answers
	clients     *lru.Cache[clientKey, string]              // what clients call themselves
	taskServers *lru.Cache[clientKey, mcp.TaskForm]        // how servers have tasks
	abandoned   *lru.Cache[holdgate.Digest, abandonedCall] // calls that their clients left
}

// New returns a Proxy that has started nothing yet.
func New(c Config) *Proxy {
	return &Proxy{
		c: c, hosted: hosted(c), pages: newPages(),
		asked: remembering[askKey, string](maxAsked), sentCalls: remembering[askKey, sentCall](maxSent),
		clients: remembering[clientKey, string](maxClients), taskServers: remembering[clientKey, mcp.TaskForm](maxClients),
		abandoned: remembering[holdgate.Digest, abandonedCall](maxAbandoned),
	}
}

// remembering keeps the latest n.
func remembering[K comparable, V any](n int) *lru.Cache[K, V] {
	c, _ := lru.New[K, V](n) // it fails for a size of 0 alone
	return c
}

// Wait waits until no server on standard streams is served any longer.
func (p *Proxy) Wait() { p.pipes.Wait() }

// Idle reports whether no client waits for a call that came over HTTP.
func (p *Proxy) Idle() bool { return p.waiting.none() }

// Close ends what runs here, once nobody is served any longer.
func (p *Proxy) Close() {
	for _, h := range p.hosted {
		h.Close()
	}
}
