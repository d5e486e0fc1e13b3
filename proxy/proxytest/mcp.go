package proxytest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
)

// NewMCP starts a sidecar before an MCP server, called files, that answers POSTs with answer, and returns what the
// server was sent.
func NewMCP(t *testing.T, answer http.HandlerFunc, opts ...Option) (*Sidecar, *Counter) {
	t.Helper()
	var seen Counter
	up := NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Saw(r)
		answer(w, r)
	}))
	return NewTo(t, nil, map[string]string{"files": up + "/mcp"}, opts...), &seen
}

// WithMCPBudget has clients of MCP wait so long for a held call.
func WithMCPBudget(d time.Duration) Option { return func(c *proxy.Config) { c.Limits.MCP = d } }

// ToolCall calls the tool remove of the MCP server files.
func ToolCall(id, what string) string {
	return `{"jsonrpc":"2.0", "id":` + id + `,"method":"tools/call","params":{"name":"remove","arguments":{"path":"` + what + `"},"_meta":{"progressToken":"p1"}}}`
}

// ToolResult answers [ToolCall] with the id 1.
const ToolResult = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}] }}`

// MCPJSON answers as an MCP server does, with a document.
func MCPJSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// MCPEvents answers as an MCP server does, with a stream.
func MCPEvents(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// Call sends a message as clients of Streamable HTTP do.
func (g *Sidecar) Call(ctx context.Context, body string, header http.Header) *http.Response {
	g.T.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/mcp/files", strings.NewReader(body))
	Must(g.T, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := g.Client.Do(req)
	Must(g.T, err)
	g.T.Cleanup(func() { resp.Body.Close() })
	return resp
}

// ListTools asks an MCP server for its tools.
const ListTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// ToolList is a server's answer to [ListTools].
func ToolList(tools ...string) string {
	return `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Join(tools, ", ") + `] }}`
}

// Tool is the definition of a tool.
func Tool(name, description string, more ...string) string {
	return `{"name":"` + name + `", "description":"` + description + `"` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// A ToolServer lists tools that a test can change, and answers calls.
type ToolServer struct {
	List  atomic.Pointer[string]
	Calls Counter
	Typ   string // of its answers; JSON where empty
}

// Lists sets the tools that the server has.
func (s *ToolServer) Lists(tools ...string) {
	list := ToolList(tools...)
	s.List.Store(&list)
}

func (s *ToolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answer := ToolResult
	if strings.Contains(string(body), "tools/list") {
		answer = *s.List.Load()
	} else {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.Calls.Saw(r)
	}
	if s.Typ == route.TypeEvents {
		MCPEvents("data: "+answer+"\n\n")(w, r)
		return
	}
	MCPJSON(200, answer)(w, r)
}

// ListTools lets the client list the server's tools, and returns what it got.
func (g *Sidecar) ListTools(t *testing.T) string {
	t.Helper()
	return ReadAll(t, g.Call(t.Context(), ListTools, nil).Body)
}

// CallOf is [ToolCall] for a tool of another name.
func CallOf(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// An OldServer speaks the transport of revision 2024-11-05: GET /sse opens a
// stream, which names /messages; answers come on the stream.
type OldServer struct {
	mu      sync.Mutex
	streams map[string]chan string
	Seen    Counter
	Names   func(session string) string // the endpoint as the server writes it
}

func (o *OldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.URL.Query().Get("session")
	if r.Method == http.MethodPost {
		o.mu.Lock()
		stream := o.streams[session]
		o.mu.Unlock()
		body := o.Seen.Saw(r)
		if stream == nil || r.URL.Path != "/messages" {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
		if strings.Contains(body, `"tools/call"`) {
			stream <- "event: message\ndata: " + ToolResult + "\n\n"
		}
		return
	}
	events := make(chan string, 8)
	o.mu.Lock()
	session = strconv.Itoa(len(o.streams))
	o.streams[session] = events
	o.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "event: endpoint\ndata: "+o.Names(session)+"\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case e := <-events:
			_, _ = io.WriteString(w, e)
		case <-r.Context().Done():
			return
		}
	}
}

// NewOldMCP starts a sidecar before an MCP server of the older transport, called old.
func NewOldMCP(t *testing.T, opts ...Option) (*Sidecar, *OldServer, string) {
	t.Helper()
	o := &OldServer{streams: map[string]chan string{}, Names: func(s string) string { return "/messages?session=" + s }}
	up := NewUpstream(t, o)
	return NewTo(t, nil, map[string]string{"old": up + "/sse"}, opts...), o, up
}

// OpenStream opens the stream of an older server, and returns the endpoint that it
// names.
func (g *Sidecar) OpenStream(ctx context.Context, c *http.Client, url string) (*bufio.Reader, string) {
	g.T.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Must(g.T, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.Do(req)
	Must(g.T, err)
	g.T.Cleanup(func() { resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	first := Until(g.T, r, "data: ")
	endpoint := strings.TrimSpace(first[strings.LastIndex(first, "data: ")+len("data: "):])
	u, err := req.URL.Parse(endpoint)
	Must(g.T, err)
	return r, u.String()
}

// SendMessage sends a message to an endpoint of the older transport.
func (g *Sidecar) SendMessage(c *http.Client, url, body string) (int, string) {
	g.T.Helper()
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	Must(g.T, err)
	defer resp.Body.Close()
	return resp.StatusCode, ReadAll(g.T, resp.Body)
}

// Cancelled says that a client of MCP no longer waits for a request.
func Cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"timed out"}}`
}

// SessionHeader is the header that names a session of MCP.
func SessionHeader(id string) http.Header { return http.Header{"Mcp-Session-Id": {id}} }
