// Package mcphost runs an MCP server that speaks on its standard streams, and
// offers it as a server of Streamable HTTP that no socket leads to: a
// [Server] is an [http.RoundTripper].
//
// A connection on standard streams has one client: it begins with `initialize`,
// and the client's ids mean something on it alone. So each session is a process
// of its own, which ends with the session: when the client says so (DELETE), when
// nothing was heard of it for [idleFor], or when the process ends. A client whose
// session has ended gets 404, on which it begins a new one. Revision 2026-07-28
// has no sessions and its servers keep nothing of a client: there a process serves
// one request at a time, and the next one whoever it is from. The transport of
// revision 2024-11-05 (a stream that names an endpoint) is offered too.
//
// Messages pass as they came; only line breaks between tokens become blanks. What
// a process sends is checked by whoever reads the answers.
package mcphost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/proxy/mcp"
)

// Options say what to run. All fields but Dir must be set.
type Options struct {
	Name    string   // of the server, for the log
	Command []string // a program, by its path or as PATH of Env finds it, and its arguments
	Env     []string // all that the process gets, as NAME=VALUE
	Dir     string   // where it runs; empty: where this process does

	Processes int // at most, at a time
	Message   int // the greatest length of a message, in bytes
	Logger    *slog.Logger
}

const (
	// idleFor is how long a session lasts of which nothing is heard.
	idleFor = 30 * time.Minute
	// firstPause and longestPause bound how long nothing is started after a
	// process that ended before it had said anything. It doubles each time.
	firstPause, longestPause = time.Second, time.Minute
)

// A Server is safe for concurrent use.
type Server struct {
	o    Options
	ctx  context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // of processes, and of the reaper

	mu       sync.Mutex
	sessions map[string]*session // those that clients name
	spare    []*session          // without a name, that serve nobody at the moment
	running  int                 // processes
	failures int                 // in a row
	notUntil time.Time           // nothing is started before
}

// New returns a Server that has started nothing yet. Close it.
func New(o Options) *Server {
	s := &Server{o: o, sessions: map[string]*session{}}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.work.Go(s.reap)
	return s
}

// Close ends every process and waits for it.
func (s *Server) Close() {
	s.mu.Lock()
	s.end() // nothing is started behind it
	s.mu.Unlock()
	s.work.Wait()
}

// RoundTrip implements [http.RoundTripper].
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if p := r.URL.Path; p != "" && p != "/" {
		return answer(r, http.StatusNotFound, nil), nil
	}
	switch r.Method {
	case http.MethodPost:
		return s.post(r)
	case http.MethodGet:
		return s.listen(r)
	case http.MethodDelete:
		ss := s.named(r)
		if ss == nil {
			return noSession(r), nil
		}
		ss.close()
		return answer(r, http.StatusOK, nil), nil
	}
	return answer(r, http.StatusMethodNotAllowed, nil), nil
}

// sessionHeader names a session of Streamable HTTP, and endpointParam one of
// the older transport.
const (
	sessionHeader = "Mcp-Session-Id"
	endpointParam = "sessionId"
)

// named returns the session that a request names, or nil.
func (s *Server) named(r *http.Request) *session {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		id = r.URL.Query().Get(endpointParam)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss != nil {
		ss.used = time.Now()
	}
	return ss
}

// A busyError says that no process can be started now.
type busyError struct{ text string }

func (e *busyError) Error() string { return e.text }

// startSession starts a process for a session that clients name.
func (s *Server) startSession() (*session, error) {
	ss, err := s.start()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss.id = rand.Text()
	s.sessions[ss.id] = ss
	return ss, nil
}

// lease returns a process that serves nobody else until it is given back.
func (s *Server) lease() (*session, error) {
	s.mu.Lock()
	for len(s.spare) > 0 {
		ss := s.spare[len(s.spare)-1]
		s.spare = s.spare[:len(s.spare)-1]
		if ss.alive() {
			s.mu.Unlock()
			return ss, nil
		}
	}
	s.mu.Unlock()
	return s.start()
}

// giveBack keeps a process for the next request, unless it has ended or
// something is left on it.
func (s *Server) giveBack(ss *session) {
	s.mu.Lock()
	keep := ss.alive() && ss.isIdle() && s.ctx.Err() == nil
	if keep {
		ss.used = time.Now()
		s.spare = append(s.spare, ss)
	}
	s.mu.Unlock()
	if !keep {
		ss.close()
	}
}

// start starts a process.
func (s *Server) start() (*session, error) {
	if err := s.admit(); err != nil {
		return nil, err
	}
	ss := &session{s: s, waiting: map[string]*stream{}, used: time.Now()}
	p, err := startProcess(s.o, ss.receive)
	if err != nil {
		s.ended(false, false)
		s.work.Done()
		return nil, err
	}
	ss.p = p
	go func() { // Close waits for it
		defer s.work.Done()
		p.run(s.ctx)
		s.ended(p.spoke(), s.forget(ss))
		ss.over()
	}()
	return ss, nil
}

// admit counts a process that is about to be started. One that serves nobody
// makes room for it.
func (s *Server) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := time.Until(s.notUntil)
	switch {
	case s.ctx.Err() != nil:
		return &busyError{"Holdgate is ending"}
	case wait > 0:
		return &busyError{fmt.Sprintf("it has ended %d times before it said anything (its standard error is in Holdgate's log); it is started again in %v", s.failures, max(wait.Round(time.Second), time.Second))}
	case s.running < s.o.Processes:
		s.running++
	case len(s.spare) > 0: // one ends, and one begins
		s.spare[0].replaced = true
		s.spare[0].close()
		s.spare = s.spare[1:]
	default:
		return &busyError{fmt.Sprintf("%d processes of it run, which is as many as may (mcp.%s.processes): end a session, or ask again later", s.running, s.o.Name)}
	}
	s.work.Add(1)
	return nil
}

// ended takes note of the end of a process, which had said something or not. One
// that made room for another is not counted any more.
func (s *Server) ended(spoke, replaced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !replaced {
		s.running--
	}
	if spoke || s.ctx.Err() != nil {
		s.failures, s.notUntil = 0, time.Time{}
		return
	}
	pause := min(firstPause<<min(s.failures, 10), longestPause)
	s.failures++
	s.notUntil = time.Now().Add(pause)
}

// forget takes out a session whose process has ended. It reports whether the
// process has made room for another.
func (s *Server) forget(ss *session) (replaced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ss.id)
	s.spare = slices.DeleteFunc(s.spare, func(other *session) bool { return other == ss })
	return ss.replaced
}

// reap ends what nothing was heard of, until Close.
func (s *Server) reap() {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			s.endIdle(now.Add(-idleFor))
		}
	}
}

// endIdle ends the sessions that were used before, and have nothing under way.
func (s *Server) endIdle(before time.Time) {
	s.mu.Lock()
	var old []*session
	for _, ss := range s.sessions {
		if ss.used.Before(before) && ss.isIdle() {
			old = append(old, ss)
		}
	}
	for _, ss := range s.spare {
		if ss.used.Before(before) {
			old = append(old, ss)
		}
	}
	s.mu.Unlock()
	for _, ss := range old {
		ss.close()
	}
}

// refusal is the answer where no process could be started.
func refusal(r *http.Request, id []byte, err error) (*http.Response, error) {
	if busy, ok := errors.AsType[*busyError](err); ok {
		return answer(r, http.StatusServiceUnavailable, mcp.Error(id, mcp.CodeRefused, busy.text)), nil
	}
	return nil, err
}
