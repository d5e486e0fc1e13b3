package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/acp"
	"github.com/holdgate/holdgate/proxy/authzen"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// serveOuter is the agents' door: paths of its own, absolute-form requests,
// and CONNECT.
func (s *Server) serveOuter(w http.ResponseWriter, r *http.Request) {
	w, r, done := s.identified(w, r)
	defer done()
	switch {
	case r == nil:
	case r.Method == http.MethodConnect:
		ctx, end := trace.Follow(r.Context(), s.c.Tracer, r.Method, r.Header, nil) // the answer is the connection's beginning
		defer end()
		s.serveConnect(w, r.WithContext(ctx))
	case r.URL.IsAbs():
		if t := s.forward(w, r, route.DoorForward, r.URL.Scheme, r.URL.Host); t != nil {
			s.answer(w, r, t)
		}
	default:
		if t := s.ownPath(w, r); t != nil {
			s.answer(w, r, t)
		}
	}
}

// identified finds out who makes a request, and takes out of it what proves it.
// It returns no request where that has been refused. done is called when the request
// has been served: one whose credential was taken back meanwhile has no answer that
// looks whole.
func (s *Server) identified(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request, func()) {
	r, err := s.steps.Callers.Identify(r, func() bool { return s.isOwnPath(r) })
	if err != nil {
		s.unknown(w, r, err)
		return w, nil, func() {}
	}
	out, r, done := s.steps.Callers.Track(w, r)
	if out == nil {
		return w, r, done
	}
	return out, r, func() {
		revoked := caller.Revoked(r.Context())
		done()
		switch {
		case !revoked:
		case out.Began():
			panic(http.ErrAbortHandler)
		default:
			s.unknown(w, r, caller.ErrRevoked)
		}
	}
}

// unknown refuses a request whose credential is not known.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusUnauthorized
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		status = http.StatusProxyAuthRequired
		w.Header().Set("Proxy-Authenticate", `Basic realm="holdgate"`)
	} else {
		w.Header().Set("Www-Authenticate", `Bearer realm="holdgate"`)
	}
	s.refuseHTTP(w, r, status, holdgate.RuleIdentity, err.Error())
}

// Recheck ends the requests whose credential is known no longer, and returns how many
// those were, by the agent's name. It is for who replaces what [Config.Agents] answers.
func (s *Server) Recheck() map[string]int { return s.steps.Callers.Recheck() }

// isOwnPath reports whether the path of a request is one of the door's own.
func (s *Server) isOwnPath(r *http.Request) bool {
	if intercept.TunnelOf(r.Context()) != nil {
		return false
	}
	return !r.URL.IsAbs() || s.isThisDoor(r, r.URL.Host) && s.steps.Out.IsOwn(r.Context(), route.WithPort(r.URL.Scheme, r.URL.Host))
}

// answer serves a request that came by a socket.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, t *route.Target) {
	if err := s.serve(w, r, t); err != nil {
		panic(http.ErrAbortHandler) // by which net/http is told to cut a connection
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
	if why := route.OddHost(host); why != "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, why)
		return
	}
	if s.steps.Out.IsOwn(r.Context(), host) {
		if s.isThisDoor(r, host) && intercept.IsLooped(r.Context()) { // each would be read through the one before
			s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "a CONNECT to this door, inside another one: send the request itself")
			return
		}
		if s.isThisDoor(r, host) {
			s.connections.ServeLooped(w, r)
			return
		}
		s.refuseHTTP(w, r, http.StatusForbidden, holdgate.RuleAddress, host+" is refused: Holdgate itself listens there")
		return
	}
	s.connections.ServeConnect(w, r)
}

