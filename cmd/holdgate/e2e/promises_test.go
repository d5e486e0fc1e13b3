package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPromise1 to TestPromise9 hold the promises of the README, one each, at the real
// door. What holds a promise in each format and at each step is tested where that is.

// An arriving is a streamed answer as it comes to an agent.
type arriving struct {
	lockedBuffer
	s       *sidecar
	command string
	ended   chan struct{}
}

// asks starts a streamed turn in which the model asks for command.
func (s *sidecar) asks(command string) *arriving {
	a := &arriving{s: s, command: command, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json",
			strings.NewReader(string(turn("run: "+command, agentKind{stream: true}))))
		if err != nil {
			return // the sidecar was killed
		}
		defer resp.Body.Close()
		_, _ = io.Copy(a, resp.Body) // the same
	}()
	return a
}

// held waits until a person is asked about the call.
func (a *arriving) held() request {
	a.s.t.Helper()
	return a.s.heldAs("a call with "+a.command, func(r request) bool { return r.mentions(a.command) }, a.ended)
}

// sees waits until text has come.
func (a *arriving) sees(t *testing.T, text string) {
	t.Helper()
	until(t, "an answer with "+text, func() bool {
		over := a.over() // before what has come is looked at
		if strings.Contains(a.String(), text) {
			return true
		}
		if over {
			t.Fatalf("the answer ended without %s: %s", text, a.String())
		}
		return false
	})
}

// over reports whether the answer has ended.
func (a *arriving) over() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// arguments are those of the answer's only call.
func (a *arriving) arguments() string {
	raw := a.String()
	return strings.TrimPrefix(arguments(raw), raw)
}

// nothingOf fails the test where a byte of the call has come.
func (a *arriving) nothingOf(t *testing.T, c call) {
	t.Helper()
	got := a.String()
	for _, part := range []string{c.id, "tool_use", quoted(c.arguments())[1:10]} {
		if strings.Contains(got, part) {
			t.Errorf("of a call that waits the agent has %q: %s", part, got)
		}
	}
}

// typesOf are the types of the log's entries of a request, in their order.
func (s *sidecar) typesOf(r request) (types []string) {
	s.t.Helper()
	for _, e := range s.entries() {
		if e.RequestID != r.ID {
			continue
		}
		if e.Call != nil && e.Call.Digest != r.Call.Digest {
			s.t.Errorf("the log has %s of request %s under digest %s, want %s", e.Type, r.ID, e.Call.Digest, r.Call.Digest)
		}
		types = append(types, e.Type)
	}
	return types
}

// No byte of a gated call goes on before an approving outcome, bound to that call's
// digest, is on disk.
func TestPromise1(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL)
	c := call{id: "toolu_rm_rf_one", command: "rm -rf one"}
	answer := s.asks(c.command)
	r := answer.held()
	answer.sees(t, promise)
	answer.nothingOf(t, c)
	other := strings.Repeat("0", len(r.Call.Digest))
	resp, err := s.api(http.MethodPost, "/v1/approvals/"+r.ID+"/decision", `{"decision":"approve","digest":"`+other+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := body(t, resp); resp.StatusCode == http.StatusOK {
		t.Errorf("an approval of another call's digest was taken: %s", got)
	}
	if got := s.held(c.command); got.ID != r.ID {
		t.Errorf("request %s waits, want %s", got.ID, r.ID)
	}
	answer.nothingOf(t, c)
	s.answer(r.ID, "approve")
	answer.sees(t, c.id)
	s.kill() // what the agent saw is on disk by now
	<-answer.ended
	if got := strings.Join(s.typesOf(r), " "); !strings.HasPrefix(got, "decision ") || !strings.Contains(got, "outcome used") {
		t.Errorf("when the call's first bytes had come, the log had: %s", got)
	}
}

