package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/stdio"
)

// The doors, as policy and the log name them.
const (
	doorBaseURL     = "base_url"
	doorForward     = "forward"
	doorTransparent = "transparent"
	doorMCP         = "mcp"
	doorStdio       = "stdio"
)

// A target is where a request is to go, whichever door it came through.
type target struct {
	recognised

	door       string
	name       string      // the upstream's or MCP server's configured name; empty for the forward proxy
	url        *url.URL    // absolute: what is sent upstream
	named      bool        // the configuration names it
	mcp        bool        // an MCP server, whose name is name
	sse        *sseSession // the session whose endpoint this is
	metadata   bool        // what is asked for says where the server\'s tokens come from
	caller     approvals.Caller
	credential string // the name of what is put in on the way out; empty: nothing

	transport http.RoundTripper // where no socket leads to it; else nil
	stdio     *stdioSession     // of a server on standard streams
	process   string            // of a server on standard streams: whose streams these are, a secret
	client    string            // what an MCP client calls itself, where it is known
	pages     bool              // it can show its user pages
}

// serveOuter is the agents' door: paths of its own, absolute-form requests,
// and CONNECT.
func (s *Server) serveOuter(w http.ResponseWriter, r *http.Request) {
	if r = s.identified(w, r); r == nil {
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		s.serveConnect(w, r)
	case r.URL.IsAbs():
		if t := s.forward(w, r, doorForward, r.URL.Scheme, r.URL.Host); t != nil {
			s.exchange(w, r, t)
		}
	default:
		if t := s.ownPath(w, r); t != nil {
			s.exchange(w, r, t)
		}
	}
}

func (s *Server) serveConnect(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 {
		s.refuseHTTP(w, r, http.StatusHTTPVersionNotSupported, holdgate.RuleMalformed, "CONNECT is served over HTTP/1.1")
		return
	}
	host := r.URL.Host
	if _, port, err := net.SplitHostPort(host); err != nil || port == "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "CONNECT needs host:port, got "+host)
		return
	}
	if why := oddHost(host); why != "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, why)
		return
	}
	if s.lookupOwn(r.Context(), host) {
		if s.isThisDoor(r, host) {
			s.serveLooped(w, r)
			return
		}
		s.refuseHTTP(w, r, http.StatusForbidden, holdgate.RuleAddress, host+" is refused: Holdgate itself listens there")
		return
	}
	if s.untouched(host) {
		s.passTunnel(w, r)
		return
	}
	s.connect.ServeHTTP(&readingOn{w}, r)
}

// serveInner serves what is inside a CONNECT tunnel or a redirected connection.
// The request must be for the host that it leads to.
func (s *Server) serveInner(w http.ResponseWriter, r *http.Request) {
	if r = s.identified(w, r); r == nil {
		return
	}
	t, ok := r.Context().Value(tunnelKey{}).(*tunnel)
	host := ""
	if ok {
		host = t.hostFor(r)
	}
	if !ok || r.Method == http.MethodConnect || (r.URL.IsAbs() && withPort(t.scheme, r.URL.Host) != withPort(t.scheme, host)) {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "a tunnel carries requests for its own host only")
		return
	}
	if withPort(t.scheme, r.Host) != withPort(t.scheme, host) {
		s.refuseHTTP(w, r, http.StatusMisdirectedRequest, holdgate.RuleAddress,
			fmt.Sprintf("the tunnel leads to %s and the request is for %s", host, r.Host))
		return
	}
	if to := s.forward(w, r, t.door, t.scheme, host); to != nil {
		s.exchange(w, r, to)
	}
}

