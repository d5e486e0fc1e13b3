package mcpproxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// An sseSession is a connection of the transport of revision 2024-11-05: the
// client holds a stream open, which names the endpoint that takes its messages,
// and the answers to them come on the stream. A held message is accepted at
// once, and waits in the stream's care.
type sseSession struct {
	stream   *exchange // the GET
	endpoint *url.URL  // the server's own
	ctx      context.Context
	end      context.CancelFunc
	held     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	waiting map[*exchange]struct{} // guarded by the sender's lock, for it gives their signs of life
	notes   mcp.Notes
}

// EndpointPath begins the paths of the agents' door that stand for servers'
// endpoints. What follows is a secret, so that only the endpoints that a server
// has named can be reached.
const EndpointPath = "/mcp-endpoint/"

// sseSessions are the sessions that are open, by their secret and by their
// endpoint.
type sseSessions struct {
	mu         sync.Mutex
	bySecret   map[string]*sseSession
	byEndpoint map[string]*sseSession
}

func (all *sseSessions) add(secret string, s *sseSession) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.bySecret == nil {
		all.bySecret, all.byEndpoint = map[string]*sseSession{}, map[string]*sseSession{}
	}
	all.bySecret[secret], all.byEndpoint[s.endpoint.String()] = s, s
}

func (all *sseSessions) remove(secret string, s *sseSession) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.bySecret, secret)
	if at := s.endpoint.String(); all.byEndpoint[at] == s {
		delete(all.byEndpoint, at)
	}
}

func (all *sseSessions) secret(secret string) *sseSession {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.bySecret[secret]
}

func (all *sseSessions) at(u *url.URL) *sseSession {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byEndpoint[u.String()]
}

// AtEndpoint fills in whose endpoint the URL of a target is, if it is a session's.
func (p *Proxy) AtEndpoint(t *route.Target) {
	if session := p.sessions.at(t.URL); session != nil {
		t.Name, t.MCP, t.Endpoint = session.stream.Target.Name, true, session.stream.secret
	}
}

// Endpoint finds out where a session's endpoint on the agents' door leads.
func (p *Proxy) Endpoint(secret string) (*route.Target, *route.Refusal) {
	session := p.sessions.secret(secret)
	if session == nil {
		return nil, notFound(sessionEnded)
	}
	t := session.stream.Target
	t.URL, t.Endpoint = session.endpoint, secret
	return &t, nil
}

func notFound(format string, args ...any) *route.Refusal {
	return &route.Refusal{Status: http.StatusNotFound, Err: fmt.Errorf(format, args...)}
}

const sessionEnded = "this session has ended: connect again"

// findSession finds the session whose endpoint the request is for, if it is for one.
// It reports false where that has ended.
func (m *exchange) findSession() bool {
	if m.Target.Endpoint == "" {
		return true
	}
	m.posted = m.p.sessions.secret(m.Target.Endpoint)
	return m.posted != nil
}

// openSession takes up the session whose endpoint the server has named, and returns
// the endpoint that the client is to use.
func (m *relay) openSession(data []byte) ([]byte, error) {
	u, err := m.Target.URL.Parse(strings.TrimSpace(string(data)))
	switch {
	case m.session != nil:
		return nil, errors.New("the server names a second endpoint in one stream")
	case err != nil:
		return nil, fmt.Errorf("reading the endpoint that the server names: %w", err)
	case u.Scheme != m.Target.URL.Scheme || route.WithPort(u.Scheme, u.Host) != route.WithPort(m.Target.URL.Scheme, m.Target.URL.Host):
		return nil, fmt.Errorf("the server names an endpoint of another host: %s", u)
	}
	u.User, u.Fragment, u.Host = nil, "", m.Target.URL.Host
	s := &sseSession{stream: m.exchange, endpoint: u, waiting: map[*exchange]struct{}{}, notes: mcp.Notes{}}
	s.ctx, s.end = context.WithCancel(m.R.Context())
	secret := rand.Text()
	m.out.Exclusively(func() { m.session, m.secret = s, secret }) // its signs of life ask for the session
	m.out.OnFail(s.end)
	m.p.sessions.add(secret, s)
	if m.Target.Door != route.DoorMCP {
		return data, nil
	}
	return []byte(EndpointPath + secret), nil
}

// closeSession ends the stream's session, if it has one: the messages that it
// holds are given up by this client. What people are asked stays pending.
func (m *exchange) closeSession() {
	s := m.session
	if s == nil {
		return
	}
	m.p.sessions.remove(m.secret, s)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.held.Wait()
}

// serve runs an exchange whose message came to the session's endpoint. It
// returns once the client has its answer: the server's, or that the message was
// accepted and what comes of it comes on the stream.
func (s *sseSession) serve(m *exchange) {
	w := &onceWriter{ResponseWriter: m.W}
	m.W, m.R, m.detached = w, m.R.WithContext(s.ctx), make(chan struct{})
	done := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		m.x.Leave()
		m.Refuse(http.StatusNotFound, sessionEnded)
		return
	}
	s.held.Go(func() {
		defer close(done)
		defer m.x.Leave()
		defer m.recovered()
		_ = m.run() // its POST has been answered, or is about to be
	})
	s.mu.Unlock()
	select {
	case <-done:
	case <-m.detached:
	}
	if !w.wrote {
		w.WriteHeader(http.StatusAccepted)
	}
}

// recovered keeps a panic to this message.
func (m *exchange) recovered() {
	if v := recover(); v != nil {
		m.p.c.Logger.ErrorContext(m.R.Context(), "a message failed inside Holdgate and was given up", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	}
}

// detach leaves the POST that brought a message: from now on the client is
// answered on the session's stream.
func (m *exchange) detach() {
	if m.out != nil {
		return
	}
	s := m.posted
	m.out = s.stream.out
	m.out.Exclusively(func() { s.waiting[m] = struct{}{} })
	close(m.detached)
}

// leaveSession is the end of a message on the session's stream.
func (m *exchange) leaveSession() {
	m.out.Exclusively(func() { delete(m.posted.waiting, m) })
}

// signsOfLife are those for the messages that wait on the session's stream. A
// stream without a session has none.
func (s *sseSession) signsOfLife() []byte {
	if s == nil {
		return nil
	}
	var b []byte
	for m := range s.waiting {
		if !m.sent {
			b = append(b, m.progress()...)
		}
	}
	return b
}

// note keeps what approvers said until the results come by on the stream.
func (s *sseSession) note(notes mcp.Notes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, text := range notes {
		s.notes[id] = text
	}
}

func (s *sseSession) annotate(data []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notes.Annotate(data)
}

// A onceWriter knows whether an answer was begun.
type onceWriter struct {
	http.ResponseWriter
	wrote bool
}

// Unwrap is for [http.ResponseController].
func (w *onceWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *onceWriter) WriteHeader(status int) {
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}
