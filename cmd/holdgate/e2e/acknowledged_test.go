package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// twoPeople asks two people about a deploy. The program is one that the shipped
// pack says nothing of, so that nothing else asks.
const twoPeople = `package holdgate.custom.two

decisions contains {"action": "hold", "rule": "two.people", "reason": "Two people.", "hold": {"timeout": "1h", "approvers": {"quorum": 2}}} if {
	some c in input.facts.commands
	c.program == "touch"
}
`

// A doomed is a sidecar that is killed again and again and started with the
// same state.
type doomed struct {
	*sidecar
	args []string
}

// crash kills the sidecar where it is and starts it again.
func (d *doomed) crash() {
	d.t.Helper()
	d.kill()
	d.sidecar = serveIn(d.t, d.dir, nil, d.args...)
}

// A voted is what a script sees of who has answered.
type voted struct {
	request
	Votes []struct{ By, Decision string }
}

// vote answers as whoever holds the token, and returns the request as the
// acknowledgement shows it.
func (d *doomed) vote(token, decision string, r request) voted {
	d.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+d.approvers+"/v1/approvals/"+r.ID+"/decision",
		strings.NewReader(`{"decision":"`+decision+`","digest":"`+r.Call.Digest+`"}`))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	got := body(d.t, resp)
	if resp.StatusCode != http.StatusOK {
		d.t.Fatalf("%s of %s: status %d: %s", decision, r.ID, resp.StatusCode, got)
	}
	return parse[voted](d.t, got)
}

// token is that of ada, who holds the state folder.
func (d *doomed) token() string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, "approver.token"))
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// shown is what the sidecar shows of a request.
func (d *doomed) shown(r request) voted {
	d.t.Helper()
	return parse[voted](d.t, d.must("show", r.ID, "--json"))
}

// TestPromise2 kills the sidecar at each acknowledgement: what was acknowledged
// survives. TestCrash kills at any point.
func TestPromise2(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL, "--policy", write(t, "two.rego", twoPeople), "--config", write(t, "holdgate.yaml", teamConfig)}
	d := &doomed{serve(t, nil, args...), args}
	lost := []*arriving{d.asks("touch deploy"), d.asks("rm -rf waits")}
	two, one := d.heldAs("a call that two people decide", func(r request) bool { return r.Rule == "two.people" }), d.held("rm -rf waits")

	d.crash() // both were shown
	for _, answer := range lost {
		<-answer.ended
	}
	for _, r := range []request{two, one} {
		if got := d.shown(r); got.Status != "pending" || got.Call.Digest != r.Call.Digest {
			t.Fatalf("request %s was shown, and after a crash it is %q of %s", r.ID, got.Status, got.Call.Digest)
		}
	}

	d.vote(d.token(), "approve", two)
	d.crash()
	if got := d.shown(two); got.Status != "pending" || len(got.Votes) != 1 || got.Votes[0].By != "ada" || got.Votes[0].Decision != "approve" {
		t.Fatalf("ada's vote was taken, and after a crash request %s is %q with %+v", two.ID, got.Status, got.Votes)
	}

	if got := d.vote(bobsToken, "approve", two); got.Status != "approved" {
		t.Fatalf("two have approved, and request %s is %q", two.ID, got.Status)
	}
	d.crash()
	if got := d.shown(two); got.Status != "approved" || len(got.Votes) != 2 {
		t.Fatalf("request %s was approved, and after a crash it is %q with %+v", two.ID, got.Status, got.Votes)
	}

	d.vote(d.token(), "deny", one)
	d.crash()
	if got := d.shown(one); got.Status != "denied" || got.Outcome == nil || got.Outcome.By != "ada" {
		t.Fatalf("request %s was denied, and after a crash it is %q: %+v", one.ID, got.Status, got.Outcome)
	}

	// The agents that ask again get what people said, and nobody is asked again.
	approved, denied := d.asks("touch deploy"), d.asks("rm -rf waits")
	approved.sees(t, "message_stop")
	denied.sees(t, "message_stop")
	if got := approved.String(); !strings.Contains(got, `"id":"toolu_touch_deploy"`) {
		t.Errorf("approved, and the agent got %s", got)
	}
	if got := denied.String(); strings.Contains(got, "tool_use") || !strings.Contains(got, "denied by the approver") {
		t.Errorf("denied, and the agent got %s", got)
	}
	if got := d.pending(); len(got) != 0 {
		t.Errorf("people are asked again: %+v", got)
	}
	d.must("audit", "verify")
}