// forward finds out where a request of the forward proxy, or of a redirected
// connection, is to go. It returns nil where the request has been answered.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, door, scheme, host string) *target {
	if scheme != "http" && scheme != "https" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "the proxy speaks http and https, not "+scheme)
		return nil
	}
	if host == "" || r.URL.Opaque != "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "the request names no host: a proxy is asked for http://HOST/PATH")
		return nil
	}
	if why := oddHost(host); why != "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, why)
		return nil
	}
	if s.lookupOwn(r.Context(), withPort(scheme, host)) {
		if door == doorForward && scheme == "http" && s.isThisDoor(r, host) {
			r.URL.Scheme, r.URL.Host = "", ""
			return s.ownPath(w, r)
		}
		s.refuseHTTP(w, r, http.StatusForbidden, holdgate.RuleAddress, host+" is refused: Holdgate itself listens there")
		return nil
	}
	u := *r.URL
	u.Scheme, u.Host, u.User, u.Fragment = scheme, trimDefaultPort(scheme, host), nil, ""
	t := target{door: door, url: &u}
	t.recognised = s.recognise(r, t)
	t.name, t.mcp = s.mcpServer(&u)
	if session := s.sessions.at(&u); session != nil {
		t.name, t.mcp, t.sse = session.stream.t.name, true, session
	}
	return &t
}

// isThisDoor reports whether host, which reaches a listener of ours, is the one
// that the request came in by: its port is.
func (s *Server) isThisDoor(r *http.Request, host string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	_, port, err := net.SplitHostPort(local.String())
	if err != nil {
		return false
	}
	_, asked, err := net.SplitHostPort(withPort("http", host))
	return err == nil && asked == port
}

// ownPath serves the door's own paths, and finds out where those of an upstream
// or MCP server lead; it returns nil where the request has been answered. A web
// page in the user's browser must not be able to spend what the sidecar holds.
func (s *Server) ownPath(w http.ResponseWriter, r *http.Request) *target {
	if why := s.foreign(r); why != "" {
		s.refuseHTTP(w, r, http.StatusForbidden, holdgate.RuleAddress, why)
		return nil
	}
	p := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(p, "/up/"); ok {
		return s.configured(w, r, doorBaseURL, s.c.Upstreams, rest)
	}
	if rest, ok := strings.CutPrefix(p, "/mcp/"); ok {
		return s.configured(w, r, doorMCP, s.c.MCP, rest)
	}
	if rest, ok := strings.CutPrefix(p, resourceMetadataPath+"/mcp/"); ok {
		return s.resourceMetadata(w, r, rest)
	}
	if secret, ok := strings.CutPrefix(p, endpointPath); ok {
		return s.endpoint(w, r, secret)
	}
	if p == "/mcp" {
		s.serveSelf(w, r)
		return nil
	}
	if strings.HasPrefix(p, "/v1/") {
		s.api.ServeHTTP(w, r)
		return nil
	}
	if name, ok := strings.CutPrefix(p, stdio.Path); ok {
		s.serveStdio(w, r, name)
		return nil
	}
	if p == "/healthz" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	s.refuseHTTP(w, r, http.StatusNotFound, "", "nothing is served at "+holdgate.Visible(r.URL.Path)+": use /up/NAME/... for an upstream, /mcp/NAME for an MCP server, /mcp or /v1/... for what agents ask of Holdgate, or this address as HTTP proxy")
	return nil
}

// configured joins the rest of the path to a configured URL. The join is of
// paths only: nothing in it may reach another host or climb out. It returns nil
// where the request has been answered.
func (s *Server) configured(w http.ResponseWriter, r *http.Request, door string, named map[string]*url.URL, rest string) *target {
	name, sub, slash := strings.Cut(rest, "/")
	base, ok := named[name]
	if !ok {
		s.refuseHTTP(w, r, http.StatusNotFound, "", fmt.Sprintf("no %s is configured under the name %q", map[string]string{doorBaseURL: "upstream", doorMCP: "MCP server"}[door], name))
		return nil
	}
	if slash {
		sub = "/" + sub
	}
	u, err := join(base, sub, r.URL.RawQuery)
	if err != nil {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, err.Error())
		return nil
	}
	t := target{door: door, name: name, url: u, named: true, mcp: door == doorMCP}
	if t.mcp {
		t.transport = s.roadTo(name)
	} else {
		t.recognised = s.recognise(r, t)
	}
	return &t
}

