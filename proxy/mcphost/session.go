package mcphost

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Bounds of what is kept for a client that has no stream open.
const (
	maxBacklog      = 256     // messages
	maxBacklogBytes = 4 << 20 // of them together
)

// A session is a process and the streams of its client.
type session struct {
	s  *Server
	id string // empty where clients do not name it
	p  *process

	// Guarded by the server's lock.
	used     time.Time
	replaced bool

	mu       sync.Mutex
	waiting  map[string]*stream // where answers go, by the ids of the client's requests
	order    []*stream          // those that take other messages too, the oldest first
	listener *stream            // what the server sends by itself
	older    bool               // of the transport of 2024-11-05: the listener gets everything
	backlog  [][]byte           // what no stream was there for
	kept     int                // bytes of it
	gone     bool
}

var errGone = errors.New("its process has ended")

func (ss *session) alive() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return !ss.gone && !ss.p.ending()
}

// isIdle reports whether nothing is under way.
func (ss *session) isIdle() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.waiting) == 0 && ss.listener == nil
}

// close tells the process to end.
func (ss *session) close() { ss.p.stop() }

// over is for when the process has ended.
func (ss *session) over() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.gone = true
	for _, st := range ss.waiting {
		st.fail(errGone)
	}
	if ss.listener != nil {
		ss.listener.fail(errGone)
	}
}

// send writes a message of the client's. st gets the answers to its requests.
func (ss *session) send(st *stream, msgs []mcp.Message, body []byte) error {
	if err := ss.expect(st, msgs); err != nil {
		return err
	}
	if err := ss.p.write(stdio.Line(body)); err != nil {
		ss.leave(st)
		return fmt.Errorf("writing to it: %w", err)
	}
	return nil
}

// An idError says that a request has the id of another one.
type idError struct{ id string }

func (e *idError) Error() string {
	return "the id " + e.id + " is that of another request which waits for its answer"
}

// expect enters a stream under the ids of its requests.
func (ss *session) expect(st *stream, msgs []mcp.Message) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.gone {
		return errGone
	}
	for _, m := range msgs {
		if !m.IsRequest() {
			continue
		}
		id := mcp.IDKey(m.ID)
		if ss.waiting[id] != nil {
			ss.drop(st)
			return &idError{string(m.ID)}
		}
		ss.waiting[id] = st
		st.open++
		if token := m.ProgressToken(); token != nil && st != ss.listener {
			st.tokens = append(st.tokens, mcp.IDKey(token))
		}
	}
	if st.open > 0 && st.events && st != ss.listener {
		ss.order = append(ss.order, st)
	}
	return nil
}

// leave is for a stream whose client is not there any more.
func (ss *session) leave(st *stream) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.drop(st)
}

func (ss *session) drop(st *stream) {
	for id, other := range ss.waiting {
		if other == st {
			delete(ss.waiting, id)
		}
	}
	for i, other := range ss.order {
		if other == st {
			ss.order = append(ss.order[:i:i], ss.order[i+1:]...)
			break
		}
	}
	if ss.listener == st {
		ss.listener = nil
	}
}

// attach makes st the stream on which the server sends by itself. It reports
// false where there is one.
func (ss *session) attach(st *stream) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.listener != nil || ss.gone {
		return false
	}
	ss.listener = st
	for _, line := range ss.backlog {
		st.put(line, false)
	}
	ss.backlog, ss.kept = nil, 0
	return true
}

// receive takes a line of the process's.
func (ss *session) receive(line []byte) {
	if mcp.IsNoise(line) {
		return
	}
	ids, token, asks := contents(line)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if len(ids) == 0 && asks {
		ss.deliver(ss.streamFor(token), line)
		return
	}
	var st *stream
	for _, id := range ids {
		if at := ss.waiting[id]; at != nil && (st == nil || st == at) {
			st = at
			st.open--
			delete(ss.waiting, id)
		}
	}
	if st == nil {
		ss.s.o.Logger.Warn("an answer of an MCP server to nothing that it was asked was dropped", "server", ss.s.o.Name)
		return
	}
	last := st.open == 0 && st != ss.listener
	st.put(line, last)
	if last {
		ss.drop(st)
	}
}

// contents says what a line of a server's is about: the ids that it answers,
// or the token of progress that it tells. asks says that there is something in
// it besides answers. What cannot be read goes where its id leads: who reads the
// answers refuses it.
func contents(line []byte) (ids []string, token string, asks bool) {
	msgs, _, err := mcp.ParseServer(line)
	if err != nil {
		if id := wire.Find(line, "id"); id != nil {
			return []string{mcp.IDKey(id)}, "", false
		}
		return nil, "", true
	}
	for _, m := range msgs {
		if m.IsResponse() {
			ids = append(ids, mcp.IDKey(m.ID))
			continue
		}
		asks = true
		if params := wire.Find(m.Raw, "params"); params != nil {
			if t := wire.Find(params, "progressToken"); t != nil {
				token = mcp.IDKey(t)
			}
		}
	}
	return ids, token, asks
}

// streamFor is where goes what is no answer: the stream whose request it tells
// the progress of, else that of what the server sends by itself, else that of a
// request which is under way. It is nil where there is none.
func (ss *session) streamFor(token string) *stream {
	for _, st := range ss.order {
		for _, t := range st.tokens {
			if token != "" && t == token {
				return st
			}
		}
	}
	if ss.listener == nil && len(ss.order) > 0 {
		return ss.order[0]
	}
	return ss.listener
}

// deliver puts a line into a stream, or keeps it until there is one.
func (ss *session) deliver(st *stream, line []byte) {
	if st != nil {
		st.put(line, false)
		return
	}
	if len(ss.backlog) == maxBacklog || ss.kept+len(line) > maxBacklogBytes {
		ss.s.o.Logger.Warn("a message of an MCP server was dropped: its client takes none", "server", ss.s.o.Name)
		return
	}
	ss.backlog = append(ss.backlog, line)
	ss.kept += len(line)
}
