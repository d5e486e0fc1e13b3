package mcpproxy

import (
	"context"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/tools"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/rego/facts"
)

// A toolIndex is what is known of the tools of MCP servers, as calls look it
// up. It never changes, but for schemas that are compiled on first use.
type toolIndex struct {
	of       *tools.Tools
	servers  map[string]*url.URL // of the configuration
	byName   map[serverTool]*knownTool
	having   map[string][]string   // the servers that have a tool of a name
	spelling map[string]*knownTool // by the names that agents give to tools; nil where one stands for several
}

type serverTool struct{ server, tool string }

// A knownTool is a tool in the index.
type knownTool struct {
	tools.Tool

	hints  map[string]bool
	schema func() *mcp.Schema // nil where it cannot be used
	reads  func() bool        // by what its server says of it
}

// A catalog is what MCP servers have said of their tools.
type catalog struct {
	queue   *approvals.Queue
	servers map[string]*url.URL
	known   atomic.Pointer[toolIndex]
}

// NewCatalog returns what is known of tools in the queue. The servers are those of
// the configuration, by name, those that run here included.
func NewCatalog(q *approvals.Queue, servers map[string]*url.URL) *catalog {
	return &catalog{queue: q, servers: servers}
}

// index is what is known now.
func (c *catalog) index() *toolIndex {
	now := c.queue.Tools.Known()
	if x := c.known.Load(); x != nil && x.of == now {
		return x
	}
	x := newToolIndex(now, c.servers)
	c.known.Store(x)
	return x
}

// Learned implements [gate.Catalog].
func (c *catalog) Learned(t *holdgate.Tool) *holdgate.Learned {
	if inner, ok := facts.Wrapped(t); ok {
		t = inner
	}
	x := c.index()
	if k := x.find(t); k != nil {
		return k.learned(x, t)
	}
	return nil
}

func newToolIndex(of *tools.Tools, servers map[string]*url.URL) *toolIndex {
	x := &toolIndex{of: of, servers: servers, byName: map[serverTool]*knownTool{}, having: map[string][]string{}, spelling: map[string]*knownTool{}}
	for _, t := range of.All() {
		k := &knownTool{Tool: t, hints: mcp.Hints(t.Annotations)}
		k.schema = sync.OnceValue(func() *mcp.Schema {
			schema, err := mcp.CompileSchema(k.Schema)
			if err != nil {
				return nil
			}
			return schema
		})
		k.reads = sync.OnceValue(func() bool { return !k.Cut && mcp.Reads(k.Definition) })
		x.byName[serverTool{t.Server, t.Name}] = k
		x.having[t.Name] = append(x.having[t.Name], t.Server)
		for _, name := range mcp.Spellings(t.Server, t.Name) {
			if other, taken := x.spelling[name]; taken && other != k {
				x.spelling[name] = nil
				continue
			}
			x.spelling[name] = k
		}
	}
	return x
}

// find is the tool that a call is of: the server's own, or the one that a
// model's name for a tool stands for, if it is exactly one.
func (x *toolIndex) find(t *holdgate.Tool) *knownTool {
	if t.Server != "" {
		return x.byName[serverTool{t.Server, t.Name}]
	}
	return x.spelling[t.Name]
}

// learned is what is known of the tool for a call of it.
func (k *knownTool) learned(x *toolIndex, t *holdgate.Tool) *holdgate.Learned {
	l := &holdgate.Learned{
		Server: k.Server, Tool: k.Name, Definition: k.Hash, Hints: k.hints,
		Changed: k.Changed, Unread: x.of.Unread(k.Server),
	}
	if l.Unread != "" {
		l.Changed = true
	} else if !k.Cut {
		l.Was, l.Is = k.Was, &k.Definition
	}
	for _, server := range x.having[k.Name] {
		if server != k.Server {
			l.Shadows = append(l.Shadows, server)
		}
	}
	switch {
	case k.Schema == nil && !k.Cut:
	case k.Schema == nil, t.Arguments == nil, k.schema() == nil:
		l.Schema = holdgate.FitUnchecked
	default:
		l.Schema, l.Misfits = k.schema().Check(t.Arguments)
	}
	if at, ok := x.servers[k.Server]; ok {
		// A plain name may be that of a tool of the agent's own.
		l.Configured, l.Remote = k.NamedBy == "" && (t.Server != "" || t.Name != k.Name), leaves(at)
		l.Reads = l.Schema == holdgate.FitWhole && k.reads() && mcp.Declares(k.Definition, t.Arguments)
	}
	return l
}

// leaves reports whether what goes to a server leaves this machine.
func leaves(to *url.URL) bool {
	ip, err := netip.ParseAddr(to.Hostname())
	return to.Scheme != schemeStdio && to.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}

// learn takes up what a server says of its tools in a message that is about to
// be passed on to a client, if it does. It is told of every message that comes
// from a server, whatever the transport. An error says that the message may not
// be passed on, for what it says could not be written down.
//
// namedBy is the agent whose word the server's name is; empty where the
// configuration has it.
func (p *Proxy) learn(ctx context.Context, server, namedBy string, message []byte) error {
	defs, ok, err := mcp.Tools(message)
	switch {
	case !ok:
		return nil
	case err != nil:
		p.c.Logger.WarnContext(ctx, "what an MCP server says of its tools could not be read", "server", server, "err", err)
		return p.c.Queue.Tools.LearnUnread(context.WithoutCancel(ctx), server, namedBy, err.Error())
	}
	return p.c.Queue.Tools.Learn(context.WithoutCancel(ctx), server, namedBy, defs)
}

// takeTools is [Proxy.learn] for what came from this exchange's server. Only
// those that the configuration names, and those on standard streams, have tools
// that are remembered: hosts that agents name would be too many.
func (m *relay) takeTools(ctx context.Context, message []byte) error {
	namedBy := ""
	if _, configured := m.p.c.Servers[m.Target.Name]; !configured {
		if m.Target.Door != route.DoorStdio {
			return nil
		}
		namedBy = m.Target.Caller.Agent.ID
	}
	return m.p.learn(ctx, m.Target.Name, namedBy, message)
}

// withoutDenied leaves those tools out of a server's list that the policy in
// force hides from the agent. It reports false where the message stays as it is.
func (m *relay) withoutDenied(message []byte) (shown []byte, fewer bool) {
	if !m.p.c.Engine.HidesTools() {
		return nil, false
	}
	shown = mcp.WithoutTools(message, func(tool string) bool {
		hidden := m.p.c.Engine.Hides(m.Target.Caller.Agent, m.Target.Name, tool)
		fewer = fewer || hidden
		return hidden
	})
	return shown, fewer
}