// serveInner serves what is inside a CONNECT tunnel or a redirected connection.
// The request must be for the host that it leads to.
func (s *Server) serveInner(w http.ResponseWriter, r *http.Request) {
	w, r, done := s.identified(w, r)
	defer done()
	if r == nil {
		return
	}
	t := intercept.TunnelOf(r.Context())
	host := ""
	if t != nil {
		host = t.HostFor(r)
	}
	if t == nil || r.Method == http.MethodConnect || (r.URL.IsAbs() && route.WithPort(t.Scheme, r.URL.Host) != route.WithPort(t.Scheme, host)) {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "a tunnel carries requests for its own host only")
		return
	}
	if route.WithPort(t.Scheme, r.Host) != route.WithPort(t.Scheme, host) {
		s.refuseHTTP(w, r, http.StatusMisdirectedRequest, holdgate.RuleAddress,
			fmt.Sprintf("the tunnel leads to %s and the request is for %s", host, r.Host))
		return
	}
	if to := s.forward(w, r, t.Door, t.Scheme, host); to != nil {
		s.answer(w, r, to)
	}
}

// forward finds out where a request of the forward proxy, or of a redirected
// connection, is to go. It returns nil where the request has been answered.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, door, scheme, host string) *route.Target {
	if scheme != "http" && scheme != "https" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "the proxy speaks http and https, not "+scheme)
		return nil
	}
	if host == "" || r.URL.Opaque != "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "the request names no host: a proxy is asked for http://HOST/PATH")
		return nil
	}
	if why := route.OddHost(host); why != "" {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, why)
		return nil
	}
	if s.steps.Out.IsOwn(r.Context(), route.WithPort(scheme, host)) {
		if door == route.DoorForward && scheme == "http" && s.isThisDoor(r, host) {
			r.URL.Scheme, r.URL.Host = "", ""
			return s.ownPath(w, r)
		}
		s.refuseHTTP(w, r, http.StatusForbidden, holdgate.RuleAddress, host+" is refused: Holdgate itself listens there")
		return nil
	}
	u := *r.URL
	u.Scheme, u.Host, u.User, u.Fragment = scheme, route.TrimDefaultPort(scheme, host), nil, ""
	t := route.Target{Door: door, URL: &u}
	t.Recognised = s.table.Recognise(r, t)
	t.Name, t.MCP = s.table.MCPServer(&u)
	s.mcp.AtEndpoint(&t)
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
	_, asked, err := net.SplitHostPort(route.WithPort("http", host))
	return err == nil && asked == port
}

// ownPath serves the door's own paths, and finds out where those of an upstream
// or MCP server lead; it returns nil where the request has been answered. A web
// page in the user's browser must not be able to spend what the sidecar holds.
func (s *Server) ownPath(w http.ResponseWriter, r *http.Request) *route.Target {
	if why := s.foreign(r); why != "" {
		s.refuseHTTP(w, r, http.StatusForbidden, holdgate.RuleAddress, why)
		return nil
	}
	p := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(p, "/up/"); ok {
		return s.configured(w, r, route.DoorBaseURL, s.c.Upstreams, rest)
	}
	if rest, ok := strings.CutPrefix(p, "/mcp/"); ok {
		return s.configured(w, r, route.DoorMCP, s.c.MCP, rest)
	}
	if rest, ok := strings.CutPrefix(p, mcpproxy.ResourceMetadataPath+"/mcp/"); ok {
		t, refused := s.mcp.ResourceMetadata(r, rest)
		return s.orRefused(w, r, t, refused)
	}
	if secret, ok := strings.CutPrefix(p, mcpproxy.EndpointPath); ok {
		t, refused := s.mcp.Endpoint(secret)
		return s.orRefused(w, r, t, refused)
	}
	return s.ownService(w, r, p)
}

