package cli

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/badger"
)

// A sidecar is the approvers' door over a real queue on disk, without a door
// for agents: scripts hold calls in it directly.
type sidecar struct {
	dir   string
	store store.Store
	queue *approvals.Queue
	api   *api.Server
	http  *http.Server
	done  chan error
	held  int // calls, each an exchange of its own
}

// sidecarKey finds a script's sidecar among its values.
type sidecarKey struct{}

// sidecarCmd starts or stops the script's sidecar: sidecar start|stop
func sidecarCmd(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(sidecarKey{}).(*sidecar)
	switch {
	case !neg && len(args) == 1 && args[0] == "start":
		ts.Check(s.start())
		ts.Defer(func() { ts.Check(s.stop()) })
	case !neg && len(args) == 1 && args[0] == "stop":
		ts.Check(s.stop())
	default:
		ts.Fatalf("usage: sidecar start|stop")
	}
}

// start opens the state folder as serve does, and serves its socket.
func (s *sidecar) start() (err error) {
	ctx := context.Background()
	secret := []byte(strings.Repeat("s", 32))
	token, bob, olga := strings.Repeat("0123456789abcdef", 4), strings.Repeat("b0b0123456789abc", 4), strings.Repeat("01ga0123456789ab", 4)
	for name, text := range map[string]string{client.TokenName: token, "bob.token": bob, "olga.token": olga, "secret.key": hex.EncodeToString(secret)} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text+"\n"), 0o600); err != nil {
			return err
		}
	}
	key := func(purpose string) []byte {
		k, err := hkdf.Key(sha256.New, secret, nil, "holdgate "+purpose, 32)
		if err != nil {
			panic(err)
		}
		return k
	}
	if s.store, err = badger.Open(filepath.Join(s.dir, "db"), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	log, err := audit.Open(ctx, s.store, key("audit head"))
	if err != nil {
		return err
	}
	digester, err := holdgate.NewDigester(key("call digest"))
	if err != nil {
		return err
	}
	people, err := people.New("ada", []people.Person{
		{Name: "ada", Roles: []string{people.RoleApprove, people.RoleAdmin}},
		{Name: "bob", Roles: []string{people.RoleApprove}},
		{Name: "olga", Roles: []string{people.RoleOperate}},
	})
	if err != nil {
		return err
	}
	if s.queue, err = approvals.Open(ctx, approvals.Config{Store: s.store, Log: log, Digester: digester, SealKey: key("sealed bodies"), People: people, Redeem: time.Hour, Judge: edited}); err != nil {
		return err
	}
	signer, err := audit.NewSigner(key("audit checkpoints"))
	if err != nil {
		return err
	}
	if s.api, err = api.New(api.Config{
		Signer: signer,
		Queue:  s.queue, Log: log, Store: s.store, Digester: digester,
		Credentials: func() []api.Credential {
			return []api.Credential{{Person: "ada", Token: api.HashToken(token)}, {Person: "bob", Token: api.HashToken(bob)}, {Person: "olga", Token: api.HashToken(olga)}}
		},
		Status: func(ctx context.Context) api.Status {
			list, err := s.queue.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
			if err != nil {
				return api.Status{Version: "test", Health: err.Error()}
			}
			return api.Status{Version: "test", Health: api.Healthy, Pending: len(list)}
		},
	}); err != nil {
		return err
	}
	ln, err := net.Listen("unix", filepath.Join(s.dir, client.SocketName))
	if err != nil {
		return err
	}
	s.http, s.done = &http.Server{Handler: s.api}, make(chan error, 1)
	go func() { s.done <- s.http.Serve(ln) }()
	return nil
}

// stop takes it down. A second stop does nothing.
func (s *sidecar) stop() error {
	if s.http == nil {
		return nil
	}
	s.api.Close()
	err := s.http.Shutdown(context.Background())
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.http = nil
	return errors.Join(err, s.queue.Close(), s.store.Close())
}

// shipped is the shipped pack.
var shipped = sync.OnceValues(func() (*rego.Engine, error) {
	return rego.Open(context.Background(), rego.Options{KeepSeen: true, Timeout: time.Minute})
})

// edited is what the shipped pack says of an edited call.
func edited(ctx context.Context, c holdgate.Call, a approvals.Answered) holdgate.Decision {
	engine, err := shipped()
	if err != nil {
		return holdgate.Decision{Reason: err.Error()}
	}
	in := rego.Input{Call: c, Edited: true, Dir: a.Dir, Home: "/home/ada"}
	if a.By != "" {
		in.Answers = []rego.Answer{{Gate: a.Gate, Rule: a.Rule, Also: a.Also, Decision: holdgate.AnswerEdit, By: a.By}}
	}
	return engine.Decide(ctx, in)
}

// held is a call that a script can hold.
type held struct {
	agent    holdgate.Agent
	kind     holdgate.Kind
	tool     holdgate.Tool
	decision holdgate.Decision // that of the shipped pack where it has no rule
}

