package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/agentapi"
)

// patience is how long a test waits for what must come.
const patience = 3 * time.Minute

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a pipe","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func question(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"ask_human","arguments":{"question":"May I?"}}}` + "\n"
}

// people are asked and do not answer. asked is told of each wait for them.
type people struct {
	agentapi.Service
	asked chan struct{}
	fault error // of waiting, at once
}

func (p *people) PassGate(context.Context, approvals.Caller, agentapi.GateRequest) (agentapi.Gate, error) {
	return agentapi.Gate{ID: "r-1", Status: holdgate.StatusPending}, nil
}

func (p *people) Gate(ctx context.Context, _ approvals.Caller, _ string, _ time.Duration) (agentapi.Gate, error) {
	p.asked <- struct{}{}
	if p.fault != nil {
		return agentapi.Gate{}, p.fault
	}
	<-ctx.Done()
	return agentapi.Gate{}, ctx.Err()
}

// output keeps what the server writes, until it is cut.
type output struct {
	mu  sync.Mutex
	b   bytes.Buffer
	cut bool
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut {
		return 0, io.ErrClosedPipe
	}
	return o.b.Write(b)
}

func (*output) Close() error { return nil }

// A piped server is one whose client has its input and its output.
type piped struct {
	t      *testing.T
	people *people
	in     *io.PipeWriter
	out    output
	ended  chan error
}

// inAPipe serves a client until it leaves or ctx ends.
func inAPipe(ctx context.Context, t *testing.T, fault error) *piped {
	t.Helper()
	in, w := io.Pipe()
	p := &piped{t: t, people: &people{asked: make(chan struct{}, 10), fault: fault}, in: w, ended: make(chan error, 1)}
	s := New(Options{Service: p.people, Every: time.Hour, Patience: time.Hour})
	go func() { p.ended <- s.Run(ctx, in, &p.out) }()
	return p
}

func (p *piped) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatal(err)
	}
}

// waits returns once the client waits for people n times.
func (p *piped) waits(n int) {
	p.t.Helper()
	for range n {
		select {
		case <-p.people.asked:
		case <-time.After(patience):
			p.t.Fatal("nobody is asked")
		}
	}
}

// left lets the client leave and returns all that it was told.
func (p *piped) left() string {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.end()
	return p.out.b.String()
}

func (p *piped) end() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the server goes on without its client")
	}
}

// Whoever asks and closes the pipe is answered, each request once.
func TestWhoLeavesIsAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		says  string
		waits int
		then  string // is said when people are asked
		fault error
		want  []string // in any order, one line each
	}{
		"nothing":                 {},
		"nothing but a greeting":  {says: hello, want: []string{`"id":1,"result"`}},
		"lists":                   {says: hello + `{"jsonrpc":"2.0","id":"a","method":"tools/list"}` + "\n" + `{"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n", want: []string{`"id":1,"result"`, `"id":"a","result"`, `"id":3,"result"`}},
		"a method that is none":   {says: hello + `{"jsonrpc":"2.0","id":2,"method":"acme/x"}` + "\n", want: []string{`"id":1,"result"`, `"id":2,"error"`}},
		"two questions":           {says: hello + question("2") + question(`"b"`), waits: 2, want: []string{`"id":1,"result"`, `"id":2,"result":{"content":[{"type":"text","text":"Not decided yet: request r-1 `, `"id":"b","result":{"content":[{"type":"text","text":"Not decided yet: request r-1 `}},
		"a question, cancelled":   {says: hello + question("2"), waits: 1, then: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n", want: []string{`"id":1,"result"`, `"id":2,`}},
		"a question, and a fault": {says: hello + question("2"), waits: 1, fault: errors.New("the disk is full"), want: []string{`"id":1,"result"`, `"id":2,"result":{"content":[{"type":"text","text":"`}},
		"one id twice":            {says: hello + question("2") + question("2"), waits: 1, want: []string{`"id":1,"result"`, `"id":2,"result":{"content":[{"type":"text","text":"Not decided yet`}},
		"a batch":                 {says: hello + `[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]` + "\n" + `{"jsonrpc":"2.0","id":4,"method":"ping"}` + "\n", want: []string{`"id":1,"result"`, `"id":null,"error":{"code":-32600,`, `"id":4,"result"`}},
		"no JSON in the end":      {says: hello + question("2") + "{\n", waits: 1, want: []string{`"id":1,"result"`, `"id":2,"result":{"content":[{"type":"text","text":"Not decided yet`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := inAPipe(t.Context(), t, tt.fault)
			p.say(tt.says)
			p.waits(tt.waits)
			p.say(tt.then)
			got := p.left()
			if n := strings.Count(got, "\n"); n != len(tt.want) {
				t.Errorf("%d answers, want %d: %s", n, len(tt.want), got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
			if tt.fault != nil && strings.Contains(got, "Not decided yet") {
				t.Errorf("what failed is said to wait: %s", got)
			}
		})
	}
}

// A client that stays is not told that its question waits, as one that leaves is.
func TestWhoStaysIsKeptWaiting(t *testing.T) {
	t.Parallel()
	p := inAPipe(t.Context(), t, nil)
	p.say(hello + question("2"))
	p.waits(1)
	p.say(`{"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n")
	for end := time.After(patience); ; {
		p.out.mu.Lock()
		got := p.out.b.String()
		p.out.mu.Unlock()
		if strings.Contains(got, `"id":2`) {
			t.Fatalf("who stays is told %s", got)
		}
		if strings.Contains(got, `"id":3`) {
			break
		}
		select {
		case <-time.After(time.Millisecond):
		case <-end:
			t.Fatal("a ping is not answered")
		}
	}
	p.left()
}

// Nobody is waited for who cannot be answered, or when the process is to end.
func TestLeavingEnds(t *testing.T) {
	t.Parallel()
	t.Run("who does not read", func(t *testing.T) {
		t.Parallel()
		p := inAPipe(t.Context(), t, nil)
		p.say(hello + question("2") + question("3"))
		p.waits(2)
		p.out.mu.Lock()
		p.out.cut = true
		p.out.mu.Unlock()
		p.left()
	})
	t.Run("by its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		p := inAPipe(ctx, t, nil)
		p.say(hello + question("2"))
		p.waits(1)
		cancel()
		p.end()
	})
}
