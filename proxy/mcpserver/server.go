// Package mcpserver is Holdgate's own MCP server for agents: what the agents' API
// offers over HTTP ([agentapi.Service]), as tools. An agent can come to a person
// by itself, and ask where it stands; it can decide nothing.
//
// A tool that waits for people keeps its client waiting as any held call does:
// with word of progress, for as long as that client waits, and then with a result
// that says what waits. The same call again picks it up, for the same gate asked
// for again while it waits is the same gate.
package mcpserver

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/agentapi"
	holdgatemcp "github.com/holdgate/holdgate/proxy/mcp"
)

// Options are what a Server works with.
type Options struct {
	Service agentapi.Service
	// Caller says who calls by the headers of the request; over standard streams
	// there are none. Nil leaves it to the service.
	Caller func(http.Header) approvals.Caller
	// Follow begins to follow a call by the headers of its request, over HTTP: see
	// [trace.Follow]. Nil: calls are not followed here.
	Follow func(context.Context, http.Header) (followed context.Context, end func())
	// Every is the time between two words of progress; 10 s.
	Every time.Duration
	// Patience is how long clients wait that are not known to wait for longer or
	// shorter; [holdgatemcp.DefaultPatience].
	Patience time.Duration
	// Ending is closed when nobody is waited for any longer; nil: never.
	Ending  <-chan struct{}
	Version string
}

// A Server serves the tools, over HTTP ([Server.ServeHTTP]) or standard streams
// ([Server.Run]). It is safe for concurrent use.
type Server struct {
	o     Options
	sdk   *mcp.Server
	tools func() // adds the tools on first use: their schemas take longer than all else of a start
	http  http.Handler

	left  context.Context // ends when the client of Run has left
	leave context.CancelFunc
}

// idleSession is how long a session over HTTP lasts without a request. Whoever
// comes later begins a new one, which loses nothing.
const idleSession = 24 * time.Hour

const instructions = "Holdgate stands between you and what you do. People decide about some of it, through this server you can come to them by yourself: " +
	"ask before work that you are not sure of, report how sure you are, and look for messages between tasks. Nothing here approves anything by itself."

// New returns a Server.
func New(o Options) *Server {
	if o.Every <= 0 {
		o.Every = 10 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = holdgatemcp.DefaultPatience
	}
	s := &Server{o: o, sdk: mcp.NewServer(&mcp.Implementation{Name: "holdgate", Title: "Holdgate", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})}
	s.left, s.leave = context.WithCancel(context.Background())
	s.tools = sync.OnceFunc(s.addTools)
	s.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
		SessionTimeout: idleSession, MaxRequestBodyBytes: agentapi.MaxBody,
		DisableLocalhostProtection: true, // the door has checked host and origin
	})
	return s
}

// ServeHTTP implements [http.Handler]: Streamable HTTP. The caller has checked
// that no web page asks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.tools()
	s.http.ServeHTTP(w, r)
}

// Run serves one client over its standard streams until it leaves, and has been
// answered, or ctx ends. It is called once.
func (s *Server) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer s.leave()
	defer context.AfterFunc(ctx, s.leave)() // the SDK waits for what is under way
	s.tools()
	agreed, w := new(revision), &oneWriter{WriteCloser: out}
	t := &mcp.IOTransport{Reader: newUnbatched(in, w, agreed), Writer: w}
	return s.sdk.Run(ctx, answering{t, s.leave, agreed})
}

// Close ends all sessions.
func (s *Server) Close() {
	defer s.leave()
	for session := range s.sdk.Sessions() {
		_ = session.Close() // its client may have gone
	}
}