// What was shown is what is sent. An edited call is evaluated by policy again.
func TestPromise5(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--policy", write(t, "mine.rego", `package holdgate.custom.mine

decisions contains {"action": "deny", "rule": "mine.never", "reason": "Never shred."} if {
	some c in input.facts.commands
	c.program == "shred"
}
`))
	approved := s.asks("rm -rf approved")
	r := approved.held()
	s.answer(r.ID, "approve")
	<-approved.ended
	if got := approved.arguments(); !sameJSON(r.Call.Tool.Arguments, got) || got != (call{command: "rm -rf approved"}).arguments() {
		t.Errorf("shown was %s, and sent %s", r.Call.Tool.Arguments, got)
	}

	// An edit into a call that asks too: the editor is asked of what is sent.
	edited := s.asks("rm -rf edited")
	const other = `{"command":"git push --force","n":1.50}`
	first := edited.held()
	s.edit(first, other)
	until(t, "the edited call", func() bool {
		for _, r := range s.pending() {
			s.answer(r.ID, "approve")
		}
		return edited.over()
	})
	if got := edited.arguments(); got != other {
		t.Errorf("a person wrote %s, and sent was %s", other, got)
	}

	// An edit into a call that policy denies goes nowhere, and the call waits on.
	denied := s.asks("rm -rf harmless")
	waits := denied.held()
	code, said := s.edits(waits, `{"command":"shred everything"}`)
	if code != http.StatusUnprocessableEntity || !strings.Contains(said, "Never shred.") || s.held("rm -rf harmless").ID != waits.ID {
		t.Errorf("an edit into what policy denies: status %d: %s", code, said)
	}
	s.answer(waits.ID, "deny")
	<-denied.ended
	if got := denied.String(); strings.Contains(got, "tool_use") || strings.Contains(got, "shred") {
		t.Errorf("an edit into what policy denies came to %s", got)
	}
}

// everything lets all pass but what its programs are named for.
const everything = `package holdgate

programs contains c.program if some c in input.facts.commands

odd contains p if {
	some p in programs
	p in {"undefinedctl", "shapelessctl", "latectl"}
}

decision := {"action": "allow", "rule": "mine.all", "reason": "All is well."} if count(odd) == 0

decision := {"action": "allow", "rule": "mine.two", "reason": "Two at once."} if "conflictctl" in programs

decision := {"action": c.argv[1], "rule": "mine.odd", "reason": "Who knows."} if {
	some c in input.facts.commands
	c.program == "shapelessctl"
}

decision := {"action": "allow", "rule": "mine.late", "reason": "In the end."} if {
	"latectl" in programs
	count([1 | some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a * b < 0]) == 0
}
`

// Where anything is broken the answer is a refusal, whatever policy says.
func TestPromise4(t *testing.T) {
	t.Run("no policy that loads", noPolicyThatLoads)
	t.Run("a broken edit of the policy", brokenEditKeepsThePolicy)
	t.Run("a policy that fails", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t)
		s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--policy", write(t, "all.rego", everything))
		if got := turnOf(t, s, "rm -rf /"); !strings.Contains(got, "tool_use") { // the control
			t.Fatalf("the policy allows everything, and the agent got %s", got)
		}
		for _, program := range []string{"undefinedctl", "conflictctl", "shapelessctl perhaps", "latectl"} {
			if got := turnOf(t, s, program); strings.Contains(got, "tool_use") || !strings.Contains(got, "holdgate.policy_error") {
				t.Errorf("%s came to %s", program, got)
			}
		}
	})
	t.Run("a request that cannot be read", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t)
		s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--policy", write(t, "all.rego", everything),
			"--config", write(t, "holdgate.yaml", "limits: {body: 64KiB, call: 64KiB}\n"))
		whole := string(turn("hello", agentKind{}))
		for _, c := range []struct {
			name, body, encoding string
			status               int
		}{
			{"broken JSON", whole[:len(whole)-1], "", http.StatusBadRequest},
			{"two documents", whole + whole, "", http.StatusBadRequest},
			{"an unknown encoding", whole, "rot13", http.StatusUnsupportedMediaType},
			{"an encoding that it is not in", whole, "gzip", http.StatusBadRequest},
			{"a body over the limit", string(turn(strings.Repeat("a", 1<<17), agentKind{})), "", http.StatusRequestEntityTooLarge},
		} {
			resp := s.postEncoded(c.body, c.encoding)
			if got := body(t, resp); resp.StatusCode != c.status || !strings.Contains(got, `"type":"error"`) {
				t.Errorf("%s: status %d, want %d: %s", c.name, resp.StatusCode, c.status, got)
			}
		}
		if got := p.asked(""); len(got) != 0 {
			t.Errorf("the provider was asked: %.300q", got)
		}
		resp := s.postEncoded(whole, "")
		if got := body(t, resp); resp.StatusCode != http.StatusOK {
			t.Errorf("what can be read: status %d: %s", resp.StatusCode, got)
		}
	})
	t.Run("an answer that cannot be read", func(t *testing.T) {
		t.Parallel()
		whole := messagesAnswer(promise, []call{{id: "toolu_1", command: "ls"}})
		for name, answer := range map[string]string{
			"an end that is missing":    whole[:len(whole)-1],
			"a key that is there twice": strings.Replace(whole, `"input":{`, `"input":{"command":"rm -rf /",`, 1),
		} {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, answer) }))
			t.Cleanup(up.Close)
			s := serve(t, nil, "--upstream", "anthropic="+up.URL, "--policy", write(t, "all.rego", everything))
			if got := turnOf(t, s, "ls"); strings.Contains(got, "toolu_1") || !strings.Contains(got, `"type":"error"`) {
				t.Errorf("%s: the agent got %s", name, got)
			}
		}
	})
}

// postEncoded posts a request for a model's answer in a content encoding.
func (s *sidecar) postEncoded(text, encoding string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.base("anthropic")+"/v1/messages", strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// What policy allows passes byte for byte; what was approved keeps its id, name and
// arguments; what comes before a held call is not delayed; what two parsers could read
// differently is refused.
func TestPromise7(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.calls = func(command string) []call {
		return []call{{id: "toolu_1", command: "ls 'é \u2028'"}, {id: "toolu_2", command: command}}
	}
	s := serve(t, nil, "--upstream", "anthropic="+p.URL)
	for _, kind := range []agentKind{{stream: true}, {}} {
		ask := turn("run: ls", kind)
		got, want := posted(t, s.base("anthropic"), ask), posted(t, p.URL, ask)
		if got != want {
			t.Errorf("stream %t: the agent got\n%s\nwhere the provider said\n%s", kind.stream, got, want)
		}
		if bodies := p.asked("run: ls"); bodies[len(bodies)-1] != bodies[len(bodies)-2] {
			t.Errorf("the provider got %s, where the agent said %s", bodies[len(bodies)-2], bodies[len(bodies)-1])
		}
	}

	answer := s.asks("rm -rf two")
	r := answer.held()
	answer.sees(t, promise)
	s.answer(r.ID, "approve")
	<-answer.ended
	straight := posted(t, p.URL, turn("run: rm -rf two", agentKind{stream: true}))
	want := strings.TrimPrefix(arguments(straight), straight)
	if got := answer.arguments(); got != want {
		t.Errorf("approved were %s, and sent %s", want, got)
	}
	for _, begin := range []string{`"id":"toolu_1","name":"Bash"`, `"id":"toolu_2","name":"Bash"`} {
		if strings.Count(answer.String(), begin) != 1 {
			t.Errorf("%s is not there once: %s", begin, answer.String())
		}
	}

	for _, twice := range []string{`{"model":"other",`, `{"Model":"other",`} {
		before := len(p.asked(""))
		resp := s.postEncoded(strings.Replace(string(turn("hello", agentKind{})), "{", twice, 1), "")
		if got := body(t, resp); resp.StatusCode != http.StatusBadRequest || len(p.asked("")) != before {
			t.Errorf("a body that begins with %s: status %d: %s", twice, resp.StatusCode, got)
		}
	}
}
