// Package keepalive passes streams on: a [Sender] writes one to its client, with
// signs of life while nothing else comes, and a [Burst] reads ahead of it.
package keepalive

import (
	"context"
	"errors"
	"fmt"
	"github.com/holdgate/holdgate/proxy/wire"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// WriteTimeout is how long a client may leave what it is sent unread.
const WriteTimeout = 2 * time.Minute

// A Sender writes a stream to the client and gives a sign of life where
// nothing else has been written for a while. Rendering and signs of life
// exclude each other, since both depend on what was written last.
type Sender struct {
	ctx    context.Context
	w      http.ResponseWriter
	rc     *http.ResponseController
	logger *slog.Logger
	idle   func() []byte
	every  time.Duration

	mu     sync.Mutex
	last   time.Time
	armed  time.Time // when the deadline was set last
	timer  *time.Timer
	err    error
	failFn func()
	closed bool
}

// New returns a sender of an answer. idle makes a sign of life, for a client that
// got nothing for as long as every. ctx is the request's, for what is logged of it.
func New(ctx context.Context, w http.ResponseWriter, logger *slog.Logger, idle func() []byte, every time.Duration) *Sender {
	return &Sender{ctx: ctx, w: w, rc: http.NewResponseController(w), logger: logger, idle: idle, every: every}
}

// Start sends the headers at once: many clients count their patience to them.
func (o *Sender) Start(status int, header http.Header) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.arm(o.last)
	wire.WriteHeader(o.w, status, header)
	o.err = o.rc.Flush()
	o.timer = time.AfterFunc(o.every, o.beat)
}

// Render writes what fn returns, and flushes it.
func (o *Sender) Render(fn func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(fn())
}

func (o *Sender) write(b []byte) {
	if o.err != nil || len(b) == 0 || o.closed {
		return
	}
	now := time.Now()
	o.arm(now)
	if _, o.err = o.w.Write(b); o.err == nil {
		o.err = o.rc.Flush()
	}
	o.last = now
	if o.err != nil {
		o.fail(o.err)
	}
}

// arm sets the deadline of a write, to the second.
func (o *Sender) arm(now time.Time) {
	if now.Sub(o.armed) < time.Second {
		return
	}
	_ = o.rc.SetWriteDeadline(now.Add(WriteTimeout)) // not every writer has one
	o.armed = now
}

func (o *Sender) fail(err error) {
	o.err = err
	if o.failFn != nil {
		o.failFn()
	}
}

// Exclusively runs fn while no sign of life is made.
func (o *Sender) Exclusively(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fn()
}

// TakeOver has what follows written to another writer, which take returns; nil
// where the writer that it has now leads elsewhere itself. No sign of life is made
// meanwhile. It reports false where take does, or where a write has failed.
func (o *Sender) TakeOver(take func() (http.ResponseWriter, bool)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false
	}
	w, ok := take()
	if !ok {
		return false
	}
	if w != nil {
		o.w, o.rc = w, http.NewResponseController(w)
	}
	o.armed = time.Time{}
	return true
}

// beat runs in the timer's goroutine, where a panic would end the process.
func (o *Sender) beat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			o.logger.ErrorContext(o.ctx, "a sign of life failed inside Holdgate", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			o.fail(errors.New("a sign of life could not be made"))
		}
	}()
	if o.closed || o.err != nil {
		return
	}
	if quiet := time.Since(o.last); quiet < o.every {
		o.timer.Reset(o.every - quiet)
		return
	}
	o.write(o.idle())
	o.timer.Reset(o.every)
}

// Failed returns the first error of a write: the client has gone.
func (o *Sender) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// OnFail has fn called once a write fails.
func (o *Sender) OnFail(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failFn = fn
	if o.err != nil {
		fn()
	}
}

// Close ends the signs of life. Nothing is written afterwards, and the
// connection is left without a deadline: the next answer on it sets its own.
func (o *Sender) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
		_ = o.rc.SetWriteDeadline(time.Time{})
	}
}
