package mcphost

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/holdgate/holdgate/proxy/mcp"
)

// maxQueued is how many bytes may wait for a client that reads too slowly.
const maxQueued = 64 << 20

// A stream takes messages to one answer over HTTP, in order. The fields above
// mu are the session's, under its lock.
type stream struct {
	events bool     // the client takes events
	open   int      // requests that wait for an answer on it
	tokens []string // of their progress

	mu    sync.Mutex
	msgs  [][]byte
	size  int
	ended error         // nil while more may come
	more  chan struct{} // has room for one
}

func newStream(events bool) *stream {
	return &stream{events: events, more: make(chan struct{}, 1)}
}

var errSlow = errors.New("its client reads too slowly")

// put adds a message; last says that none comes behind it.
func (st *stream) put(line []byte, last bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended != nil {
		return
	}
	if st.size+len(line) > maxQueued && st.size > 0 {
		st.ended = errSlow
	} else {
		st.msgs = append(st.msgs, line)
		st.size += len(line)
	}
	if last && st.ended == nil {
		st.ended = io.EOF
	}
	st.wake()
}

func (st *stream) wake() {
	select {
	case st.more <- struct{}{}:
	default:
	}
}

// fail ends the stream behind what was put into it.
func (st *stream) fail(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended == nil {
		st.ended = err
	}
	st.wake()
}

// next waits for the next message. last says that none comes behind it.
func (st *stream) next(ctx context.Context) (line []byte, last bool, err error) {
	for {
		st.mu.Lock()
		if len(st.msgs) > 0 {
			line = st.msgs[0]
			st.msgs = st.msgs[1:]
			st.size -= len(line)
			last = len(st.msgs) == 0 && errors.Is(st.ended, io.EOF)
			st.mu.Unlock()
			return line, last, nil
		}
		err = st.ended
		st.mu.Unlock()
		if err != nil {
			return nil, true, err
		}
		select {
		case <-st.more:
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
}

// events are a stream's messages as the body of an answer.
type events struct {
	ctx   context.Context
	st    *stream
	buf   []byte
	close func() // once
}

// Read implements [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	if len(e.buf) == 0 {
		line, _, err := e.st.next(e.ctx)
		if err != nil {
			return 0, err
		}
		e.buf = mcp.Event(line)
	}
	n := copy(p, e.buf)
	e.buf = e.buf[n:]
	return n, nil
}

// Close implements [io.Closer].
func (e *events) Close() error {
	e.close()
	return nil
}