// TestPromise3: an approval is used at most once, and where the sidecar dies
// after that nobody can say what came of it: the result is unknown.
func TestPromise3(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	running, release := make(chan struct{}, 10), make(chan struct{})
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs.Add(1)
		running <- struct{}{}
		<-release
		writeJSON(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"deleted"}]}}`)
	}))
	t.Cleanup(files.Close)
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL, "--mcp", "files=" + files.URL}
	d := &doomed{serve(t, nil, args...), args}

	// A model's call comes once for one approval, before a crash and after it.
	first := d.asks("rm -rf once")
	r := first.held()
	d.answer(r.ID, "approve")
	first.sees(t, "message_stop")
	again := d.asks("rm -rf once")
	second := again.held()
	again.nothingOf(t, call{id: "toolu_rm_rf_once", command: "rm -rf once"})
	d.crash()
	<-again.ended
	again = d.asks("rm -rf once")
	if got := again.held(); got.ID != second.ID || got.ID == r.ID {
		t.Errorf("request %s was used, and %s was asked before the crash; %s after it", r.ID, second.ID, got.ID)
	}
	again.nothingOf(t, call{id: "toolu_rm_rf_once", command: "rm -rf once"})

	// The sidecar dies while a tool runs.
	answered := d.deletes()
	tool := d.held("everything.txt")
	d.answer(tool.ID, "approve")
	<-running
	d.crash()
	<-answered
	close(release)
	if got := strings.Join(d.typesOf(tool), " "); !strings.HasSuffix(got, "outcome used result") {
		t.Errorf("after the crash the log has: %s", got)
	}
	for _, e := range d.entries() {
		if e.RequestID == tool.ID && e.Type == "result" && !strings.Contains(e.Note, "unknown") {
			t.Errorf("nobody knows what came of it, and the log says %q", e.Note)
		}
	}
	answered = d.deletes()
	if got := d.held("everything.txt"); got.ID == tool.ID || runs.Load() != 1 {
		t.Errorf("request %s is asked about again, and the tool ran %d times", got.ID, runs.Load())
	} else {
		d.answer(got.ID, "deny")
	}
	if got := <-answered; !strings.Contains(got, "denied") || runs.Load() != 1 {
		t.Errorf("the agent got %s, and the tool ran %d times", got, runs.Load())
	}
	d.must("audit", "verify")
}

// deletes calls a tool of an MCP server. The channel gives what came of it, and
// nothing where the sidecar died.
func (d *doomed) deletes() <-chan string {
	at, out := "http://"+d.agents+"/mcp/files", make(chan string, 1)
	go func() {
		defer close(out)
		req, err := http.NewRequest(http.MethodPost, at, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"/srv/everything.txt"}}}`))
		if err != nil {
			d.t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body) // the sidecar may die
		out <- b.String()
	}()
	return out
}

// TestPromise8 kills the sidecar at each effect: the log had it before. That what
// it had was synced is tested in proxy, and against cut power in store/badger.
func TestPromise8(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	asked, answers := make(chan struct{}, 10), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answers
	}))
	t.Cleanup(func() { close(answers); slow.Close() })
	args := []string{"--upstream", "anthropic=" + p.URL, "--upstream", "openai=" + slow.URL, "--policy", write(t, "mine.rego", `package holdgate

programs contains c.program if some c in input.facts.commands

default decision := {"action": "allow", "rule": "mine.all", "reason": "All is well."}

decision := {"action": "deny", "rule": "mine.no", "reason": "Never."} if "shred" in programs

decision := {"action": "hold", "rule": "mine.ask", "reason": "Who knows."} if "touch" in programs
`)}
	d := &doomed{serve(t, nil, args...), args}

	if got := turnOf(t, d.sidecar, "shred all"); !strings.Contains(got, "Never.") {
		t.Fatalf("the agent got %s", got)
	}
	d.crash()
	if !d.logs("decision", "deny", "mine.no") {
		t.Error("the agent was refused, and the log does not have it")
	}

	answer := d.asks("touch that")
	r := answer.held()
	d.crash()
	<-answer.ended
	if !d.logs("decision", "hold", "mine.ask") {
		t.Error("a person was asked, and the log does not have it")
	}
	d.vote(d.token(), "approve", r)
	d.crash()
	if got := strings.Join(d.typesOf(r), " "); !strings.HasSuffix(got, "vote outcome") {
		t.Errorf("a vote was taken, and the log has: %s", got)
	}

	go func() {
		resp, err := http.Post(d.base("openai")+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-asked
	d.crash()
	if !d.logs("decision", "allow", "mine.all") {
		t.Error("a request went on, and the log does not have it")
	}
	d.untampered()
}

// logs reports whether the log has such an entry of policy's.
func (d *doomed) logs(typ, action, rule string) bool {
	d.t.Helper()
	for _, e := range d.entries() {
		if e.Type == typ && e.Decision != nil && e.Decision.Action == action && e.Decision.Rule == rule {
			return true
		}
	}
	return false
}

// untampered changes copies of the log, each of which the checker finds out.
func (d *doomed) untampered() {
	d.t.Helper()
	whole := d.must("audit", "export")
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	last := parse[struct {
		Seq  uint64
		Hash string
	}](d.t, lines[len(lines)-1])
	head := fmt.Sprintf("%d:%s", last.Seq, last.Hash)
	for name, log := range map[string]string{
		"as it is":                   whole,
		"a denial made an allowance": strings.Replace(whole, `"action":"deny"`, `"action":"allow"`, 1),
		"an entry left out":          strings.Replace(whole, lines[1], "", 1),
		"two that changed places":    strings.Replace(whole, lines[1]+lines[2], lines[2]+lines[1], 1),
		"a tail cut off":             strings.Join(lines[:len(lines)-1], ""),
	} {
		r := d.run("audit", "verify", "--head", head, write(d.t, "log.jsonl", log))
		if sound := name == "as it is"; (r.code == 0) != sound || (log == whole) != sound {
			d.t.Errorf("%s: %v", name, r)
		}
	}
}