// ownService serves what Holdgate itself answers at a path, and refuses what nothing is
// served at. It returns nil: there is no target.
func (s *Server) ownService(w http.ResponseWriter, r *http.Request, p string) *route.Target {
	ctx, end := trace.Follow(r.Context(), s.c.Tracer, r.Method, r.Header, w.Header())
	defer end()
	r = r.WithContext(ctx)
	if p == "/mcp" {
		s.serveSelf(w, r)
		return nil
	}
	if strings.HasPrefix(p, "/v1/") {
		s.api.ServeHTTP(w, r)
		return nil
	}
	if authzen.Serves(p) {
		s.running.Add(1)
		defer s.running.Done()
		s.authzen.ServeHTTP(w, r)
		return nil
	}
	if name, ok := strings.CutPrefix(p, stdio.Path); ok {
		return s.orRefused(w, r, nil, s.mcp.ServeStdio(w, r, name))
	}
	if p == acp.PathCalls || p == acp.PathWithdraw {
		return s.orRefused(w, r, nil, s.acp.Serve(w, r))
	}
	if p == "/healthz" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	s.refuseHTTP(w, r, http.StatusNotFound, "", "nothing is served at "+holdgate.Visible(r.URL.Path)+": use /up/NAME/... for an upstream, /mcp/NAME for an MCP server, /mcp or /v1/... for what agents ask of Holdgate, /access/v1/... for AuthZEN, or this address as HTTP proxy")
	return nil
}

// orRefused is the target, or nil where the request is refused: it has been answered
// then.
func (s *Server) orRefused(w http.ResponseWriter, r *http.Request, t *route.Target, refused *route.Refusal) *route.Target {
	if refused == nil {
		return t
	}
	s.refuseHTTP(w, r, refused.Status, refused.Rule, refused.Error())
	return nil
}

// configured joins the rest of the path to a configured URL. The join is of
// paths only: nothing in it may reach another host or climb out. It returns nil
// where the request has been answered.
func (s *Server) configured(w http.ResponseWriter, r *http.Request, door string, named map[string]*url.URL, rest string) *route.Target {
	name, sub, slash := strings.Cut(rest, "/")
	base, ok := named[name]
	if !ok {
		s.refuseHTTP(w, r, http.StatusNotFound, "", fmt.Sprintf("no %s is configured under the name %q", map[string]string{route.DoorBaseURL: "upstream", route.DoorMCP: "MCP server"}[door], name))
		return nil
	}
	if slash {
		sub = "/" + sub
	}
	u, err := route.Join(base, sub, r.URL.RawQuery)
	if err != nil {
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, err.Error())
		return nil
	}
	t := route.Target{Door: door, Name: name, URL: u, Named: true, MCP: door == route.DoorMCP}
	if t.MCP {
		t.Transport = s.mcp.Transport(name)
	} else {
		t.Recognised = s.table.Recognise(r, t)
	}
	return &t
}

// foreign says why a request to the door's own paths is no agent's, or "". A name that
// leads here may be one that a web page has made for it, but no page knows a token:
// with one, any name will do, such as that of a cluster's Service.
func (s *Server) foreign(r *http.Request) string {
	host := route.HostOnly(r.Host)
	if by, _ := caller.In(r.Context()); by.Shown() {
		host = "localhost"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if !a.Unmap().IsLoopback() && !upstream.IsThisHost(a.Unmap()) {
			return "the Host header names another host: " + r.Host
		}
	} else if route.LowerHost(host) != "localhost" {
		return "the Host header names another host: " + r.Host
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "requests from web pages are refused (Sec-Fetch-Site: " + site + ")"
	}
	if o := r.Header.Get("Origin"); o != "" {
		u, err := url.Parse(o)
		if err != nil || route.WithPort(u.Scheme, u.Host) != route.WithPort("http", r.Host) {
			return "requests from web pages are refused (Origin: " + o + ")"
		}
	}
	return ""
}

// refuse writes to the log why something never reached policy, and answers in
// the format spoken.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, t route.Target, status int, rule, message string) {
	s.steps.Refused(t, r.Method+" "+t.URL.Host+t.URL.Path, rule, message)
	s.steps.WriteError(w, t, status, message)
}

// refuseHTTP is refuse for a request that names no target.
func (s *Server) refuseHTTP(w http.ResponseWriter, r *http.Request, status int, rule, message string) {
	t := route.Target{Door: route.DoorForward, URL: r.URL}
	if tun := intercept.TunnelOf(r.Context()); tun != nil {
		t.Door = tun.Door
	}
	t.Caller = s.steps.Callers.Of(r, t.Door)
	if rule != "" {
		s.steps.Refused(t, r.Method+" "+r.Host+r.URL.Path, rule, message)
	}
	s.steps.WriteError(w, t, status, message)
}
