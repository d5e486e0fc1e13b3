// Package drain shuts an [http.Server] down without dropping a connection that it has just
// accepted: net/http closes one whose first request it reads after Shutdown has begun. Its
// client could not tell that from a server which has failed at the request.
package drain

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// settleFor is how long a client that has connected may take to ask for something, if a
// shutdown begins meanwhile. Later it is closed, as those between two requests are. It is
// what net/http gives one.
const settleFor = 5 * time.Second

// A Server is an [http.Server] that answers whom it has accepted.
type Server struct {
	*http.Server

	mu        sync.Mutex
	fresh     map[net.Conn]time.Time // that have asked for nothing yet, and since when
	listeners map[net.Listener]struct{}
	stopping  chan struct{} // made by Shutdown, closed once nothing is fresh; nil before
}

type connKey struct{}

// New returns a Server on s, whose ConnState must not be set, and whose Handler must be.
func New(s *http.Server) *Server {
	d := &Server{Server: s, fresh: map[net.Conn]time.Time{}, listeners: map[net.Listener]struct{}{}}
	s.ConnState = d.follow
	connContext, handler := s.ConnContext, s.Handler
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			d.asked(c)
		}
		handler.ServeHTTP(w, r)
	})
	return d
}

// follow is for [http.Server]'s ConnState.
func (s *Server) follow(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fresh[c] = time.Now()
	case http.StateActive: // net/http looks for a shutdown once more before it calls the handler
	default:
		s.asked(c)
	}
}

// asked takes note that a connection has asked for something, or has ended.
func (s *Server) asked(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fresh, c)
	s.settled()
}

// settled lets a shutdown go on where nothing is fresh and nothing more is accepted. mu
// is held.
func (s *Server) settled() {
	if s.stopping != nil && len(s.fresh)+len(s.listeners) == 0 {
		select {
		case <-s.stopping:
		default:
			close(s.stopping)
		}
	}
}

// Serve is [http.Server.Serve]. It returns [http.ErrServerClosed] after Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	return s.during(ln, func() error { return s.Server.Serve(ln) })
}

// ServeTLS is [http.Server.ServeTLS] by the server's TLSConfig, likewise.
func (s *Server) ServeTLS(ln net.Listener) error {
	return s.during(ln, func() error { return s.Server.ServeTLS(ln, "", "") })
}

func (s *Server) during(ln net.Listener, serve func() error) error {
	s.mu.Lock()
	if s.stopping != nil {
		s.mu.Unlock()
		_ = ln.Close()
		return http.ErrServerClosed
	}
	s.listeners[ln] = struct{}{}
	s.mu.Unlock()
	err := serve()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
	s.settled()
	if s.stopping != nil {
		return http.ErrServerClosed
	}
	return err
}

// Shutdown is [http.Server.Shutdown]. Before that it accepts no more, and lets those who
// were accepted ask.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.stopping == nil {
		s.stopping = make(chan struct{})
	}
	stopping := s.stopping
	for ln := range s.listeners {
		_ = ln.Close() // ends its Serve
	}
	maps.DeleteFunc(s.fresh, func(_ net.Conn, since time.Time) bool { return time.Since(since) > settleFor })
	s.settled()
	s.mu.Unlock()
	s.SetKeepAlivesEnabled(false) // an answer is the last of its connection
	late := time.NewTimer(settleFor)
	defer late.Stop()
	select {
	case <-stopping:
	case <-late.C:
	case <-ctx.Done():
	}
	return s.Server.Shutdown(ctx)
}
