package proxy

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
	"github.com/holdgate/holdgate/proxy/wire"
)

// A client of a server with OAuth asks for a token for the URL that it dialled,
// and refuses metadata for another one (RFC 9728, section 3.3). So what says
// where a server's tokens come from is served for the URL of the door: the
// challenge of a 401 leads to metadata on the door, which are the server's own
// but for the name of the resource. That they are for the configured server is
// checked here, since the client cannot any more.

// resourceMetadataPath begins the paths where metadata of protected resources
// are found (RFC 9728, section 3).
const resourceMetadataPath = "/.well-known/oauth-protected-resource"

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
func (m *mcpExchange) ownChallenge(h http.Header) {
	if m.t.Door != route.DoorMCP || m.posted != nil {
		return
	}
	for i, v := range h["Www-Authenticate"] {
		h["Www-Authenticate"][i] = resourceMetadata.ReplaceAllStringFunc(v, func(param string) string {
			parts := resourceMetadata.FindStringSubmatch(param)
			u, err := url.Parse(parts[2] + parts[3])
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return param // the client will not understand it either
			}
			m.s.challenges.keep(m.t.Name, u)
			return fmt.Sprintf(`%s"http://%s%s/mcp/%s"`, parts[1], m.r.Host, resourceMetadataPath, url.PathEscape(m.t.Name))
		})
	}
}

// resourceMetadata finds out where the metadata of an MCP server are, for the
// door's URL. rest is what follows /mcp/ in the path. It returns nil where the
// request has been answered.
func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request, rest string) *route.Target {
	name, _, _ := strings.Cut(rest, "/")
	base, ok := s.c.MCP[name]
	if !ok || route.Method(r) != http.MethodGet || s.hosted[name] != nil { // what runs here wants no token
		s.refuseHTTP(w, r, http.StatusNotFound, "", fmt.Sprintf("no metadata of an MCP server %q are served here", name))
		return nil
	}
	return &route.Target{Door: route.DoorMCP, Name: name, URL: s.metadataURLs(name, base)[0], Named: true, Metadata: true}
}

// metadataURLs are where the metadata of a server may be: where its challenge
// said, else where a client would look.
func (s *Server) metadataURLs(name string, base *url.URL) []*url.URL {
	if u := s.challenges.of(name); u != nil {
		return []*url.URL{u}
	}
	at := func(p string) *url.URL {
		return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: resourceMetadataPath + p}
	}
	if p := strings.TrimSuffix(base.Path, "/"); p != "" {
		return []*url.URL{at(p), at("")}
	}
	return []*url.URL{at("")}
}

// metadata fetches a server's metadata and answers with them. Each URL where
// they may be is asked about by itself.
func (e *exchange) metadata() {
	base := e.s.c.MCP[e.t.Name]
	asked := *e.r
	asked.Header = http.Header{"Accept": {"application/json"}, "User-Agent": e.r.Header["User-Agent"]} // no credentials: they may be of another host
	e.r = &asked
	for _, u := range e.s.metadataURLs(e.t.Name, base) {
		e.t.URL, e.t.Named = u, route.SameOrigin(u, base)
		if !e.admit() || !e.permitted(e.asHTTP()) {
			return
		}
		resp, err := e.send(e.r.Context())
		if err != nil {
			e.upstreamFailed(err)
			return
		}
		raw, err := io.ReadAll(io.LimitReader(resp.Body, metadataLimit+1))
		_ = resp.Body.Close()
		switch {
		case err != nil, len(raw) > metadataLimit:
			e.reject(http.StatusBadGateway, holdgate.RuleMalformed, "the server's metadata are too long, or broke off")
			return
		case resp.StatusCode == http.StatusOK:
			e.writeMetadata(raw, base)
			return
		}
	}
	// Revision 2025-03-26 has no metadata of resources: the server's own origin
	// says where its tokens come from.
	origin := url.URL{Scheme: base.Scheme, Host: base.Host}
	e.writeMetadata(fmt.Appendf(nil, `{"resource":%q,"authorization_servers":[%q]}`, origin.String(), origin.String()), base)
}

// writeMetadata answers with metadata, for the door's URL where they are for
// the server's.
func (e *exchange) writeMetadata(raw []byte, server *url.URL) {
	if err := wire.Strict(raw); err != nil {
		e.reject(http.StatusBadGateway, holdgate.RuleMalformed, "the server's metadata are refused because two readers could take them differently: "+err.Error())
		return
	}
	resource, err := wire.Text(wire.Find(raw, "resource"))
	if err == nil && isFor(resource, server) {
		own := "http://" + e.r.Host + "/mcp/" + url.PathEscape(e.t.Name)
		raw = wire.RewriteMembers(raw, func(m wire.Member) []byte {
			if string(m.Name) == "resource" {
				return wire.AppendText(nil, own)
			}
			return m.Value
		})
	} else {
		e.s.c.Logger.Warn("an MCP server's metadata are for another resource, so its clients will refuse them", "server", e.t.Name, "resource", resource)
	}
	e.w.Header().Set("Cache-Control", "no-store")
	_ = e.writeJSON(http.StatusOK, raw) // a client that has gone needs no answer
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
