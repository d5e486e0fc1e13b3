package socket_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/store/audit"
)

// A talker is an upstream that speaks Responses over a WebSocket. Each request of its
// client's gets the messages that answer says.
type talker struct {
	answer func(n int, message string) []string // the n-th of all requests, from 0
	header http.Header
	leave  chan struct{} // ends the first connection, where it is closed

	mu     sync.Mutex
	asked  []string
	opened []http.Header
}

func (u *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	first := len(u.opened) == 0
	u.opened = append(u.opened, r.Header.Clone())
	u.mu.Unlock()
	for name, values := range u.header {
		w.Header()[name] = values
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if first && u.leave != nil {
		go func() {
			select {
			case <-u.leave:
				_ = c.CloseNow()
			case <-ctx.Done():
			}
		}()
	}
	for {
		_, m, err := c.Read(r.Context())
		if err != nil {
			return
		}
		u.mu.Lock()
		n := len(u.asked)
		u.asked = append(u.asked, string(m))
		u.mu.Unlock()
		for _, event := range u.answer(n, string(m)) {
			if event == hangUp {
				return
			}
			if c.Write(r.Context(), websocket.MessageText, []byte(event)) != nil {
				return
			}
		}
	}
}

const responsesPath = "/up/test/v1/responses"

// rcall is a function_call as an item.
func rcall(command string) string {
	return `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"command\":\"` + command + `\"}","call_id":"call_1","name":"Bash"}`
}

func rplain(status string, items ...string) string {
	return `{"id":"resp_1", "object":"response","status":"` + status + `","error":null,"model":"m","output":[` + strings.Join(items, ",") + `]}`
}

// hangUp is what a talker says to close the connection.
const hangUp = ""

func (u *talker) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.asked)
}

// callsFor is a talker whose answers have a call of this command.
func callsFor(command string) *talker {
	return &talker{answer: func(n int, _ string) []string { return wevents(n, command) }}
}

// wevents are the messages of the n-th answer, with a call.
func wevents(n int, command string) []string {
	out := []string{
		`{"type":"response.created","sequence_number":0,"response":` + rplain("in_progress") + `}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"Bash"}}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_1","output_index":0,"delta":"{\"command\":\"` + command + `\"}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":3,"item_id":"fc_1","output_index":0,"arguments":"{\"command\":\"` + command + `\"}"}`,
		`{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":` + rcall(command) + `}`,
		`{"type":"response.completed","sequence_number":5,"response":` + rplain("completed", rcall(command)) + `}`,
	}
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], `"resp_1"`, fmt.Sprintf(`"resp_%d"`, n+1))
		out[i] = strings.ReplaceAll(out[i], `"call_1"`, fmt.Sprintf(`"call_%d"`, n+1))
	}
	return out
}

// A talk is a client's WebSocket.
type talk struct {
	t *testing.T
	c *websocket.Conn
}

// talk opens a WebSocket at the base-URL door.
func dial(g *proxytest.Sidecar, header ...string) (*talk, *http.Response, error) {
	g.T.Helper()
	h := http.Header{"Session-Id": {"s1"}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	ctx, cancel := context.WithTimeout(g.T.Context(), proxytest.Patience)
	g.T.Cleanup(cancel)
	c, resp, err := websocket.Dial(ctx, g.URL+responsesPath, &websocket.DialOptions{HTTPHeader: h, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return nil, resp, err
	}
	c.SetReadLimit(-1)
	g.T.Cleanup(func() { _ = c.CloseNow() })
	return &talk{g.T.(*testing.T), c}, resp, nil
}

func talks(g *proxytest.Sidecar, header ...string) *talk {
	g.T.Helper()
	k, _, err := dial(g, header...)
	proxytest.Must(g.T, err)
	return k
}

func (k *talk) says(message string) {
	k.t.Helper()
	proxytest.Must(k.t, k.c.Write(k.t.Context(), websocket.MessageText, []byte(message)))
}

// hears reads messages until one ends an answer, or the connection ends.
func (k *talk) hears() (messages []string, err error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), proxytest.Patience)
	defer cancel()
	for {
		_, m, err := k.c.Read(ctx)
		if err != nil {
			return messages, err
		}
		messages = append(messages, string(m))
		if strings.Contains(string(m), `"type":"response.completed"`) || strings.Contains(string(m), `"type":"error"`) {
			return messages, nil
		}
	}
}

