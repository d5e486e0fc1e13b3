package caller

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// ErrRevoked is why the time of a request ended whose credential was taken back
// while it was open.
var ErrRevoked = errors.New("the credential with which this request came was taken back: ask whoever runs Holdgate for another")

// open are the requests under way of agents that are known by a credential. The
// [Finder] owns it. The zero value is ready.
type open struct {
	mu  sync.Mutex
	all map[*opened]struct{}
}

type opened struct {
	who Who
	end context.CancelCauseFunc
}

// Track puts a request that was identified among those that [Finder.Recheck] ends,
// until done is called. Its context ends then, and nothing that is still written to
// w gets out. A request of an agent that no credential proves stays as it is, with
// a nil Writer.
func (f *Finder) Track(w http.ResponseWriter, r *http.Request) (*Writer, *http.Request, func()) {
	who, ok := In(r.Context())
	if !ok || len(who.shown) == 0 {
		return nil, r, func() {}
	}
	ctx, done := f.Keep(r.Context())
	return &Writer{ResponseWriter: w, ctx: ctx}, r.WithContext(ctx), done
}

// Keep is Open for what goes on without its request: ctx is of the same agent, and
// ends when the credential is taken back. done ends it too.
func (f *Finder) Keep(ctx context.Context) (kept context.Context, done func()) {
	who, ok := In(ctx)
	kept, end := context.WithCancelCause(ctx)
	if !ok || len(who.shown) == 0 {
		return kept, func() { end(nil) }
	}
	o := &opened{who, end}
	f.open.mu.Lock()
	defer f.open.mu.Unlock()
	if f.open.all == nil {
		f.open.all = map[*opened]struct{}{}
	}
	f.open.all[o] = struct{}{}
	if !f.still(who) { // since it was found
		end(ErrRevoked)
	}
	return kept, func() {
		end(nil)
		f.open.mu.Lock()
		defer f.open.mu.Unlock()
		delete(f.open.all, o)
	}
}

// Carry is to for what the agent of from does, where a credential proves it.
func Carry(to, from context.Context) context.Context {
	if who, ok := In(from); ok && len(who.shown) > 0 {
		return With(to, who)
	}
	return to
}

// Recheck ends every open request whose credential proves its agent no longer, and
// returns how many those were, by the agent's name. Call it when others are known.
func (f *Finder) Recheck() map[string]int {
	f.open.mu.Lock()
	defer f.open.mu.Unlock()
	ended := map[string]int{}
	for o := range f.open.all {
		if !f.still(o.who) {
			o.end(ErrRevoked)
			delete(f.open.all, o)
			ended[o.who.Agent.ID]++
		}
	}
	return ended
}

// still reports whether what a request showed proves the same agent as before.
func (f *Finder) still(who Who) bool {
	book := f.book()
	if book == who.book {
		return true
	}
	for i, c := range who.shown {
		if !book.Still(who.Agent.ID, c, who.accounts[i]) {
			return false
		}
	}
	return true
}

// Revoked reports whether the time of a request ended with its credential.
func Revoked(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrRevoked) }

// A Writer is the answer to a request that [Finder.Open] put among the open ones.
type Writer struct {
	http.ResponseWriter
	ctx   context.Context
	began bool
}

// Began reports whether something of the answer may have got out.
func (w *Writer) Began() bool { return w.began }

// Unwrap is for [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *Writer) WriteHeader(status int) {
	if !Revoked(w.ctx) {
		w.began = w.began || status >= http.StatusOK
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements [http.ResponseWriter].
func (w *Writer) Write(b []byte) (int, error) {
	if Revoked(w.ctx) {
		return 0, ErrRevoked
	}
	w.began = true
	return w.ResponseWriter.Write(b)
}

// FlushError is for [http.ResponseController]. A flush sends the head.
func (w *Writer) FlushError() error {
	if Revoked(w.ctx) {
		return ErrRevoked
	}
	w.began = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (w *Writer) Flush() { _ = w.FlushError() }

// Hijack implements [http.Hijacker].
func (w *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if Revoked(w.ctx) {
		return nil, nil, ErrRevoked
	}
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.began = w.began || err == nil
	return c, rw, err
}