// calls are the calls that scripts hold, by name.
func calls() map[string]held {
	bash := func(command string) holdgate.Tool {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			panic(err)
		}
		return holdgate.Tool{Name: "Bash", Arguments: args}
	}
	deletes := holdgate.Decision{Action: holdgate.Hold, Rule: "files.delete", Reason: "deletes files", Risk: holdgate.RiskHigh,
		Hold: holdgate.HoldSpec{Timeout: time.Hour, Allow: []string{"steer", "edit"}}}
	fixed, quorum, bobs, choice, critical := deletes, deletes, deletes, deletes, deletes
	fixed.Hold.Allow = nil
	quorum.Hold.Approvers = holdgate.Approvers{Quorum: 2}
	bobs.Hold.Approvers = holdgate.Approvers{Users: []string{"bob"}}
	choice.Hold.Kind, choice.Hold.Options = holdgate.RequestChoice, []holdgate.Option{{ID: "staging", Label: "Deploy to staging", Effect: "approve"}, {ID: "nowhere", Label: "Do not deploy", Effect: "deny"}, {ID: "else", Label: "Something else", Other: true}}
	critical.Risk = holdgate.RiskCritical
	writes := deletes
	writes.Rule, writes.Risk, writes.Hold.Allow = "files.write", holdgate.RiskMedium, []string{"steer", "remember"}
	learns := writes
	learns.Rule, learns.Hold.Learn = "files.outside", holdgate.Learn{Approvals: 2, Days: 30}
	save := holdgate.Tool{Name: "write_file", Arguments: json.RawMessage(`{"path":"src/a.go","content":"one, two"}`)}
	asserted, proven := holdgate.Agent{ID: "builder"}, holdgate.Agent{ID: "builder", Proven: true}
	return map[string]held{
		"delete":   {asserted, holdgate.KindToolCall, bash("rm -rf build"), deletes},
		"proven":   {proven, holdgate.KindToolCall, bash("rm -rf build"), deletes},
		"other":    {holdgate.Agent{ID: "tester"}, holdgate.KindToolCall, bash("rm -rf dist"), deletes},
		"fixed":    {asserted, holdgate.KindToolCall, bash("rm -rf build"), fixed},
		"quorum":   {asserted, holdgate.KindToolCall, bash("rm -rf build"), quorum},
		"bobs":     {asserted, holdgate.KindToolCall, bash("rm -rf build"), bobs},
		"choice":   {asserted, holdgate.KindToolCall, bash("./deploy"), choice},
		"critical": {asserted, holdgate.KindToolCall, bash("rm -rf /"), critical},
		"save":     {proven, holdgate.KindToolCall, save, writes},
		"learns":   {proven, holdgate.KindToolCall, holdgate.Tool{Name: "write_file", Arguments: json.RawMessage(`{"path":"/srv/www/a.html","content":"one"}`)}, learns},
		"word":     {asserted, holdgate.KindToolCall, save, writes},
		"outside":  {asserted, holdgate.KindToolCall, holdgate.Tool{Name: "write_file", Arguments: json.RawMessage(`{"path":"/srv/www/a.html","content":"one"}`)}, holdgate.Decision{}},
		"removes":  {asserted, holdgate.KindToolCall, bash("rm -rf build"), holdgate.Decision{}},
		"hostile":  {holdgate.Agent{ID: "builder\x1b[2J\u202e"}, holdgate.KindToolCall, bash("rm -rf build\x1b[1A\u202etxt.exe"), deletes},
	}
}

// holdCmd holds a call, and puts its request's id and digest into ID, PREFIX,
// DIGEST and SHORT, its exchange into EXCHANGE, and the id and digest of the call
// held before into BEFORE and SHORTBEFORE. Negated, the agent must be stopped:
//
//	hold NAME
func holdCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: hold NAME")
	}
	r, err := ts.Value(sidecarKey{}).(*sidecar).hold(args[0])
	if neg {
		if _, halted := errors.AsType[*agents.HaltError](err); !halted {
			ts.Fatalf("the call was not refused for what people have done to the agent: %v", err)
		}
		return
	}
	ts.Check(err)
	ts.Setenv("BEFORE", ts.Getenv("ID"))
	ts.Setenv("SHORTBEFORE", ts.Getenv("SHORT"))
	ts.Setenv("ID", r.ID)
	ts.Setenv("EXCHANGE", r.Exchange)
	ts.Setenv("PREFIX", r.ID[:len(r.ID)-2])
	ts.Setenv("DIGEST", string(r.Call.Digest))
	ts.Setenv("SHORT", r.Call.Digest.Short())
}

// hold holds the call of this name, in an exchange of its own.
func (s *sidecar) hold(name string) (approvals.Request, error) {
	h, ok := calls()[name]
	if !ok {
		return approvals.Request{}, fmt.Errorf("no call %q", name)
	}
	ctx := context.Background()
	who := approvals.Caller{Agent: h.agent, Session: holdgate.Session{ID: name}, Door: "up/anthropic"}
	s.held++
	key := holdgate.Digest(fmt.Sprintf("%064d", s.held))
	x, err := s.queue.Enter(ctx, who, func() (holdgate.Digest, error) { return key, nil })
	if err != nil {
		return approvals.Request{}, err
	}
	defer x.Leave()
	call := holdgate.Call{Kind: h.kind, Agent: h.agent, Session: who.Session, Door: who.Door, Time: time.Now(), Tool: &h.tool}
	f := facts.Extract(ctx, call, facts.Options{Dir: "/w", Deadline: time.Minute})
	h.decision.Facts = &f
	if h.decision.Rule == "" {
		engine, err := shipped()
		if err != nil {
			return approvals.Request{}, err
		}
		h.decision = engine.Decide(ctx, rego.Input{Call: call, Dir: "/w"})
	}
	return x.RequestApproval(ctx, approvals.HeldCall{Call: call, Decision: h.decision})
}