const wsAsk = `{"type":"response.create","model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}],"store":false}`

func TestAModelIsAskedOverAWebSocket(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	up.header = http.Header{"X-Codex-Turn-State": {"sticky"}}
	g := proxytest.New(t, up)
	k, resp, err := dial(g, "Authorization", "Bearer key")
	proxytest.Must(t, err)
	if resp.Header.Get("X-Codex-Turn-State") != "sticky" || resp.Header.Get("Sec-Websocket-Extensions") != "" {
		t.Errorf("the answer to the handshake has %v", resp.Header)
	}
	next := `{ "type": "response.create","previous_response_id":"resp_1",  "model":"m","input":[{"type":"function_call_output","call_id":"call_1","output":"ok"}]}`
	for n, message := range []string{wsAsk, next} {
		k.says(message)
		got, err := k.hears()
		proxytest.Must(t, err)
		if want := wevents(n, "ls"); !slices.Equal(got, want) {
			t.Errorf("answer %d is\n%s\nwant\n%s", n, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if got := up.all(); !slices.Equal(got, []string{wsAsk, next}) {
		t.Errorf("the upstream got %q", got)
	}
	if h := up.opened[0]; h.Get("Authorization") != "Bearer key" || h.Get("Sec-Websocket-Extensions") != "" || h.Get("Session-Id") != "s1" {
		t.Errorf("the upstream's connection was opened with %v", h)
	}
	kinds := map[string]int{}
	for _, e := range g.Entries(audit.TypeDecision) {
		kinds[string(e.Call.Kind)]++
		if e.Call.Session != "s1" {
			t.Errorf("the session is %q", e.Call.Session)
		}
	}
	if kinds["model_request"] != 3 || kinds["tool_call"] != 2 {
		t.Errorf("judged: %v", kinds)
	}
}

func TestACallOnAWebSocket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer holdgate.Answer
		text   string
	}{{"approved", holdgate.AnswerApprove, ""}, {"denied", holdgate.AnswerDeny, "not today"}, {"steered", holdgate.AnswerSteer, "move it instead"}} {
		t.Run(c.name, func(t *testing.T) {
			up := callsFor("gated")
			g := proxytest.New(t, up, proxytest.WithIdle(20*time.Millisecond))
			k := talks(g)
			k.says(wsAsk)
			r := g.Pending(1)[0]
			var before []string
			ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
			defer cancel()
			for !strings.Contains(strings.Join(before, ""), "keepalive") {
				_, m, err := k.c.Read(ctx)
				proxytest.Must(t, err)
				before = append(before, string(m))
			}
			if strings.Contains(strings.Join(before, ""), "gated") {
				t.Fatalf("before anybody decided it says %q", before)
			}
			g.Decide(r, c.answer, c.text)
			got, err := k.hears()
			proxytest.Must(t, err)
			all := slices.DeleteFunc(append(before, got...), func(m string) bool { return strings.Contains(m, `"type":"keepalive"`) })
			if c.answer == holdgate.AnswerApprove {
				if want := wevents(0, "gated"); !slices.Equal(all, want) {
					t.Errorf("approved, it is\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
				}
				return
			}
			if said := strings.Join(all, ""); strings.Contains(said, "function_call") || !strings.Contains(said, c.text) {
				t.Errorf("it is %s", said)
			}
			// What the provider keeps on the connection has the call, and wants its result.
			k.says(`{"type":"response.create","previous_response_id":"resp_1","model":"m","input":"well?"}`)
			if asked := up.all; true {
				g.Pending(1)
				if next := asked()[1]; !strings.Contains(next, `"function_call_output"`) || !strings.Contains(next, `"type":"response.create"`) {
					t.Errorf("the next request is %s", next)
				}
			}
		})
	}
}

// A client that lost its connection says everything again on another one.
func TestARetryOnAnotherWebSocketJoinsWhatWaits(t *testing.T) {
	t.Parallel()
	up := &talker{answer: func(n int, _ string) []string {
		return wevents(n, map[bool]string{true: "ls", false: "gated"}[n == 0])
	}}
	g := proxytest.New(t, up)
	k := talks(g)
	k.says(wsAsk)
	first, err := k.hears()
	proxytest.Must(t, err)
	k.says(`{"type":"response.create","client_metadata":{"turn":"1"},"previous_response_id":"resp_1","model":"m","input":[{"type":"function_call_output","call_id":"call_1","output":"ok"}],"store":false}`)
	r := g.Pending(1)[0]
	proxytest.Must(t, k.c.CloseNow())
	g.Noticed()
	g.Decide(r, holdgate.AnswerApprove, "")

	k = talks(g)
	k.says(`{"type":"response.create","client_metadata":{"turn":"2"},"model":"m","store":false,"input":[{"type":"message","role":"user","content":[{"text":"go","type":"input_text"}]},` +
		`{"type":"function_call","name":"Bash","arguments":"{\"command\":\"ls\"}","call_id":"call_1"},{"type":"function_call_output","call_id":"call_1","output":"ok"}]}`)
	got, err := k.hears()
	proxytest.Must(t, err)
	if want := wevents(1, "gated"); !slices.Equal(got, want) {
		t.Errorf("the answer is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := k.hears(); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("afterwards: %v", err)
	}
	if n := len(up.all()); n != 2 || len(first) == 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if n := len(g.Entries(audit.TypeUsed)); n != 1 {
		t.Errorf("%d approvals were used", n)
	}
}

// Other conversations are other requests, however alike their ends are.
func TestAnotherConversationJoinsNothing(t *testing.T) {
	t.Parallel()
	up := callsFor("gated")
	g := proxytest.New(t, up)
	ask := func(said string) string {
		return `{"type":"response.create","model":"m","input":[{"role":"user","content":"` + said + `"},{"role":"assistant","content":"well"},{"role":"user","content":"yes"}]}`
	}
	k := talks(g)
	k.says(ask("one"))
	g.Pending(1)
	proxytest.Must(t, k.c.CloseNow())
	g.Noticed()
	talks(g).says(ask("two"))
	g.Pending(2)
}

// A request that is itself held waits for as long as people take.
func TestARequestOnAWebSocketWaits(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	g := proxytest.New(t, up, proxytest.WithIdle(10*time.Millisecond), func(c *proxy.Config) { c.Limits.Budget = time.Millisecond })
	k := talks(g)
	k.says(strings.Replace(wsAsk, `"model":"m"`, `"model":"gated"`, 1))
	r := g.Pending(1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	if _, m, err := k.c.Read(ctx); err != nil || string(m) != `{"type":"keepalive"}` {
		t.Fatalf("while it waits the client gets %q, %v", m, err)
	}
	if len(up.all()) != 0 {
		t.Error("it was sent before anybody decided")
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	got, err := k.hears()
	proxytest.Must(t, err)
	got = slices.DeleteFunc(got, func(m string) bool { return strings.Contains(m, `"type":"keepalive"`) })
	if !slices.Equal(got, wevents(0, "ls")) {
		t.Errorf("it gets %q", got)
	}
	k.says(strings.Replace(wsAsk, `"model":"m"`, `"model":"forbidden"`, 1))
	if got, err = k.hears(); err != nil || !strings.Contains(got[len(got)-1], `"status":400`) || !strings.Contains(got[len(got)-1], "it says forbidden") {
		t.Errorf("refused, it gets %q, %v", got, err)
	}
}

// An upstream that leaves while people decide about a request ends the wait, not the request:
// what is approved then is used on the next connection, and not before.
func TestAnApprovalIsNotUsedForAnUpstreamThatHasLeft(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	up.leave = make(chan struct{})
	g := proxytest.New(t, up)
	gated := strings.Replace(wsAsk, `"model":"m"`, `"model":"gated"`, 1)
	k := talks(g)
	k.says(gated)
	r := g.Pending(1)[0]
	close(up.leave)
	got, err := k.hears()
	proxytest.Must(t, err)
	if last := got[len(got)-1]; !strings.Contains(last, "ask again") {
		t.Errorf("it is told %s", last)
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	if n := len(g.Entries(audit.TypeUsed)); n != 0 || len(up.all()) != 0 {
		t.Errorf("the approval was used %d times, and sent were %q", n, up.all())
	}
	k = talks(g)
	k.says(gated)
	if got, err = k.hears(); err != nil || !slices.Equal(got, wevents(0, "ls")) {
		t.Errorf("on the next connection it gets %q, %v", got, err)
	}
	if n := len(g.Entries(audit.TypeUsed)); n != 1 || len(up.all()) != 1 {
		t.Errorf("the approval was used %d times, and sent were %q", n, up.all())
	}
}
