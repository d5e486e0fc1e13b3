package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// A clocked is a Server in whose world the test turns the clock. What its MCP
// client and its server say goes over no socket.
type clocked struct {
	t     *testing.T
	s     *proxy.Server
	queue *approvals.Queue
	log   *audit.Log
	runs  atomic.Int32
}

// RoundTrip is the MCP server.
func (c *clocked) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if bytes.Contains(body, []byte("initialize")) {
		h.Set("Mcp-Session-Id", "s1")
	} else {
		c.runs.Add(1)
	}
	return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader(proxytest.ToolResult)), ContentLength: int64(len(proxytest.ToolResult)), Request: r}, nil
}

// newClocked is called within a bubble, with an engine from outside.
func newClocked(t *testing.T, dir string, e *rego.Engine) *clocked {
	t.Helper()
	st := teststore.Open(t, filepath.Join(dir, "db"))
	key := bytes.Repeat([]byte{7}, 32)
	log, err := audit.Open(t.Context(), st, key)
	proxytest.Must(t, err)
	digester, err := holdgate.NewDigester(key)
	proxytest.Must(t, err)
	q, err := approvals.Open(t.Context(), approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key})
	proxytest.Must(t, err)
	c := proxy.Config{Queue: q, Log: log, Digester: digester, Engine: e, Upstreams: map[string]*url.URL{}, MCP: map[string]*url.URL{}, Relay: mcpproxy.Options{ProgressClients: []string{"patient"}}}
	c.CA, err = intercept.OpenCA(dir)
	proxytest.Must(t, err)
	s, err := proxy.New(context.WithoutCancel(t.Context()), c)
	proxytest.Must(t, err)
	t.Cleanup(func() {
		proxytest.Must(t, s.Shutdown(context.WithoutCancel(t.Context())))
		proxytest.Must(t, q.Close())
		proxytest.Must(t, st.Close())
	})
	return &clocked{t: t, s: s, queue: q, log: log}
}

// post sends a message as a client that waits for so long, and returns what it got
// and when.
func (c *clocked) post(patience time.Duration, body string) (got string, took time.Duration) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp/files", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Session-Id", "s1")
	w := httptest.NewRecorder()
	begin := time.Now()
	_ = c.s.Take(w, r, &route.Target{Door: route.DoorMCP, Name: "files", MCP: true, URL: &url.URL{Scheme: "http", Host: "files.test", Path: "/mcp"}, Transport: c})
	return w.Body.String(), time.Since(begin)
}

