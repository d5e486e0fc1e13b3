package proxy

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// writeTimeout is how long a client may leave what it is sent unread.
const writeTimeout = 2 * time.Minute

// A sender writes a stream to the client and gives a sign of life where
// nothing else has been written for a while. Rendering and signs of life
// exclude each other, since both depend on what was written last.
type sender struct {
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

func newSender(w http.ResponseWriter, logger *slog.Logger, idle func() []byte, every time.Duration) *sender {
	return &sender{w: w, rc: http.NewResponseController(w), logger: logger, idle: idle, every: every}
}

// start sends the headers at once: many clients count their patience to them.
func (o *sender) start(status int, header http.Header) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.arm(o.last)
	writeHeader(o.w, status, header)
	o.err = o.rc.Flush()
	o.timer = time.AfterFunc(o.every, o.beat)
}

// render writes what fn returns, and flushes it.
func (o *sender) render(fn func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(fn())
}

func (o *sender) write(b []byte) {
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
func (o *sender) arm(now time.Time) {
	if now.Sub(o.armed) < time.Second {
		return
	}
	_ = o.rc.SetWriteDeadline(now.Add(writeTimeout)) // not every writer has one
	o.armed = now
}

func (o *sender) fail(err error) {
	o.err = err
	if o.failFn != nil {
		o.failFn()
	}
}

// exclusively runs fn while no sign of life is made.
func (o *sender) exclusively(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fn()
}

// beat runs in the timer's goroutine, where a panic would end the process.
func (o *sender) beat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			o.logger.Error("a sign of life failed inside Holdgate", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
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

// failed returns the first error of a write: the client has gone.
func (o *sender) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// onFail has fn called once a write fails.
func (o *sender) onFail(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failFn = fn
	if o.err != nil {
		fn()
	}
}

// close ends the signs of life. Nothing is written afterwards, and the
// connection is left without a deadline: the next answer on it sets its own.
func (o *sender) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
		_ = o.rc.SetWriteDeadline(time.Time{})
	}
}
