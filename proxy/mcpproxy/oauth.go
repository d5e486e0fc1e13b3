package mcpproxy

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A client of a server with OAuth asks for a token for the URL that it dialled,
// and refuses metadata for another one (RFC 9728, section 3.3). So what says
// where a server's tokens come from is served for the URL of the door: the
// challenge of a 401 leads to metadata on the door, which are the server's own
// but for the name of the resource. That they are for the configured server is
// checked here, since the client cannot any more.

// ResourceMetadataPath begins the paths where metadata of protected resources
// are found (RFC 9728, section 3).
const ResourceMetadataPath = "/.well-known/oauth-protected-resource"

// metadataLimit is how long a document of metadata may be, in bytes.
const metadataLimit = 1 << 20

// challenges are where servers said that their metadata are, by their names.
type challenges struct {
	mu sync.Mutex
	at map[string]*url.URL
}

func (c *challenges) keep(name string, u *url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]*url.URL{}
	}
	c.at[name] = u
}

func (c *challenges) of(name string) *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[name]
}

var resourceMetadata = regexp.MustCompile(`(?i)(\bresource_metadata\s*=\s*)(?:"([^"]*)"|([^\s,"]+))`)

// ownChallenge makes the challenges in an answer to a client of the MCP door
// lead to the door.
func (m *relay) ownChallenge(h http.Header) {
	if m.Target.Door != route.DoorMCP || m.posted != nil {
		return
	}
	for i, v := range h["Www-Authenticate"] {
		h["Www-Authenticate"][i] = resourceMetadata.ReplaceAllStringFunc(v, func(param string) string {
			parts := resourceMetadata.FindStringSubmatch(param)
			u, err := url.Parse(parts[2] + parts[3])
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return param // the client will not understand it either
			}
			m.p.challenges.keep(m.Target.Name, u)
			return fmt.Sprintf(`%s"http://%s%s/mcp/%s"`, parts[1], m.R.Host, ResourceMetadataPath, url.PathEscape(m.Target.Name))
		})
	}
}

// ResourceMetadata finds out where the metadata of an MCP server are, for the
// door's URL. rest is what follows /mcp/ in the path.
func (p *Proxy) ResourceMetadata(r *http.Request, rest string) (*route.Target, *route.Refusal) {
	name, _, _ := strings.Cut(rest, "/")
	base, ok := p.c.Servers[name]
	if !ok || route.Method(r) != http.MethodGet || p.hosted[name] != nil { // what runs here wants no token
		return nil, notFound("no metadata of an MCP server %q are served here", name)
	}
	return &route.Target{Door: route.DoorMCP, Name: name, URL: p.metadataURLs(name, base)[0], Named: true, Metadata: true}, nil
}

// metadataURLs are where the metadata of a server may be: where its challenge
// said, else where a client would look.
func (p *Proxy) metadataURLs(name string, base *url.URL) []*url.URL {
	if u := p.challenges.of(name); u != nil {
		return []*url.URL{u}
	}
	at := func(p string) *url.URL {
		return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: ResourceMetadataPath + p}
	}
	if p := strings.TrimSuffix(base.Path, "/"); p != "" {
		return []*url.URL{at(p), at("")}
	}
	return []*url.URL{at("")}
}

// ServeMetadata fetches a server's metadata and answers with them. Each URL where
// they may be is asked about by itself.
func (p *Proxy) ServeMetadata(e *steps.Exchange) {
	base := p.c.Servers[e.Target.Name]
	asked := *e.R
	asked.Header = http.Header{"Accept": {"application/json"}, "User-Agent": e.R.Header["User-Agent"]} // no credentials: they may be of another host
	e.R = &asked
	for _, u := range p.metadataURLs(e.Target.Name, base) {
		e.Target.URL, e.Target.Named = u, route.SameOrigin(u, base)
		if !e.Admit() || !e.Permitted(e.AsHTTP()) {
			return
		}
		resp, err := e.Send(e.R.Context(), e.Body)
		if err != nil {
			e.Failed(err)
			return
		}
		raw, err := io.ReadAll(io.LimitReader(resp.Body, metadataLimit+1))
		_ = resp.Body.Close()
		switch {
		case err != nil, len(raw) > metadataLimit:
			e.Reject(http.StatusBadGateway, holdgate.RuleMalformed, "the server's metadata are too long, or broke off")
			return
		case resp.StatusCode == http.StatusOK:
			p.writeMetadata(e, raw, base)
			return
		}
	}
	// Revision 2025-03-26 has no metadata of resources: the server's own origin
	// says where its tokens come from.
	origin := url.URL{Scheme: base.Scheme, Host: base.Host}
	p.writeMetadata(e, fmt.Appendf(nil, `{"resource":%q,"authorization_servers":[%q]}`, origin.String(), origin.String()), base)
}

// writeMetadata answers with metadata, for the door's URL where they are for
// the server's.
func (p *Proxy) writeMetadata(e *steps.Exchange, raw []byte, server *url.URL) {
	if err := wire.Strict(raw); err != nil {
		e.Reject(http.StatusBadGateway, holdgate.RuleMalformed, "the server's metadata are refused because two readers could take them differently: "+err.Error())
		return
	}
	resource, err := wire.Text(wire.Find(raw, "resource"))
	if err == nil && isFor(resource, server) {
		own := "http://" + e.R.Host + "/mcp/" + url.PathEscape(e.Target.Name)
		raw = wire.RewriteMembers(raw, func(m wire.Member) []byte {
			if string(m.Name) == "resource" {
				return wire.AppendText(nil, own)
			}
			return m.Value
		})
	} else {
		p.c.Logger.WarnContext(e.R.Context(), "an MCP server's metadata are for another resource, so its clients will refuse them", "server", e.Target.Name, "resource", resource)
	}
	e.W.Header().Set("Cache-Control", "no-store")
	_ = writeJSON(e.W, http.StatusOK, raw) // a client that has gone needs no answer
}

// isFor reports whether metadata for a resource (RFC 9728) are those of a server: they are
// of one origin, and the resource's path is a beginning of the server's.
func isFor(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || !route.SameOrigin(u, server) {
		return false
	}
	whole := func(u *url.URL) string { return strings.TrimSuffix(path.Clean("/"+u.Path), "/") + "/" }
	return strings.HasPrefix(whole(server), whole(u))
}
