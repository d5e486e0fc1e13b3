package tui

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/verdict"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

var update = flag.Bool("update", false, "write the golden files")

const token = "0123456789abcdef0123456789abcdef0123456789abcdef"

// A sidecar is the real API over a real queue, at a real socket.
type sidecar struct {
	t     *testing.T
	dir   string
	store store.Store
	queue *approvals.Queue
	api   *api.Server
	http  *http.Server
	done  chan error
	held  int
	turns []string // what its agent's user has said
}

func newSidecar(t *testing.T) *sidecar {
	t.Helper()
	dir := sockettest.Folder(t)
	if err := os.WriteFile(filepath.Join(dir, client.TokenName), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &sidecar{t: t, dir: dir}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *sidecar) start() {
	s.t.Helper()
	ctx := context.Background()
	key := []byte(strings.Repeat("k", 32))
	st := teststore.Open(s.t, filepath.Join(s.dir, "db"))
	log, err := audit.Open(ctx, st, key)
	s.check(err)
	digester, err := holdgate.NewDigester(key)
	s.check(err)
	s.store = st
	s.queue, err = approvals.Open(ctx, approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key, Redeem: time.Hour, Judge: edited})
	s.check(err)
	s.api, err = api.New(api.Config{Queue: s.queue, Log: log, Store: st, Digester: digester,
		Credentials: func() []api.Credential { return []api.Credential{{Person: "ada", Token: api.HashToken(token)}} },
		Policy:      judge{},
		Status:      func(context.Context) api.Status { return api.Status{Version: "test", Health: api.Healthy} }})
	s.check(err)
	ln, err := net.Listen("unix", filepath.Join(s.dir, client.SocketName))
	s.check(err)
	s.http, s.done = &http.Server{Handler: s.api}, make(chan error, 1)
	go func() { s.done <- s.http.Serve(ln) }()
}

func (s *sidecar) stop() {
	if s.http == nil {
		return
	}
	s.api.Close()
	err := s.http.Shutdown(context.Background())
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.http = nil
	s.check(errors.Join(err, s.queue.Close(), s.store.Close()))
}

func (s *sidecar) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *sidecar) client() *client.Client {
	s.t.Helper()
	c, err := client.New(client.Options{StateDir: s.dir, Channel: "cli"})
	s.check(err)
	s.t.Cleanup(c.Close)
	return c
}

// all holds every call that the shipped pack lets pass.
const all = `package holdgate.custom.all

decisions contains {"action": "hold", "rule": "custom.all", "reason": "All is asked about.", "risk": "medium"}

decisions contains {"action": "deny", "rule": "custom.never", "reason": "Nobody may touch the ledger, whoever asks for it, nor what is kept beside it."} if {
	contains(input.tool.arguments.command, "ledger")
}
`

// policy is the shipped pack, which every test asks.
var policy = sync.OnceValues(func() (*rego.Engine, error) {
	dir, err := os.MkdirTemp("", "hg")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "all.rego"), []byte(all), 0o600); err != nil {
		return nil, err
	}
	return rego.Open(context.Background(), rego.Options{Path: dir, Timeout: time.Minute})
})

// judge is the policy behind the API.
type judge struct{ api.Policies }

func (judge) Pushable() bool { return false }

func (judge) Eval(ctx context.Context, input []byte) (json.RawMessage, error) {
	engine, err := policy()
	if err != nil {
		return nil, err
	}
	d, err := engine.Eval(ctx, input)
	if err != nil {
		return nil, &api.PolicyRefusedError{Text: err.Error()}
	}
	return json.Marshal(verdict.Document(d))
}

// edited is what policy says of an edit.
func edited(ctx context.Context, c holdgate.Call, a approvals.Answered) holdgate.Decision {
	engine, err := policy()
	if err != nil {
		return holdgate.Decision{Reason: err.Error()}
	}
	in := rego.Input{Call: c, Edited: true, Dir: a.Dir, Home: "/home/ada"}
	if a.By != "" {
		in.Answers = []rego.Answer{{Gate: a.Gate, Rule: a.Rule, Also: a.Also, Decision: holdgate.AnswerEdit, By: a.By}}
	}
	return engine.Decide(ctx, in)
}

// A change is what a test wants otherwise of policy's decision.
type change func(*holdgate.Decision)

func risk(r holdgate.Risk) change { return func(d *holdgate.Decision) { d.Risk = r } }

// hold holds a tool call, as policy decides it.
func (s *sidecar) hold(tool, arguments string, changes ...change) approvals.Request {
	s.t.Helper()
	ctx := context.Background()
	who := approvals.Caller{Agent: holdgate.Agent{ID: "claude", Proven: true}, Session: holdgate.Session{ID: "s1"}, Door: "up/anthropic"}
	s.held++
	key := holdgate.Digest(fmt.Sprintf("%064d", s.held))
	x, err := s.queue.Enter(ctx, who, func() (holdgate.Digest, error) { return key, nil })
	s.check(err)
	defer x.Leave()
	call := holdgate.Call{Kind: holdgate.KindToolCall, Agent: who.Agent, Session: who.Session, Door: who.Door, Time: time.Now(),
		Tool: &holdgate.Tool{Name: tool, Arguments: json.RawMessage(arguments)}}
	engine, err := policy()
	s.check(err)
	d := engine.Decide(ctx, rego.Input{Call: call, Dir: "/home/ada/shop", Home: "/home/ada"})
	if d.Action == holdgate.Deny {
		s.t.Fatalf("policy denies %s: %s", arguments, d.Reason)
	}
	d.Also = slices.DeleteFunc(d.Also, func(f holdgate.Finding) bool { return f.Rule == "custom.all" }) // nobody's but the tests'
	for _, c := range changes {
		c(&d)
	}
	r, err := x.RequestApproval(ctx, approvals.HeldCall{Call: call, Decision: d, Task: "free the disk and ship the fix", Turns: s.turns})
	s.check(err)
	return r
}
