package api

import (
	"context"
	"sync"
)

// open are the requests under way of people whose token was checked. The [Server]
// owns it. The zero value is ready.
type open struct {
	mu  sync.Mutex
	all map[*request]context.CancelFunc
	// revoked are those that ended by themselves, since their token is known no
	// longer, and that [Server.Recheck] has not counted yet.
	revoked map[string]int
}

// enter puts a request among those that [Server.Recheck] ends, until done is called.
func (s *Server) enter(r *request) (done func()) {
	ctx, end := context.WithCancel(r.Context())
	r.Request = r.WithContext(ctx)
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	if s.open.all == nil {
		s.open.all = map[*request]context.CancelFunc{}
	}
	s.open.all[r] = end
	if s.stillKnown(r) != nil { // since it was checked
		end()
	}
	return func() {
		end()
		s.open.mu.Lock()
		defer s.open.mu.Unlock()
		delete(s.open.all, r)
	}
}

// Recheck ends every open request whose token is its person's no longer, and returns
// how many those were, by the person's name. It is for who replaces what
// [Config.Credentials] answers.
func (s *Server) Recheck() map[string]int {
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	ended := s.open.revoked
	s.open.revoked = nil
	if ended == nil {
		ended = map[string]int{}
	}
	for r, end := range s.open.all {
		if s.stillKnown(r) != nil {
			end()
			delete(s.open.all, r)
			ended[r.by]++
		}
	}
	return ended
}

// revoked reports whether the token of an open request is its person's no longer.
func (s *Server) revoked(r *request) bool {
	if s.stillKnown(r) == nil {
		return false
	}
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	if _, open := s.open.all[r]; open {
		delete(s.open.all, r)
		if s.open.revoked == nil {
			s.open.revoked = map[string]int{}
		}
		s.open.revoked[r.by]++
	}
	return true
}
