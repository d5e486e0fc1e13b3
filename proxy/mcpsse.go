package proxy

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
	stream   *mcpExchange // the GET
	endpoint *url.URL     // the server's own
	ctx      context.Context
	end      context.CancelFunc
	held     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	waiting map[*mcpExchange]struct{} // guarded by the sender's lock, for it gives their signs of life
	notes   mcp.Notes
}

// endpointPath begins the paths of the agents' door that stand for servers'
// endpoints. What follows is a secret, so that only the endpoints that a server
// has named can be reached.
const endpointPath = "/mcp-endpoint/"

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

// endpoint finds out where a session's endpoint on the agents' door leads. It
// returns nil where the request has been answered.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request, secret string) *route.Target {
	session := s.sessions.secret(secret)
	if session == nil {
		s.refuseHTTP(w, r, http.StatusNotFound, "", sessionEnded)
		return nil
	}
	t := session.stream.t
	t.URL, t.Endpoint = session.endpoint, secret
	return &t
}

const sessionEnded = "this session has ended: connect again"

// findSession finds the session whose endpoint the request is for, if it is for one.
// It reports false where that has ended.
func (m *mcpExchange) findSession() bool {
	if m.t.Endpoint == "" {
		return true
	}
	m.posted = m.s.sessions.secret(m.t.Endpoint)
	return m.posted != nil
}

// open takes up the session whose endpoint the server has named, and returns
// the endpoint that the client is to use.
func (m *mcpExchange) open(data []byte) ([]byte, error) {
	u, err := m.t.URL.Parse(strings.TrimSpace(string(data)))
	switch {
	case m.session != nil:
		return nil, errors.New("the server names a second endpoint in one stream")
	case err != nil:
		return nil, fmt.Errorf("reading the endpoint that the server names: %w", err)
	case u.Scheme != m.t.URL.Scheme || route.WithPort(u.Scheme, u.Host) != route.WithPort(m.t.URL.Scheme, m.t.URL.Host):
		return nil, fmt.Errorf("the server names an endpoint of another host: %s", u)
	}
	u.User, u.Fragment, u.Host = nil, "", m.t.URL.Host
	s := &sseSession{stream: m, endpoint: u, waiting: map[*mcpExchange]struct{}{}, notes: mcp.Notes{}}
	s.ctx, s.end = context.WithCancel(m.r.Context())
	secret := rand.Text()
	m.out.Exclusively(func() { m.session, m.secret = s, secret }) // its signs of life ask for the session
	m.out.OnFail(s.end)
	m.s.sessions.add(secret, s)
	if m.t.Door != route.DoorMCP {
		return data, nil
	}
	return []byte(endpointPath + secret), nil
}

// closeSession ends the stream's session, if it has one: the messages that it
// holds are given up by this client. What people are asked stays pending.
func (m *mcpExchange) closeSession() {
	s := m.session
	if s == nil {
		return
	}
	m.s.sessions.remove(m.secret, s)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.held.Wait()
}

// take runs an exchange whose message came to the session's endpoint. It
// returns once the client has its answer: the server's, or that the message was
// accepted and what comes of it comes on the stream.
func (s *sseSession) take(m *mcpExchange) {
	w := &onceWriter{ResponseWriter: m.w}
	m.w, m.r, m.detached = w, m.r.WithContext(s.ctx), make(chan struct{})
	done := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		m.x.Leave()
		m.s.writeError(w, m.t, http.StatusNotFound, sessionEnded)
		return
	}
	s.held.Go(func() {
		defer close(done)
		defer m.x.Leave()
		defer m.recovered()
		m.run()
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
func (m *mcpExchange) recovered() {
	if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http's own sentinel, compared as it does
		m.s.c.Logger.Error("a message failed inside Holdgate and was given up", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// detach leaves the POST that brought a message: from now on the client is
// answered on the session's stream.
func (m *mcpExchange) detach() {
	if m.out != nil {
		return
	}
	s := m.posted
	m.out = s.stream.out
	m.out.Exclusively(func() { s.waiting[m] = struct{}{} })
	close(m.detached)
}

// leaveSession is the end of a message on the session's stream.
func (m *mcpExchange) leaveSession() {
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