// join appends an escaped path to a base URL.
func join(base *url.URL, sub, query string) (*url.URL, error) {
	low := strings.ToLower(sub)
	for _, bad := range []string{"//", "\\", "%2f", "%5c", "/../", "/./", "%2e"} {
		if strings.Contains(low, bad) {
			return nil, fmt.Errorf("the path contains %q, which is refused because two servers could read it differently", bad)
		}
	}
	if strings.HasSuffix(low, "/..") || strings.HasSuffix(low, "/.") {
		return nil, fmt.Errorf("the path ends in a dot segment, which is refused")
	}
	u := *base
	p, err := url.PathUnescape(sub)
	if err != nil {
		return nil, fmt.Errorf("reading the path: %w", err)
	}
	u.Path = strings.TrimSuffix(base.Path, "/") + p
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + sub
	if u.Path == "" {
		u.Path, u.RawPath = "/", "/"
	}
	u.RawQuery = query
	return &u, nil
}

// foreign says why a request to the door's own paths is no agent's, or "".
func (s *Server) foreign(r *http.Request) string {
	host := hostOnly(r.Host)
	if a, err := netip.ParseAddr(host); err == nil {
		if !a.Unmap().IsLoopback() && !isThisHost(a.Unmap()) {
			return "the Host header names another host: " + r.Host
		}
	} else if lowerHost(host) != "localhost" {
		return "the Host header names another host: " + r.Host
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "requests from web pages are refused (Sec-Fetch-Site: " + site + ")"
	}
	if o := r.Header.Get("Origin"); o != "" {
		u, err := url.Parse(o)
		if err != nil || withPort(u.Scheme, u.Host) != withPort("http", r.Host) {
			return "requests from web pages are refused (Origin: " + o + ")"
		}
	}
	return ""
}

// mcpServer finds the configured MCP server that a URL leads to, whichever door
// it came by: the one whose path is the longest beginning of the URL's.
func (s *Server) mcpServer(u *url.URL) (name string, ok bool) {
	at, longest := laxPath(u.Path)+"/", -1
	for n, c := range s.c.MCP {
		if withPort(c.Scheme, c.Host) != withPort(u.Scheme, u.Host) {
			continue
		}
		base := strings.TrimSuffix(laxPath(c.Path), "/") + "/"
		if strings.HasPrefix(at, base) && (len(base) > longest || len(base) == longest && n < name) {
			name, longest = n, len(base)
		}
	}
	return name, longest >= 0
}

// laxPath is a decoded path as the most lenient server would read it, in lower
// case: without parameters (;x), blanks and a .json at the end of a segment,
// with backslashes as slashes, cleaned. Two paths that some server takes for
// one have one such form.
func laxPath(p string) string {
	segments := strings.Split(strings.ToLower(strings.ReplaceAll(p, "\\", "/")), "/")
	for i, s := range segments {
		s, _, _ = strings.Cut(s, ";")
		s = strings.TrimFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || c == 0xa0 })
		segments[i] = strings.TrimSuffix(s, ".json")
	}
	return path.Clean("/" + strings.Join(segments, "/"))
}

func hostOnly(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return trimBrackets(hostport)
}

func trimBrackets(h string) string {
	return strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
}

// lowerHost folds a host name for comparison: case, and the root's dot.
func lowerHost(h string) string { return strings.TrimSuffix(strings.ToLower(h), ".") }

// trimDefaultPort is host without the scheme's own port, however that is
// written; other ports are written in one way.
func trimDefaultPort(scheme, host string) string {
	h, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	_, p, err := net.SplitHostPort(withPort(scheme, host))
	if err != nil || (scheme == "http" && p != "80") || (scheme == "https" && p != "443") {
		return net.JoinHostPort(h, p)
	}
	if strings.Contains(h, ":") {
		return "[" + h + "]"
	}
	return h
}
