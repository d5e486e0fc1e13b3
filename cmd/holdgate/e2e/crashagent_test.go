package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// An agentKind is a protocol in a form.
type agentKind struct {
	name   string
	path   string // at the agents' door
	stream bool
}

// agentKinds are the agents of a round. Those named "both" get two calls in
// one answer.
var agentKinds = []agentKind{
	{"messages-both", "/up/anthropic/v1/messages", true},
	{"messages-stream", "/up/anthropic/v1/messages", true},
	{"messages-plain", "/up/anthropic/v1/messages", false},
	{"chat-both", "/up/openai/v1/chat/completions", true},
	{"chat-plain-both", "/up/openai/v1/chat/completions", false},
	{"mcp", "/mcp/files", true},
	{"mcp-plain", "/mcp/files", false},
}

// An agent asks for one thing, and asks again in the same words until it has
// an answer, as real clients do.
type agent struct {
	c       *crash
	kind    agentKind
	command string
	rnd     *rand.Rand
	tries   int
}

// impatient is on how many of its first tries an agent may hang up by itself.
const impatient = 2

// run asks until it has its answer, or the round is over.
func (a *agent) run(round context.Context) {
	ctx, cancel := context.WithTimeout(round, patience)
	defer cancel()
	last := ""
	for ctx.Err() == nil {
		a.tries++
		raw, whole := a.try(ctx)
		last = raw
		a.note(raw)
		if whole {
			a.check(raw)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(1+a.rnd.IntN(20)) * time.Millisecond): // it backs off
		}
	}
	if round.Err() != nil {
		return
	}
	a.c.t.Errorf("%s: silence: no answer in %v and %d tries; the last was %q", a.command, patience, a.tries, last)
}

// try asks once. It returns every byte that came, and whether these are an
// answer that the client would take.
func (a *agent) try(ctx context.Context) (raw string, whole bool) {
	if a.tries <= impatient && a.rnd.IntN(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.rnd.IntN(60))*time.Millisecond)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.c.side.Load().agents+a.kind.path, bytes.NewReader(a.body()))
	if err != nil {
		a.c.t.Error(err)
		return "", false
	}
	req.Header.Set("Content-Type", "application/json")
	if a.isMCP() && a.kind.stream {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	raw = string(b)
	if err != nil {
		return raw, false
	}
	return raw, resp.StatusCode == http.StatusOK && a.whole(raw)
}

func (a *agent) isMCP() bool { return strings.HasPrefix(a.kind.name, "mcp") }

// whole reports whether the answer has its end.
func (a *agent) whole(raw string) bool {
	switch {
	case strings.Contains(raw, "waits for a person"):
		return false // an MCP client is told to call again
	case a.isMCP():
		return strings.Contains(raw, `"result":`)
	case a.kind.stream:
		return strings.Contains(raw, "message_stop") || strings.Contains(raw, "data: [DONE]")
	}
	return json.Valid([]byte(raw))
}

func (a *agent) body() []byte {
	if a.isMCP() {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":%s}}}`, a.tries, quoted(a.path()))
	}
	return turn("run: "+a.command, a.kind)
}

// turn is a request for an answer, with a tool that the model may call.
func turn(prompt string, kind agentKind) []byte {
	tool := `{"name":"Bash","input_schema":{"type":"object"}}`
	if strings.HasPrefix(kind.name, "chat") {
		tool = `{"type":"function","function":{"name":"Bash","parameters":{"type":"object"}}}`
	}
	return fmt.Appendf(nil, `{"model":"test","max_tokens":100,"stream":%t,"tools":[%s],"messages":[{"role":"user","content":%s}]}`, kind.stream, tool, quoted(prompt))
}

// turnOf asks for a turn in which the model wants the command, and returns the
// answer.
func turnOf(t *testing.T, s *sidecar, command string) string {
	t.Helper()
	return posted(t, s.base("anthropic"), turn("run: "+command, agentKind{}))
}

// posted is the answer to a request for a model's answer.
func posted(t *testing.T, base string, ask []byte) string {
	t.Helper()
	resp, err := http.Post(base+"/v1/messages", "application/json", bytes.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	return body(t, resp)
}

// path is the file that an MCP agent deletes.
func (a *agent) path() string { return "/srv/" + slug(a.command) }

var callID = regexp.MustCompile(`toolu_n\d+n`)

// note remembers what arrived on this connection, however little of it.
func (a *agent) note(raw string) {
	connection := fmt.Sprintf("%s #%d", a.command, a.tries)
	found := map[string]bool{}
	for _, id := range callID.FindAllString(raw, -1) {
		found[id] = true
	}
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	for id := range found {
		a.c.delivered[id] = append(a.c.delivered[id], connection)
	}
}

// check checks a whole answer: each call of the model's is there with the very
// arguments that the model gave or that a person put in their place, or a notice
// stands for it.
func (a *agent) check(raw string) {
	if a.isMCP() {
		return // what its server did is checked at the end of the round
	}
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	ids := map[string]bool{}
	for _, id := range callID.FindAllString(raw, -1) {
		ids[id] = true
	}
	for id := range ids {
		said, got := a.c.said[id], arguments(raw)
		a.c.edited[id] = strings.Contains(got, editedArguments(said.arguments()))
		if !a.c.edited[id] && !strings.Contains(got, said.arguments()) || !strings.HasPrefix(said.command, a.command) {
			a.c.t.Errorf("%s got call %s, and not the arguments %s that the model gave:\n%s", a.command, id, said.arguments(), raw)
		}
	}
	want := 1 + strings.Count(a.command, "both")
	if got := len(ids) + strings.Count(raw, "was not run"); got != want {
		a.c.t.Errorf("%s got %d calls and notices, want %d:\n%s", a.command, got, want, raw)
	}
}

var fragment = regexp.MustCompile(`"(?:partial_json|arguments)":("(?:[^"\\]|\\.)*")`)

// arguments is an answer with the arguments that its events carry in parts
// joined behind it.
func arguments(raw string) string {
	var b strings.Builder
	b.WriteString(raw)
	for _, m := range fragment.FindAllStringSubmatch(raw, -1) {
		var part string
		if json.Unmarshal([]byte(m[1]), &part) == nil {
			b.WriteString(part)
		}
	}
	return b.String()
}
