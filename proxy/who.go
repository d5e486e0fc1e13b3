package proxy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// Who makes a request is found out once, where it comes in, by what proves it:
// the listener, which one run's agent alone reaches; or a credential, of which
// there are four places. None of them goes on to an upstream.
//
//   - Proxy-Authorization (RFC 9110 section 11.7.2): Basic, with the agent's name
//     as user and the token as password, or Bearer
//   - the header Holdgate-Token, on the door's own paths and through the proxy
//   - the beginning of a path, /as/TOKEN/up/NAME/..., for clients that can be told
//     of a base URL and nothing else
//   - a token in the place of a provider's key, for clients that can be told of a
//     key and nothing else: tokens of Holdgate's can be told from keys
//
// A credential that is not known refuses the request, and so does a token that
// stands anywhere else. Who shows none is the
// agent of the listener, or [holdgate.AgentDefault], which proves nothing.

// tokenHeader is the header in which agents show their token.
const tokenHeader = "Holdgate-Token"

// asPath is the beginning of paths that hold a token.
const asPath = "/as/"

// A who is an agent, and where it works: what a connection or a credential says.
type who struct {
	agent holdgate.Agent
	dir   string // the folder that it works in; empty: the server's own
}

type whoKey struct{}

func withWho(ctx context.Context, w who) context.Context { return context.WithValue(ctx, whoKey{}, w) }

// whoIn is who was found out to make a request.
func whoIn(ctx context.Context) (who, bool) {
	w, ok := ctx.Value(whoKey{}).(who)
	return w, ok
}

// identified finds out who makes a request, and takes out of it what proves it.
// It returns nil where the request has been refused.
func (s *Server) identified(w http.ResponseWriter, r *http.Request) *http.Request {
	shown, err := s.shown(r)
	if merr := misplaced(r); err == nil {
		err = merr
	}
	if err == nil && len(shown) > 0 {
		var by who
		if by, err = s.find(r, shown); err == nil {
			return r.WithContext(withWho(r.Context(), by))
		}
	}
	if err == nil {
		return r
	}
	status := http.StatusUnauthorized
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		status = http.StatusProxyAuthRequired
		w.Header().Set("Proxy-Authenticate", `Basic realm="holdgate"`)
	} else {
		w.Header().Set("Www-Authenticate", `Bearer realm="holdgate"`)
	}
	s.refuseHTTP(w, r, status, holdgate.RuleIdentity, err.Error())
	return nil
}

// find is whose the credentials are: one agent's, and that of the connection
// where it has one.
func (s *Server) find(r *http.Request, shown []identity.Shown) (who, error) {
	var found who
	for i, c := range shown {
		a, err := s.c.Agents.Find(r.Context(), c)
		if err != nil {
			return who{}, err
		}
		if i > 0 && a.ID != found.agent.ID {
			return who{}, fmt.Errorf("the request has credentials of two agents, %s and %s: send one", found.agent.ID, a.ID)
		}
		found.agent = a
	}
	own := s.c.Agent
	if w, ok := whoIn(r.Context()); ok {
		own, found.dir = w.agent, w.dir
	}
	if own.ID != "" && own.ID != found.agent.ID {
		return who{}, fmt.Errorf("this connection is of the agent %s, and the credential of %s: an agent that `holdgate run` has started needs none", own.ID, found.agent.ID)
	}
	return found, nil
}

// shown takes the credentials out of a request.
func (s *Server) shown(r *http.Request) (all []identity.Shown, err error) {
	peer := peerOf(r.Context())
	add := func(user, token string) {
		all = append(all, identity.Shown{User: user, Token: token, Peer: peer})
	}
	if v, ok := r.Header[tokenHeader]; ok {
		r.Header.Del(tokenHeader)
		if len(v) != 1 {
			return nil, errors.New("the request has several " + tokenHeader + " headers: send one")
		}
		add("", v[0])
	}
	token, err := s.pathToken(r)
	if err != nil {
		return nil, err
	}
	if token != "" {
		add("", token)
	}
	for _, name := range upstream.CredentialHeaders {
		for _, v := range r.Header.Values(name) {
			if token := upstream.WithoutBearer(v); identity.IsToken(token) {
				r.Header.Del(name)
				add("", token)
				break
			}
		}
	}
	user, password, err := s.proxyCredential(r)
	if err != nil {
		return nil, err
	}
	if password != "" {
		add(user, password)
	}
	return all, nil
}

// misplaced says where a token of Holdgate's is left in a request, and takes it
// out: nothing later is to see it, neither the log nor an upstream.
func misplaced(r *http.Request) error {
	place := ""
	for name, values := range r.Header {
		if slices.ContainsFunc(values, holdsToken) {
			delete(r.Header, name)
			place = "header " + name
		}
	}
	query, err := url.QueryUnescape(r.URL.RawQuery)
	if identity.HasToken(r.URL.Path) || identity.HasToken(r.URL.RawQuery) || err == nil && identity.HasToken(query) {
		*r.URL = url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: "/"}
		r.RequestURI = ""
		place = "URL"
	}
	if place == "" {
		return nil
	}
	return errors.New("the request has a token of Holdgate's in its " + place + ", where none is looked for: send it as the header " + tokenHeader)
}

// holdsToken reports whether a token is in a header's value, also as user or
// password.
func holdsToken(v string) bool {
	if scheme, rest, _ := strings.Cut(v, " "); strings.EqualFold(scheme, "Basic") {
		if text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(rest), "=")); err == nil {
			v = string(text)
		}
	}
	return identity.HasToken(v)
}