func (c *clocked) hello(name string) {
	c.post(time.Minute, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"`+name+`"}}}`)
}

func (c *clocked) approve() {
	c.t.Helper()
	list, err := c.queue.List(c.t.Context(), approvals.Filter{Status: holdgate.StatusPending})
	proxytest.Must(c.t, err)
	if len(list) != 1 {
		c.t.Fatalf("%d requests are pending, want 1", len(list))
	}
	_, err = c.queue.Decide(c.t.Context(), list[0].ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: list[0].Call.Digest})
	proxytest.Must(c.t, err)
}

// once checks that people were asked once and the call was run once.
func (c *clocked) once() {
	c.t.Helper()
	outcomes, err := c.log.Query(c.t.Context(), audit.Query{Type: audit.TypeOutcome})
	proxytest.Must(c.t, err)
	if n := c.runs.Load(); len(outcomes) != 1 || n != 1 {
		c.t.Errorf("asked %d times, run %d times", len(outcomes), n)
	}
}

// sdk is how long clients built on the official SDKs wait by default.
const sdk = 60 * time.Second

// inTime runs fn where time is the test's.
func inTime(t *testing.T, fn func(t *testing.T, c *clocked)) {
	t.Helper()
	dir, e := t.TempDir(), proxytest.Engine(t, proxytest.Policy)
	synctest.Test(t, func(t *testing.T) { fn(t, newClocked(t, dir, e)) })
}

// A client that gives up after 60 s, whatever it hears meanwhile, gets a result that
// says what to do before that, and the same call again picks up where it was.
func TestTheBudgetsResultComesBeforeTheClientGivesUp(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, c *clocked) {
		for id := range 10 {
			got, took := c.post(sdk, proxytest.ToolCall(fmt.Sprint(id), "gated"))
			if took != 55*time.Second || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "Call the tool again") {
				t.Fatalf("after %v it got %s", took, got)
			}
		}
		c.approve()
		if got, took := c.post(sdk, proxytest.ToolCall("11", "gated")); took > time.Second || !strings.Contains(got, `"done"`) {
			t.Errorf("after %v it got %s", took, got)
		}
		c.once()
	})
}

// A client that gives up after 10 s, by itself, finds the outcome all the same.
func TestAClientOfTenSecondsFindsTheOutcome(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, c *clocked) {
		for id := range 30 {
			if got, took := c.post(10*time.Second, proxytest.ToolCall(fmt.Sprint(id), "gated")); took != 10*time.Second || strings.Contains(got, "result") {
				t.Fatalf("after %v it got %s", took, got)
			}
		}
		c.approve()
		if got, _ := c.post(10*time.Second, proxytest.ToolCall("31", "gated")); !strings.Contains(got, `"done"`) {
			t.Errorf("it got %s", got)
		}
		c.once()
	})
}

// A client that progress keeps waiting waits as long as people take, and hears of it
// at least every 10 s.
func TestProgressKeepsAClientWaitingForAsLongAsPeopleTake(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, c *clocked) {
		c.hello("patient")
		type end struct {
			got  string
			took time.Duration
		}
		ended := make(chan end, 1)
		go func() {
			got, took := c.post(2*time.Hour, proxytest.ToolCall("1", "gated"))
			ended <- end{got, took}
		}()
		time.Sleep(50 * time.Minute)
		c.approve()
		e := <-ended
		got, took := e.got, e.took
		if n := strings.Count(got, "notifications/progress"); took < 50*time.Minute || n < int(took/(10*time.Second))-1 || !strings.Contains(got, `"done"`) {
			t.Errorf("after %v and %d signs of progress it got ...%s", took, n, got[max(0, len(got)-200):])
		}
		c.once()
	})
}

// A task is answered at once, and its client asks until people have decided.
func TestATaskWaitsForAsLongAsPeopleTake(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, c *clocked) {
		made, took := c.post(sdk, strings.Replace(proxytest.ToolCall("1", "gated"), `"params":{`, `"params":{"task":{"ttl":60000},`, 1))
		var m struct {
			Result struct{ Task struct{ TaskID string } }
		}
		if err := json.Unmarshal([]byte(made), &m); err != nil || m.Result.Task.TaskID == "" || took > time.Second {
			t.Fatalf("after %v it got %s (%v)", took, made, err)
		}
		ask := func(method string) string {
			got, took := c.post(sdk, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{"taskId":"`+m.Result.Task.TaskID+`"}}`)
			if took > time.Second {
				t.Fatalf("%s took %v", method, took)
			}
			return got
		}
		begin, every := time.Now(), 2*time.Second
		if testing.Short() {
			every = 20 * time.Second
		}
		for approved := false; strings.Contains(ask("tasks/get"), `"working"`); time.Sleep(every) {
			if !approved && time.Since(begin) >= 30*time.Minute {
				approved = true
				c.approve()
			}
		}
		if waited := time.Since(begin); waited < 30*time.Minute || waited > 31*time.Minute || !strings.Contains(ask("tasks/result"), `"done"`) {
			t.Errorf("after %v it got %s", waited, ask("tasks/result"))
		}
		c.once()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A client's patience runs from its request, not from the question to a person.
func TestTheBudgetCountsTheUpstreamsTime(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, c *clocked) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, proxytest.Messages, strings.NewReader(proxytest.AskPlain))
		r.Header.Set("Content-Type", "application/json")
		w, begin := httptest.NewRecorder(), time.Now()
		_ = c.s.Take(w, r, &route.Target{Recognised: route.Recognised{Codec: &anthropic.Codec{}}, Door: route.DoorBaseURL, Name: "test",
			URL: &url.URL{Scheme: "http", Host: "model.test", Path: "/v1/messages"}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				time.Sleep(4 * time.Minute)
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(proxytest.GatedPlain)), Request: r}, nil
			})})
		if took := time.Since(begin); w.Code != http.StatusServiceUnavailable || took != 290*time.Second {
			t.Errorf("the client waited %v, and got status %d: %s", took, w.Code, w.Body)
		}
	})
}
