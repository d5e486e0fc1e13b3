package corpus_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// numberHeader says to the upstream which recording is asked for. The session of
// each request is the same number.
const numberHeader = "X-Corpus-Recording"

// A provider answers with what was recorded, in pieces of all sizes.
type provider struct {
	recorded []recording
	mu       sync.Mutex
	changed  []string // recordings whose request did not come as it was sent
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.Header.Get(numberHeader))
	if err != nil || n >= len(p.recorded) {
		http.Error(w, "no such recording", http.StatusTeapot)
		return
	}
	rec := p.recorded[n]
	if body, _ := io.ReadAll(r.Body); !bytes.Equal(body, rec.ask) || rec.server == "" && r.URL.EscapedPath() != rec.url.EscapedPath() || r.URL.RawQuery != rec.url.RawQuery {
		p.mu.Lock()
		p.changed = append(p.changed, rec.name)
		p.mu.Unlock()
	}
	for k, v := range rec.header {
		w.Header()[k] = v
	}
	w.Header().Del("Transfer-Encoding")
	if rec.coded {
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(rec.status)
	p.write(w, rec, rand.New(rand.NewPCG(uint64(n), 1)))
}

func (p *provider) write(w http.ResponseWriter, rec recording, random *rand.Rand) {
	out, flush := io.Writer(w), http.NewResponseController(w).Flush
	if rec.coded {
		z := gzip.NewWriter(w)
		defer z.Close()
		out, flush = z, func() error { return z.Flush() }
	}
	for rest := rec.answer; len(rest) > 0; {
		n := min(len(rest), 1+random.IntN(4096))
		if _, err := out.Write(rest[:n]); err != nil {
			return
		}
		rest = rest[n:]
		_ = flush()
	}
}

// A sidecar is a Holdgate before the provider, whose policy does the same to
// every call of some tools and to what
// MCP servers ask of their clients, and lets all else pass.
type sidecar struct {
	url   string // of the agents' door
	queue *approvals.Queue
	log   *audit.Log
}

func newSidecar(t *testing.T, upstream string, servers map[string]string, action holdgate.Action, names string) *sidecar {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	policy := filepath.Join(dir, "policy.rego")
	must(t, os.WriteFile(policy, fmt.Appendf(nil, `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.other"}

decision := {"action": %q, "rule": "test.calls", "reason": json.marshal(input.tool)} if {
	input.kind == "tool_call"
	regex.match(%q, input.tool.name)
} else := {"action": %q, "rule": "test.asks", "reason": json.marshal({"name": input.mcp.method, "arguments": input.mcp.params})} if {
	input.mcp.method in {"sampling/createMessage", "elicitation/create", "roots/list"}
}
`, action, names, action), 0o600))
	engine, err := rego.Open(ctx, rego.Options{Path: policy, Timeout: time.Minute})
	must(t, err)
	st := teststore.Open(t, filepath.Join(dir, "db"))
	key := bytes.Repeat([]byte{7}, 32)
	log, err := audit.Open(ctx, st, key)
	must(t, err)
	digester, err := holdgate.NewDigester(key)
	must(t, err)
	q, err := approvals.Open(ctx, approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key, Redeem: time.Hour})
	must(t, err)
	ca, err := intercept.OpenCA(dir)
	must(t, err)
	located := func(s string) *url.URL {
		u, err := url.Parse(s)
		must(t, err)
		return u
	}
	mcp := map[string]*url.URL{}
	for name, at := range servers {
		mcp[name] = located(at)
	}
	s, err := proxy.New(context.WithoutCancel(ctx), proxy.Config{
		Engine: engine, Queue: q, Log: log, Digester: digester, CA: ca, Upstreams: map[string]*url.URL{"recorded": located(upstream)}, MCP: mcp,
	})
	must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
		_ = q.Close()
		_ = st.Close()
	})
	return &sidecar{url: "http://" + ln.Addr().String(), queue: q, log: log}
}

// answerAll gives every request that is held the same answer, until ctx ends.
func (s *sidecar) answerAll(ctx context.Context, a holdgate.Answer) error {
	return s.queue.Events(ctx, 0, func(e approvals.Event) error {
		if e.Type != record.EventRequested {
			return nil
		}
		_, err := s.queue.Decide(ctx, e.Request.ID, approvals.Vote{Decision: a, By: "ann", Channel: "cli", Digest: e.Request.Call.Digest})
		return err
	})
}

// An outcome is what a client got.
type outcome struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a recording's request as its recorder did, and reads the answer.
func (s *sidecar) ask(ctx context.Context, c *http.Client, n int, r recording) (outcome, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+r.road(), bytes.NewReader(r.ask))
	if err != nil {
		return outcome{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, r.asked)
	req.Header.Set(numberHeader, strconv.Itoa(n))
	req.Header.Set("X-Session-Id", strconv.Itoa(n))
	resp, err := c.Do(req)
	if err != nil {
		return outcome{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return outcome{resp.StatusCode, resp.Header, body}, err
}

// decided are how many calls of tools were decided for each recording.
func (s *sidecar) decided(t *testing.T) map[int]int {
	t.Helper()
	entries, err := s.log.Query(t.Context(), audit.Query{Type: audit.TypeDecision})
	must(t, err)
	found := map[int]int{}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Call.Session); err == nil && e.Call.Kind == holdgate.KindToolCall {
			found[n]++
		}
	}
	return found
}

func newProvider(t *testing.T, all []recording) (*provider, string) {
	t.Helper()
	p := &provider{recorded: all}
	up := httptest.NewServer(p)
	t.Cleanup(up.Close)
	return p, up.URL
}