// proxyCredential takes the credential for proxies out of a request. Where no
// agent is configured it is nobody's: clients send what a URL of theirs holds.
func (s *Server) proxyCredential(r *http.Request) (user, token string, err error) {
	values := r.Header.Values("Proxy-Authorization")
	r.Header.Del("Proxy-Authorization")
	if len(values) == 0 || s.c.Agents.None() {
		return "", "", nil
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	switch {
	case len(values) > 1:
	case strings.EqualFold(scheme, "Bearer"):
		return "", strings.TrimSpace(rest), nil
	case strings.EqualFold(scheme, "Basic"):
		text, berr := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
		name, password, ok := strings.Cut(string(text), ":")
		if berr == nil && ok && password != "" {
			return name, password, nil
		}
	}
	return "", "", errors.New("Proxy-Authorization cannot be read: want Basic with the agent's name and token, such as in HTTPS_PROXY=http://$NAME:$TOKEN@$HOST:$PORT")
}

// pathToken takes the token out of a path of the door's own.
func (s *Server) pathToken(r *http.Request) (string, error) {
	p := r.URL.EscapedPath()
	_, inside := r.Context().Value(tunnelKey{}).(*tunnel)
	if !strings.HasPrefix(p, asPath) || inside || r.URL.IsAbs() && !(s.isThisDoor(r, r.URL.Host) && s.out.IsOwn(r.Context(), route.WithPort(r.URL.Scheme, r.URL.Host))) {
		return "", nil
	}
	token, rest, ok := strings.Cut(strings.TrimPrefix(p, asPath), "/")
	good := token != "" && ok && !strings.ContainsAny(token, "%\\")
	u := *r.URL
	u.Path, u.RawPath = asPath, ""
	if good {
		u.Path, u.RawPath = strings.TrimPrefix(r.URL.Path, asPath+token), "/"+rest
	}
	*r.URL = u // nothing later, no log either, is to see the token
	r.RequestURI = ""
	if !good {
		return "", errors.New("the path holds no token: want " + asPath + "TOKEN/up/NAME/...")
	}
	return token, nil
}

type connectionKey struct{}

// connectionOf is whose a connection is by its listener, whatever its requests
// show; nil: nobody's in particular.
func connectionOf(ctx context.Context) *who {
	w, _ := ctx.Value(connectionKey{}).(*who)
	return w
}

// ofConnection is ctx for the requests of a connection that is an agent's.
func ofConnection(ctx context.Context, w *who) context.Context {
	return withWho(context.WithValue(ctx, connectionKey{}, w), *w)
}

type peerKey struct{}

// peerOf is the process at the other end of a unix socket; the zero value where
// the request came otherwise.
func peerOf(ctx context.Context) identity.Peer {
	p, _ := ctx.Value(peerKey{}).(identity.Peer)
	return p
}

// outerContext keeps what is known of a connection for its requests.
func outerContext(ctx context.Context, c net.Conn) context.Context {
	for k, ok := c.(*kept); ok; k, ok = c.(*kept) {
		if k.who != nil {
			ctx = ofConnection(ctx, k.who)
		}
		c = k.Conn
	}
	if _, ok := c.(*looped); ok {
		ctx = context.WithValue(ctx, loopedKey{}, true)
	}
	if u, ok := c.(*net.UnixConn); ok {
		ctx = context.WithValue(ctx, peerKey{}, identity.PeerOf(u))
	}
	return ctx
}

// A runListener is a listener that one agent alone reaches.
type runListener struct {
	net.Listener
	who who
}

// baseContext keeps whose a listener is for its connections.
func (s *Server) baseContext(ln net.Listener) context.Context {
	if l, ok := ln.(*runListener); ok {
		return ofConnection(context.Background(), &l.who)
	}
	return context.Background()
}

// ServeRun serves the agents' door on ln, which the agent alone reaches, until
// ln is closed or Shutdown. dir is the folder that it works in.
func (s *Server) ServeRun(ln net.Listener, agent holdgate.Agent, dir string) error {
	return s.Serve(&runListener{ln, who{agent, dir}})
}

// dirIn is the folder in which the agent works, where it is known.
func (s *Server) dirIn(ctx context.Context) string {
	if w, ok := whoIn(ctx); ok && w.dir != "" {
		return w.dir
	}
	return s.c.Dir
}

// callerHeader tells Holdgate's own MCP server, which gets headers alone, who
// calls. It is set on every request, over whatever the client sent.
const callerHeader = "Holdgate-Caller"

// markCaller says in a header who makes the request.
func markCaller(r *http.Request) {
	r.Header.Del(callerHeader)
	if w, ok := whoIn(r.Context()); ok {
		if text, err := json.Marshal(w.agent); err == nil {
			r.Header.Set(callerHeader, string(text))
		}
	}
}

// markedCaller is a request with these headers, by whom [markCaller] says.
func markedCaller(h http.Header) *http.Request {
	r := &http.Request{Header: h}
	var a holdgate.Agent
	if text := h.Get(callerHeader); text != "" && json.Unmarshal([]byte(text), &a) == nil {
		r = r.WithContext(withWho(context.Background(), who{agent: a}))
	}
	return r
}

// callerIn is who makes a request that names no session.
func (s *Server) callerIn(ctx context.Context, door string) approvals.Caller {
	c := s.unnamedCaller(door)
	if w, ok := whoIn(ctx); ok {
		c.Agent = w.agent
	}
	return c
}
