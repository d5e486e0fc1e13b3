package mcpproxy

import (
	"maps"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/proxy/mcphost"
)

// A Command is an MCP server that speaks on its standard streams, and that
// Holdgate starts: one process for each session of a client's (see package
// mcphost).
type Command struct {
	Args      []string // a program and its arguments
	Env       []string // all that it gets, as NAME=VALUE
	Dir       string   // where it runs; empty: where this process does
	Processes int      // at most, at a time
}

// schemeStdio is that of the addresses of servers that run here.
const schemeStdio = "stdio"

// WithCommands are the MCP servers by their URLs, those that run here under URLs
// that lead nowhere else.
func WithCommands(servers map[string]*url.URL, commands map[string]Command) map[string]*url.URL {
	all := maps.Clone(servers)
	if all == nil {
		all = map[string]*url.URL{}
	}
	for name := range commands {
		all[name] = &url.URL{Scheme: schemeStdio, Host: name, Path: "/"}
	}
	return all
}

// hosted makes servers of the commands. They start nothing before a client comes.
func hosted(c Config) map[string]*mcphost.Server {
	all := make(map[string]*mcphost.Server, len(c.Commands))
	for name, command := range c.Commands {
		all[name] = mcphost.New(mcphost.Options{Name: name, Command: command.Args, Env: command.Env, Dir: command.Dir,
			Processes: command.Processes, Message: int(c.Body), Logger: c.Logger})
	}
	return all
}

// Transport is the way to an MCP server that runs here, or nil.
func (p *Proxy) Transport(name string) http.RoundTripper {
	if h := p.hosted[name]; h != nil {
		return h
	}
	return nil
}
