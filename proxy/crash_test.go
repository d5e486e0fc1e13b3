package proxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
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
func spying(before func([]byte) error) proxytest.Parts {
	return handling(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&spy{w, before}, r) })
	})
}

// handling puts a handler before those of the server.
func handling(by func(http.Handler) http.Handler) proxytest.Parts {
	return proxytest.Parts{Server: func(s *proxy.Server) {
		for _, srv := range s.Servers() {
			srv.Handler = by(srv.Handler)
		}
	}}
}

// A form is a way in which a held call reaches the client.
type form struct{ name, path, ask, contentType, answer string }

func forms() []form {
	return []form{
		{"stream", proxytest.Messages, proxytest.AskStream, "text/event-stream", proxytest.MessageStart() + proxytest.MessageText("0", "before") + proxytest.MessageTool("1", "toolu_1", "gated") + proxytest.MessageEnd("tool_use")},
		{"plain", proxytest.Messages, proxytest.AskPlain, "application/json", proxytest.GatedPlain},
	}
}

func (f form) upstream(seen *proxytest.Counter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Saw(r)
		w.Header().Set("Content-Type", f.contentType)
		_, _ = io.WriteString(w, f.answer)
	})
}

// begin asks, and returns where the body will be.
func begin(g *proxytest.Sidecar, f form) <-chan string {
	got := make(chan string, 1)
	go func() {
		resp, err := g.Client.Post(g.URL+f.path, "application/json", strings.NewReader(f.ask))
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

// Promise 1 and 3: the use is on disk before the first byte of its call goes.
func TestPromise1AUseIsRecordedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var g *proxytest.Sidecar
			var early, late atomic.Int64
			var seen proxytest.Counter
			up := proxytest.NewUpstream(t, f.upstream(&seen))
			ready := make(chan struct{})
			g = proxytest.NewWith(t, spying(func(b []byte) error {
				<-ready
				if strings.Contains(string(b), "toolu_1") {
					if len(g.Entries(audit.TypeUsed)) == 1 && len(g.Entries(audit.TypeOutcome)) == 1 {
						late.Add(1)
					} else {
						early.Add(1)
					}
				}
				return nil
			}), map[string]string{"test": up}, nil)
			close(ready)
			got := begin(g, f)
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if body := <-got; !strings.Contains(body, "toolu_1") {
				t.Fatalf("got:\n%s", body)
			}
			if early.Load() != 0 || late.Load() == 0 {
				t.Errorf("of the call's bytes %d writes came before its use was recorded, and %d after", early.Load(), late.Load())
			}
		})
	}
	t.Run("a tool call of MCP", func(t *testing.T) {
		var g *proxytest.Sidecar
		var used atomic.Int64
		ready := make(chan struct{})
		g, _ = proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
			<-ready
			used.Store(int64(len(g.Entries(audit.TypeUsed))))
			proxytest.MCPJSON(200, proxytest.ToolResult)(w, r)
		})
		close(ready)
		resp := g.Call(t.Context(), proxytest.ToolCall("1", "gated"), nil)
		g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
		_ = proxytest.ReadAll(t, resp.Body)
		if used.Load() != 1 {
			t.Error("the call reached the server before its use was recorded")
		}
	})
}

func TestNothingGoesOnWhereAUseCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var seen proxytest.Counter
			up := proxytest.NewUpstream(t, f.upstream(&seen))
			disk := &proxytest.FailingStore{Prefix: "used/"}
			g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }}, map[string]string{"test": up}, nil)
			got := begin(g, f)
			req := g.Pending(1)[0]
			disk.On.Store(true)
			g.Decide(req, holdgate.AnswerApprove, "")
			if body := <-got; strings.Contains(body, "toolu_1") || !strings.Contains(body, `"type":"error"`) {
				t.Errorf("got:\n%s", body)
			}
			// The approval was not used: it waits for the same request.
			disk.On.Store(false)
			if body := <-begin(g, f); !strings.Contains(body, "toolu_1") {
				t.Errorf("the approval is lost:\n%s", body)
			}
			if len(seen.All()) != 1 || len(g.Entries(audit.TypeUsed)) != 1 {
				t.Errorf("the model was asked %d times, %d uses", len(seen.All()), len(g.Entries(audit.TypeUsed)))
			}
		})
	}
	t.Run("a tool call of MCP", func(t *testing.T) {
		var seen proxytest.Counter
		up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, proxytest.ToolResult))
		disk := &proxytest.FailingStore{Prefix: "used/"}
		g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }}, nil, map[string]string{"files": up})
		resp := g.Call(t.Context(), proxytest.ToolCall("1", "gated"), nil)
		req := g.Pending(1)[0]
		disk.On.Store(true)
		g.Decide(req, holdgate.AnswerApprove, "")
		if body := proxytest.ReadAll(t, resp.Body); len(seen.All()) != 0 || !strings.Contains(body, `"isError":true`) {
			t.Errorf("run %d times:\n%s", len(seen.All()), body)
		}
	})
}

// What cannot be written down is not held but refused in its place.
func TestACallThatCannotBeHeldIsRefused(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var seen proxytest.Counter
			up := proxytest.NewUpstream(t, f.upstream(&seen))
			disk := &proxytest.FailingStore{Prefix: "request/"}
			g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }}, map[string]string{"test": up}, nil)
			disk.On.Store(true)
			if body := <-begin(g, f); strings.Contains(body, "toolu_1") || !strings.Contains(body, proxytest.NoticeWord) {
				t.Errorf("got:\n%s", body)
			}
			g.Pending(0)
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
				var seen proxytest.Counter
				var failed atomic.Bool
				up := proxytest.NewUpstream(t, f.upstream(&seen))
				g := proxytest.NewWith(t, spying(func(b []byte) error {
					if strings.Contains(string(b), "toolu_1") && failed.CompareAndSwap(false, true) {
						return fail()
					}
					return nil
				}), map[string]string{"test": up}, nil)
				got := begin(g, f)
				first := g.Pending(1)[0]
				g.Decide(first, holdgate.AnswerApprove, "")
				if body := <-got; strings.Contains(body, "toolu_1") {
					t.Fatalf("the call was sent all the same:\n%s", body)
				}
				if e := g.Eventually(audit.TypeResult, 1)[0]; e.RequestID != first.ID || !strings.Contains(e.Note, "unknown") {
					t.Errorf("the log says of %s: %q", e.RequestID, e.Note)
				}
				again := begin(g, f)
				second := g.Pending(1)[0]
				if second.ID == first.ID {
					t.Fatal("an approval was used twice")
				}
				g.Decide(second, holdgate.AnswerApprove, "")
				if body := <-again; !strings.Contains(body, "toolu_1") {
					t.Errorf("got:\n%s", body)
				}
				if n := len(seen.All()); n != 2 {
					t.Errorf("the model was asked %d times, want 2", n)
				}
				g.Verified()
			})
		}
	}
}
