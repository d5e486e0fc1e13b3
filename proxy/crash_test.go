package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A spy looks at what is written to a client before it goes.
type spy struct {
	http.ResponseWriter
	before func([]byte) error
}

func (s *spy) Write(b []byte) (int, error) {
	if err := s.before(b); err != nil {
		return 0, err
	}
	return s.ResponseWriter.Write(b)
}

func (s *spy) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Hijack has a connection that is taken from its server spied upon too.
func (s *spy) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(s.ResponseWriter).Hijack()
	return &spiedConn{c, s.before}, rw, err
}

type spiedConn struct {
	net.Conn
	before func([]byte) error
}

func (c *spiedConn) Write(b []byte) (int, error) {
	if err := c.before(b); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// spying calls before with all that is written to clients.
func spying(before func([]byte) error) parts {
	return parts{handler: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&spy{w, before}, r) })
	}}
}

// A failing store refuses to set keys of some prefix while it is told to.
type failing struct {
	store.Store
	prefix string
	on     atomic.Bool
}

var errDisk = errors.New("the disk is full")

func (f *failing) Update(ctx context.Context, fn func(store.Tx) error) error {
	return f.Store.Update(ctx, func(tx store.Tx) error { return fn(&failingTx{tx, f}) })
}

func (f *failing) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return f.Store.UpdateSoon(ctx, func(tx store.Tx) error { return fn(&failingTx{tx, f}) })
}

type failingTx struct {
	store.Tx
	f *failing
}

func (t *failingTx) Set(key string, value []byte) error {
	if t.f.on.Load() && strings.HasPrefix(key, t.f.prefix) {
		return errDisk
	}
	return t.Tx.Set(key, value)
}

// A form is a way in which a held call reaches the client.
type form struct{ name, path, ask, contentType, answer string }

func forms() []form {
	return []form{
		{"stream", messages, askStream, "text/event-stream", msgStart() + msgText("0", "before") + msgTool("1", "toolu_1", "gated") + msgEnd("tool_use")},
		{"plain", messages, askPlain, "application/json", gatedPlain},
	}
}

func (f form) upstream(seen *counter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		w.Header().Set("Content-Type", f.contentType)
		_, _ = io.WriteString(w, f.answer)
	})
}

// begin asks, and returns where the body will be.
func (g *sidecar) begin(f form) <-chan string {
	got := make(chan string, 1)
	go func() {
		resp, err := g.client.Post(g.url+f.path, "application/json", strings.NewReader(f.ask))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	return got
}

// eventually waits until the log has so many entries of a type.
func (g *sidecar) eventually(typ audit.Type, n int) []audit.Entry {
	g.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if list := g.entries(typ); len(list) >= n {
			return list
		}
		select {
		case <-tick.C:
		case <-deadline:
			g.t.Fatalf("the log has %d entries of type %s, want %d", len(g.entries(typ)), typ, n)
		}
	}
}

// Promise 1 and 3: the use is on disk before the first byte of its call goes.
func TestPromise1AUseIsRecordedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var g *sidecar
			var early, late atomic.Int64
			var seen counter
			up := newUpstream(t, f.upstream(&seen))
			ready := make(chan struct{})
			g = newGateWith(t, spying(func(b []byte) error {
				<-ready
				if strings.Contains(string(b), "toolu_1") {
					if len(g.entries(audit.TypeUsed)) == 1 && len(g.entries(audit.TypeOutcome)) == 1 {
						late.Add(1)
					} else {
						early.Add(1)
					}
				}
				return nil
			}), map[string]string{"test": up}, nil)
			close(ready)
			got := g.begin(f)
			g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
			if body := <-got; !strings.Contains(body, "toolu_1") {
				t.Fatalf("got:\n%s", body)
			}
			if early.Load() != 0 || late.Load() == 0 {
				t.Errorf("of the call's bytes %d writes came before its use was recorded, and %d after", early.Load(), late.Load())
			}
		})
	}
	t.Run("a tool call of MCP", func(t *testing.T) {
		var g *sidecar
		var used atomic.Int64
		ready := make(chan struct{})
		g, _ = newMCPGate(t, func(w http.ResponseWriter, r *http.Request) {
			<-ready
			used.Store(int64(len(g.entries(audit.TypeUsed))))
			answerJSON(200, toolResult)(w, r)
		})
		close(ready)
		resp := g.call(t.Context(), toolCall("1", "gated"), nil)
		g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
		_ = readAll(t, resp.Body)
		if used.Load() != 1 {
			t.Error("the call reached the server before its use was recorded")
		}
	})
}

func TestNothingGoesOnWhereAUseCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var seen counter
			up := newUpstream(t, f.upstream(&seen))
			disk := &failing{prefix: "used/"}
			g := newGateWith(t, parts{store: func(s store.Store) store.Store { disk.Store = s; return disk }}, map[string]string{"test": up}, nil)
			got := g.begin(f)
			req := g.pending(1)[0]
			disk.on.Store(true)
			g.decide(req, holdgate.AnswerApprove, "")
			if body := <-got; strings.Contains(body, "toolu_1") || !strings.Contains(body, `"type":"error"`) {
				t.Errorf("got:\n%s", body)
			}
			// The approval was not used: it waits for the same request.
			disk.on.Store(false)
			if body := <-g.begin(f); !strings.Contains(body, "toolu_1") {
				t.Errorf("the approval is lost:\n%s", body)
			}
			if len(seen.all()) != 1 || len(g.entries(audit.TypeUsed)) != 1 {
				t.Errorf("the model was asked %d times, %d uses", len(seen.all()), len(g.entries(audit.TypeUsed)))
			}
		})
	}
	t.Run("a tool call of MCP", func(t *testing.T) {
		var seen counter
		up := newUpstream(t, plainly(&seen, 200, toolResult))
		disk := &failing{prefix: "used/"}
		g := newGateWith(t, parts{store: func(s store.Store) store.Store { disk.Store = s; return disk }}, nil, map[string]string{"files": up})
		resp := g.call(t.Context(), toolCall("1", "gated"), nil)
		req := g.pending(1)[0]
		disk.on.Store(true)
		g.decide(req, holdgate.AnswerApprove, "")
		if body := readAll(t, resp.Body); len(seen.all()) != 0 || !strings.Contains(body, `"isError":true`) {
			t.Errorf("run %d times:\n%s", len(seen.all()), body)
		}
	})
}

// What cannot be written down is not held but refused in its place.
func TestACallThatCannotBeHeldIsRefused(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var seen counter
			up := newUpstream(t, f.upstream(&seen))
			disk := &failing{prefix: "request/"}
			g := newGateWith(t, parts{store: func(s store.Store) store.Store { disk.Store = s; return disk }}, map[string]string{"test": up}, nil)
			disk.on.Store(true)
			if body := <-g.begin(f); strings.Contains(body, "toolu_1") || !strings.Contains(body, noticeWord) {
				t.Errorf("got:\n%s", body)
			}
			g.pending(0)
		})
	}
}

// Promise 3: where nobody can say what arrived, the result is unknown, and the
// same request asks anew.
func TestPromise3AWriteThatFailsLeavesTheResultUnknown(t *testing.T) {
	t.Parallel()
	failures := map[string]func() error{
		"fails":  func() error { return errors.New("the cable was cut") },
		"panics": func() error { panic("a mistake of ours") },
	}
	for how, fail := range failures {
		for _, f := range forms() {
			t.Run(f.name+" "+how, func(t *testing.T) {
				var seen counter
				var failed atomic.Bool
				up := newUpstream(t, f.upstream(&seen))
				g := newGateWith(t, spying(func(b []byte) error {
					if strings.Contains(string(b), "toolu_1") && failed.CompareAndSwap(false, true) {
						return fail()
					}
					return nil
				}), map[string]string{"test": up}, nil)
				got := g.begin(f)
				first := g.pending(1)[0]
				g.decide(first, holdgate.AnswerApprove, "")
				if body := <-got; strings.Contains(body, "toolu_1") {
					t.Fatalf("the call was sent all the same:\n%s", body)
				}
				if e := g.eventually(audit.TypeResult, 1)[0]; e.RequestID != first.ID || !strings.Contains(e.Note, "unknown") {
					t.Errorf("the log says of %s: %q", e.RequestID, e.Note)
				}
				again := g.begin(f)
				second := g.pending(1)[0]
				if second.ID == first.ID {
					t.Fatal("an approval was used twice")
				}
				g.decide(second, holdgate.AnswerApprove, "")
				if body := <-again; !strings.Contains(body, "toolu_1") {
					t.Errorf("got:\n%s", body)
				}
				if n := len(seen.all()); n != 2 {
					t.Errorf("the model was asked %d times, want 2", n)
				}
				g.verified()
			})
		}
	}
}
