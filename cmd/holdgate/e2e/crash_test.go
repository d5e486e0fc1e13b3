package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A crash is the world of the crash test: a sidecar that is killed at any
// moment and started again with the same state folder, agents that ask again
// where they got no answer, a person who answers what is pending, and
// upstreams that remember what they said and what they did.
type crash struct {
	t        *testing.T
	dirs     []string // the state folders of those that take turns
	starts   int
	outage   func()     // what happens besides, before each kill; nil: nothing
	config   string     // with room for all that a test of many rounds asks
	rnd      *rand.Rand // for the test's own goroutine
	provider *provider
	files    *fileServer
	side     atomic.Pointer[sidecar] // the one that runs, or ran last
	acked    chan struct{}           // tells of each answer that was acknowledged

	mu        sync.Mutex
	said      map[string]call     // what the model asked for, by the call's id
	seen      map[string]request  // what `pending` has shown, by request
	votes     map[string]string   // what was acknowledged to the person, by request
	delivered map[string][]string // on which connections a call arrived, by the call's id
	edited    map[string]bool     // whether what arrived whole was as a person wrote it, by the call's id
}

// roomy lifts the limits of one agent: all agents of the test are one.
const roomy = "limits: {pending: 100000, held_bytes: 64GiB, decisions_per_second: 100000, log_bytes_per_hour: 64GiB}\n"

func newCrash(t *testing.T, seed uint64, config string, dirs ...string) *crash {
	c := &crash{
		t: t, dirs: dirs, config: write(t, "holdgate.yaml", roomy+config), rnd: rand.New(rand.NewPCG(seed, 0)), provider: newProvider(t), files: newFileServer(t),
		acked: make(chan struct{}, 1000),
		said:  map[string]call{}, seen: map[string]request{}, votes: map[string]string{}, delivered: map[string][]string{}, edited: map[string]bool{},
	}
	c.provider.calls = c.say
	c.start()
	return c
}

// start starts the next sidecar, with the same state and on other ports.
func (c *crash) start() {
	c.t.Helper()
	dir := c.dirs[c.starts%len(c.dirs)]
	c.starts++
	c.side.Store(serveIn(c.t, dir, nil, "--config", c.config, "--upstream", "anthropic="+c.provider.URL, "--upstream", "openai="+c.provider.URL, "--mcp", "files="+c.files.URL))
}

// say makes the model's calls. No two answers are the same: each has ids and
// commands of its own, and those to "both" have two calls.
func (c *crash) say(command string) []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := make([]call, 1+strings.Count(command, "both"))
	for i := range calls {
		n := strconv.Itoa(len(c.said))
		calls[i] = call{id: "toolu_n" + n + "n", command: command + "-" + n}
		c.said[calls[i].id] = calls[i]
	}
	return calls
}

// Whatever is killed whenever: what was acknowledged is there afterwards, what
// arrives was approved, and nothing arrives twice.
func TestCrash(t *testing.T) {
	t.Parallel()
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	if s := os.Getenv("HOLDGATE_CRASH_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("HOLDGATE_CRASH_ROUNDS: %v", err)
		}
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	newCrash(t, seed, "", stateDir(t)).rounds(rounds)
}

// rounds crashes so often, and then accounts for all that was asked.
func (c *crash) rounds(rounds int) {
	for n := range rounds {
		c.round(n)
		if c.t.Failed() {
			c.t.Fatalf("round %d of %d; the sidecars logged:\n%.20000s", n, rounds, c.side.Load().log())
		}
	}
	c.account(rounds)
}

// round has agents ask, kills the sidecar in the midst of it, starts it again,
// and checks what the world looks like once every agent has its answer.
func (c *crash) round(n int) {
	ctx, over := context.WithCancel(c.t.Context())
	var agents, person sync.WaitGroup
	defer func() {
		over()
		agents.Wait()
		person.Wait()
	}()
	for i, kind := range agentKinds {
		a := &agent{c: c, kind: kind, command: fmt.Sprintf("rm -rf r%da%d-%s", n, i, kind.name), rnd: rand.New(rand.NewPCG(c.rnd.Uint64(), 0))}
		agents.Go(func() { a.run(ctx) })
	}
	person.Go(func() { c.answerAll(ctx) })

	c.wait()
	if c.outage != nil {
		c.outage()
	}
	c.side.Load().kill()
	c.start()
	c.remembers()
	agents.Wait()
	over()
	person.Wait()
	c.verify()
}

