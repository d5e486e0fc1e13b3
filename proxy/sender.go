package proxy

import (
	"net/http"
	"sync"
	"time"
)

// writeTimeout is how long a client may leave what it is sent unread.
const writeTimeout = 2 * time.Minute

// A sender writes a stream to the client and gives a sign of life where
// nothing else has been written for a while. Rendering and signs of life
// exclude each other, since both depend on what was written last.
type sender struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	idle  func() []byte
	every time.Duration

	mu     sync.Mutex
	last   time.Time
	timer  *time.Timer
	err    error
	failFn func()
	closed bool
}

func newSender(w http.ResponseWriter, idle func() []byte, every time.Duration) *sender {
	return &sender{w: w, rc: http.NewResponseController(w), idle: idle, every: every}
}

// start sends the headers at once: many clients count their patience to them.
func (o *sender) start(status int, header http.Header) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.w.Header()
	for k, v := range header {
		h[k] = v
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	o.w.WriteHeader(status)
	o.err = o.rc.Flush()
	o.last = time.Now()
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
	_ = o.rc.SetWriteDeadline(now.Add(writeTimeout)) // not every writer has one
	if _, o.err = o.w.Write(b); o.err == nil {
		o.err = o.rc.Flush()
	}
	o.last = now
	if o.err != nil && o.failFn != nil {
		o.failFn()
	}
}

func (o *sender) beat() {
	o.mu.Lock()
	defer o.mu.Unlock()
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

// close ends the signs of life. Nothing is written afterwards.
func (o *sender) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
}
