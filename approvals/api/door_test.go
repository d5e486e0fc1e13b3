package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// The tokens of ada, who may do everything, bob, who may approve, and olga, who
// may operate.
const (
	token       = "0123456789abcdef0123456789abcdef0123456789abcdef"
	tokenOfBob  = "b0b0123456789abcdef0123456789abcdef0123456789abc"
	tokenOfOlga = "01ga0123456789abcdef0123456789abcdef0123456789ab"
)

// A failing store fails once it has written and before it has synced.
type failing struct {
	store.Store
	fails atomic.Pointer[error]
}

// Update implements [store.Store].
func (f *failing) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := f.Store.Update(ctx, fn)
	if cause := f.fails.Load(); err == nil && cause != nil {
		return fmt.Errorf("the sync failed: %w", *cause)
	}
	return err
}

// A door is the API over a real queue on disk, on a real port.
type door struct {
	health   atomic.Pointer[string] // what is wrong; nil: nothing
	t        *testing.T
	failing  *atomic.Pointer[error] // how the store fails in the midst of each change
	store    store.Store
	digester *holdgate.Digester
	queue    *approvals.Queue
	log      *audit.Log
	api      *api.Server
	http     *httptest.Server
	held     int // calls, each an exchange of its own
}

func newDoor(t *testing.T) *door {
	t.Helper()
	ctx := t.Context()
	st := &failing{Store: teststore.Open(t, t.TempDir())}
	key := []byte(strings.Repeat("k", 32))
	log, err := audit.Open(ctx, st, key)
	if err != nil {
		t.Fatal(err)
	}
	digester, err := holdgate.NewDigester(key)
	if err != nil {
		t.Fatal(err)
	}
	people, err := people.New("ada", []people.Person{
		{Name: "ada", Roles: []string{people.RoleApprove, people.RoleAdmin}},
		{Name: "bob", Roles: []string{people.RoleApprove}},
		{Name: "olga", Roles: []string{people.RoleOperate}},
	})
	if err != nil {
		t.Fatal(err)
	}
	q, err := approvals.Open(ctx, approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key, People: people, Redeem: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, store: st, failing: &st.fails, digester: digester, queue: q, log: log}
	d.serveAnew()
	t.Cleanup(func() {
		d.api.Close()
		d.http.Close()
		if err := q.Close(); err != nil {
			t.Errorf("closing the queue: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return d
}

// serveAnew serves a new API over the same queue, in place of any before.
func (d *door) serveAnew() {
	d.t.Helper()
	if d.http != nil {
		d.api.Close()
		d.http.Close()
	}
	var err error
	d.api, err = api.New(api.Config{
		Queue: d.queue, Log: d.log, Store: d.store, Digester: d.digester,
		Credentials: known(
			api.Credential{Person: "ada", Token: api.HashToken(token)},
			api.Credential{Person: "bob", Token: api.HashToken(tokenOfBob)},
			api.Credential{Person: "olga", Token: api.HashToken(tokenOfOlga)},
		),
		Status: func(context.Context) api.Status {
			st := api.Status{Version: "test", Health: api.Healthy}
			if wrong := d.health.Load(); wrong != nil {
				st.Health, st.Troubles = *wrong, []api.Trouble{{Name: "policy", Why: *wrong}}
			}
			return st
		},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.http = httptest.NewUnstartedServer(d.api)
	d.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	d.http.Config.RegisterOnShutdown(d.api.Close)
	d.http.Start()
}

// hold holds a call and returns its request.
func (d *door) hold(spec holdgate.HoldSpec) approvals.Request {
	d.t.Helper()
	return d.holdOf(holdgate.RiskHigh, spec)
}

// holdOf holds a call of that risk.
func (d *door) holdOf(risk holdgate.Risk, spec holdgate.HoldSpec) approvals.Request {
	d.t.Helper()
	ctx := d.t.Context()
	who := approvals.Caller{Agent: holdgate.Agent{ID: "builder"}, Session: holdgate.Session{ID: "s1"}, Door: "up/anthropic"}
	d.held++
	key := holdgate.Digest(fmt.Sprintf("%064d", d.held))
	x, err := d.queue.Enter(ctx, who, func() (holdgate.Digest, error) { return key, nil })
	if err != nil {
		d.t.Fatal(err)
	}
	defer x.Leave()
	call := holdgate.Call{
		Kind: holdgate.KindToolCall, Agent: who.Agent, Session: who.Session, Door: who.Door, Time: time.Now(),
		Tool: &holdgate.Tool{Name: "Bash", Arguments: json.RawMessage(`{"command":"rm -rf build"}`)},
	}
	if spec.Timeout == 0 {
		spec.Timeout = time.Hour
	}
	decision := holdgate.Decision{Action: holdgate.Hold, Rule: "files.delete", Reason: "deletes files", Risk: risk, Hold: spec}
	r, err := x.RequestApproval(ctx, approvals.HeldCall{Call: call, Decision: decision})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// ask sends a request with the token and returns the status and the body.
// Headers are pairs; an empty value takes one away.
func (d *door) ask(method, path, body string, headers ...string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.http.URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := d.http.Client().Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if resp.StatusCode >= 400 && resp.Header.Get("Content-Type") != "application/problem+json" {
		d.t.Errorf("%s %s: %d with content type %q, want a problem document", method, path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return resp.StatusCode, string(text)
}

// decode reads JSON that must be right.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	return v
}

// word is that of the problem document in text.
func word(t *testing.T, text string) string {
	t.Helper()
	p := decode[api.Problem](t, text)
	return p.Word()
}

// known is credentials that nobody replaces.
func known(list ...api.Credential) func() []api.Credential {
	return func() []api.Credential { return list }
}
