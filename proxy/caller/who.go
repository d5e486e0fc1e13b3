// Package caller finds out who makes a request: once, where it comes in, by what
// proves it. That is the listener, which one run's agent alone reaches, or a
// credential, of which there are four places. None of them goes on to an upstream.
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
// stands anywhere else. A request that shows none is made by the agent of the
// listener, or by [holdgate.AgentDefault], which proves nothing.
package caller

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// TokenHeader is the header in which agents show their token.
const TokenHeader = "Holdgate-Token"

// asPath is the beginning of paths that hold a token.
const asPath = "/as/"

// A Who is an agent, and where it works: what a connection or a credential says.
type Who struct {
	Agent holdgate.Agent
	Dir   string // the folder that it works in; empty: the server's own
	// shown are the credentials that prove it, where any do, and book is who was
	// known by one then.
	shown []identity.Shown
	book  *identity.Book
	// accounts are the service accounts whose tokens the credentials are; empty
	// where one is no such token.
	accounts []string
}

// A Finder finds out who makes a request, and knows the requests that are open. Its
// fields are not changed once it is in use.
type Finder struct {
	// Agents says who is known by a credential, and is asked for each request; nil:
	// nobody.
	Agents func() *identity.Book
	// Agent is who makes every request, where its ID is set; else a request that
	// shows nothing is made by [holdgate.AgentDefault].
	Agent holdgate.Agent
	Dir   string // the folder that agents work in whose own is not known

	open open
}

// Shown reports whether the agent has shown a credential, which was found to be its own.
func (w Who) Shown() bool { return len(w.shown) > 0 }

type whoKey struct{}

// With is ctx for what this agent does.
func With(ctx context.Context, w Who) context.Context { return context.WithValue(ctx, whoKey{}, w) }

// In is who was found out to make a request.
func In(ctx context.Context) (Who, bool) {
	w, ok := ctx.Value(whoKey{}).(Who)
	return w, ok
}

// Identify finds out who makes a request, and takes out of it what proves it. ownPath
// reports whether its path is one of the door's own.
func (f *Finder) Identify(r *http.Request, ownPath func() bool) (*http.Request, error) {
	shown, err := f.shown(r, ownPath)
	if merr := misplaced(r); err == nil {
		err = merr
	}
	if by, ok := In(r.Context()); ok && len(shown) == 0 && by.book != f.book() {
		shown = by.shown // of a tunnel: it may be known no longer
	}
	if err != nil || len(shown) == 0 {
		return r, err
	}
	by, err := f.find(r, shown)
	if err != nil {
		return r, err
	}
	return r.WithContext(With(r.Context(), by)), nil
}

// Known are the agents that are known by a credential, as they are proven.
func (f *Finder) Known() []holdgate.Agent { return f.book().Agents() }

// book is who is known by a credential.
func (f *Finder) book() *identity.Book {
	if f.Agents == nil {
		return nil
	}
	return f.Agents()
}

// find is whose the credentials are: one agent's, and that of the connection
// where it has one.
func (f *Finder) find(r *http.Request, shown []identity.Shown) (Who, error) {
	found := Who{shown: shown, book: f.book()}
	for i, c := range shown {
		a, account, err := found.book.Find(r.Context(), c)
		if err != nil {
			return Who{}, err
		}
		found.accounts = append(found.accounts, account)
		if i > 0 && a.ID != found.Agent.ID {
			return Who{}, fmt.Errorf("the request has credentials of two agents, %s and %s: send one", found.Agent.ID, a.ID)
		}
		found.Agent = a
	}
	own := f.Agent
	if w, ok := In(r.Context()); ok {
		own, found.Dir = w.Agent, w.Dir
	}
	if own.ID != "" && own.ID != found.Agent.ID {
		return Who{}, fmt.Errorf("this connection is of the agent %s, and the credential of %s: an agent that `holdgate run` has started needs none", own.ID, found.Agent.ID)
	}
	return found, nil
}

// shown takes the credentials out of a request.
func (f *Finder) shown(r *http.Request, ownPath func() bool) (all []identity.Shown, err error) {
	peer := peerOf(r.Context())
	add := func(user, token string) {
		all = append(all, identity.Shown{User: user, Token: token, Peer: peer})
	}
	if v, ok := r.Header[TokenHeader]; ok {
		r.Header.Del(TokenHeader)
		if len(v) != 1 {
			return nil, errors.New("the request has several " + TokenHeader + " headers: send one")
		}
		add("", v[0])
	}
	token, err := pathToken(r, ownPath)
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
	user, password, err := f.proxyCredential(r)
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
	return errors.New("the request has a token of Holdgate's in its " + place + ", where none is looked for: send it as the header " + TokenHeader)
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
func (f *Finder) proxyCredential(r *http.Request) (user, token string, err error) {
	values := r.Header.Values("Proxy-Authorization")
	r.Header.Del("Proxy-Authorization")
	if len(values) == 0 || f.book().None() {
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
func pathToken(r *http.Request, ownPath func() bool) (string, error) {
	p := r.URL.EscapedPath()
	if !strings.HasPrefix(p, asPath) || !ownPath() {
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
		return "", errors.New("the path holds no token: want " + asPath + "TOKEN/up/NAME/ and the path there")
	}
	return token, nil
}

type connectionKey struct{}

// OfConnection is whose a connection is by its listener, whatever its requests
// show; nil: nobody's in particular.
func OfConnection(ctx context.Context) *Who {
	w, _ := ctx.Value(connectionKey{}).(*Who)
	return w
}

// WithConnection is ctx for the requests of a connection that is an agent's.
func WithConnection(ctx context.Context, w *Who) context.Context {
	return With(context.WithValue(ctx, connectionKey{}, w), *w)
}

type peerKey struct{}

// WithPeer is ctx for the requests of a unix socket with this process at its other end.
func WithPeer(ctx context.Context, p identity.Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// peerOf is the process at the other end of a unix socket; the zero value where
// the request came otherwise.
func peerOf(ctx context.Context) identity.Peer {
	p, _ := ctx.Value(peerKey{}).(identity.Peer)
	return p
}

// DirIn is the folder in which the agent works, where it is known.
func (f *Finder) DirIn(ctx context.Context) string {
	if w, ok := In(ctx); ok && w.Dir != "" {
		return w.Dir
	}
	return f.Dir
}

// callerHeader tells Holdgate's own MCP server, which gets headers alone, who
// calls. It is set on every request, over whatever the client sent.
const callerHeader = "Holdgate-Caller"

// Mark says in a header who makes the request.
func Mark(r *http.Request) {
	r.Header.Del(callerHeader)
	if w, ok := In(r.Context()); ok {
		if text, err := json.Marshal(w.Agent); err == nil {
			r.Header.Set(callerHeader, string(text))
		}
	}
}

// Marked is a request with these headers, by whom [Mark] says.
func Marked(h http.Header) *http.Request {
	r := &http.Request{Header: h}
	var a holdgate.Agent
	if text := h.Get(callerHeader); text != "" && json.Unmarshal([]byte(text), &a) == nil {
		r = r.WithContext(With(context.Background(), Who{Agent: a}))
	}
	return r
}