// wait lets a while pass in which the sidecar works: a time as such, or until
// some answers were acknowledged, for what follows upon these is short.
func (c *crash) wait() {
	for len(c.acked) > 0 {
		<-c.acked
	}
	answers, after := c.rnd.IntN(6), time.Duration(c.rnd.IntN(4000))*time.Microsecond
	if answers == 0 {
		after *= 50
	}
	late := time.After(patience)
	for range answers {
		select {
		case <-c.acked:
		case <-late:
			c.t.Errorf("nothing was pending for %v", patience)
			return
		}
	}
	<-time.After(after)
}

// answerAll answers what is pending until the round is over.
func (c *crash) answerAll(ctx context.Context) {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var list []request
		if !c.ask("GET", "/v1/approvals?status=pending", nil, &list) {
			continue // it is down
		}
		c.mu.Lock()
		for _, r := range list {
			c.seen[r.ID] = r
		}
		c.mu.Unlock()
		for _, r := range list {
			c.answer(r)
		}
	}
}

// answer answers a request. The same request always gets the same answer, so
// that one whose acknowledgement was lost can be given again.
func (c *crash) answer(r request) {
	body := map[string]any{"digest": r.Call.Digest, "reason": "asked in the crash test"}
	decision := "approve"
	switch r.ID[0] % 6 {
	case 0, 1:
		decision = "deny"
	case 2:
		decision, body["instructions"] = "steer", "list the files first"
	case 3:
		if r.Call.Tool.Name == "Bash" && !r.mentions(edited) {
			decision, body["arguments"] = "edit", json.RawMessage(editedArguments(string(r.Call.Tool.Arguments)))
		}
	}
	body["decision"] = decision
	if !c.ask("POST", "/v1/approvals/"+r.ID+"/decision", body, nil) {
		return
	}
	c.mu.Lock()
	c.votes[r.ID] = decision
	c.mu.Unlock()
	select {
	case c.acked <- struct{}{}:
	default:
	}
}

// ask asks the approvers' door, and reports whether the answer came whole and
// says that it was done.
func (c *crash) ask(method, path string, body, into any) bool {
	b, err := json.Marshal(body)
	if err != nil {
		c.t.Error(err)
		return false
	}
	if body == nil {
		b = nil
	}
	resp, err := c.side.Load().api(method, path, string(b))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && (into == nil || json.Unmarshal(b, into) == nil)
}

// edited is what a person puts before the command that the model gave.
const edited = "rm -rf edited-"

// editedArguments are a call's arguments after a person changed them.
func editedArguments(args string) string {
	return strings.Replace(args, "rm -rf ", edited, 1)
}

// list returns every request that there ever was, page by page.
func (c *crash) list() (all []request, ok bool) {
	for path := "/v1/approvals?limit=1000"; path != ""; {
		resp, err := c.side.Load().api("GET", path, "")
		if err != nil {
			return nil, false
		}
		var page []request
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(b, &page) != nil {
			return nil, false
		}
		all = append(all, page...)
		path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	}
	return all, true
}

// A fileServer is an MCP server that deletes files, and counts how often it
// did so.
type fileServer struct {
	*httptest.Server

	mu      sync.Mutex
	deleted map[string]int // by path
}

func newFileServer(t *testing.T) *fileServer {
	f := &fileServer{deleted: map[string]int{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ Path string } }
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &m) != nil || m.Method != "tools/call" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.deleted[m.Params.Arguments.Path]++
	f.mu.Unlock()
	writeJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"deleted"}]}}`, m.ID))
}

// A timer that was running when the sidecar died acts when it is back.
func TestATimerActsAfterACrash(t *testing.T) {
	t.Parallel()
	policy := write(t, "short.rego", `package holdgate.custom.short

decisions contains {"action": "hold", "rule": "short.time", "reason": "Asked for a moment only.", "hold": {"timeout": "10s"}} if {
	some c in input.facts.commands
	c.program == "touch"
}
`)
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL, "--policy", policy}
	s := serve(t, nil, args...)
	ended := hold(t, s, "touch file")
	r := s.held("touch file")
	s.kill()
	<-ended
	s = serveIn(t, s.dir, nil, args...)
	resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json", bytes.NewReader(turn("run: touch file", agentKind{stream: true})))
	if err != nil {
		t.Fatal(err)
	}
	if answer := body(t, resp); strings.Contains(answer, "tool_use") || !strings.Contains(answer, "nobody approved it") {
		t.Errorf("the agent should read that nobody approved: %s", answer)
	}
	if got := parse[request](t, s.must("show", r.ID, "--json")); got.Status != "expired" {
		t.Errorf("request %s is %s", r.ID, got.Status)
	}
	s.must("audit", "verify")
}
