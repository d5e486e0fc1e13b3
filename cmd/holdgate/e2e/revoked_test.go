package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// holdsCalls holds tool calls and gates, and lets all else pass.
const holdsCalls = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.all"}

decision := {"action": "hold", "rule": "test.hold", "reason": "every call"} if input.kind in {"tool_call", "gate"}
`

// An opened is what an agent has open at the agents' door.
type opened struct {
	s     *sidecar
	token string
	ended map[string]chan string // what came of each when it ended
}

// open sends a request and reads its answer to the end.
func (o *opened) open(name, method, path, ask string) {
	o.s.t.Helper()
	req, err := http.NewRequest(method, "http://"+o.s.agents+"/as/"+o.token+path, strings.NewReader(ask))
	if err != nil {
		o.s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	end := make(chan string, 1)
	o.ended[name] = end
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			end <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		end <- resp.Status + " " + string(text)
	}()
}

// end waits until the one of this name has ended, and is what came of it.
func (o *opened) end(name string) string {
	o.s.t.Helper()
	defer delete(o.ended, name)
	select {
	case got := <-o.ended[name]:
		return got
	case <-time.After(patience):
		o.s.t.Fatalf("%s has not ended", name)
		return ""
	}
}

// socket opens a WebSocket to a server that echoes, through the forward proxy.
func (o *opened) socket(echo string) *websocket.Conn {
	o.s.t.Helper()
	c, err := net.Dial("tcp", o.s.agents)
	if err != nil {
		o.s.t.Fatal(err)
	}
	o.s.t.Cleanup(func() { c.Close() })
	host := strings.TrimPrefix(echo, "http://")
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: Bearer %s\r\n\r\n", host, o.token)
	if resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil); err != nil || resp.StatusCode != http.StatusOK {
		o.s.t.Fatalf("CONNECT: %v %v", resp, err)
	}
	conf, err := websocket.NewConfig("ws://"+host+"/echo", echo)
	if err != nil {
		o.s.t.Fatal(err)
	}
	ws, err := websocket.NewClient(conf, c)
	if err != nil {
		o.s.t.Fatal(err)
	}
	if _, err := ws.Write([]byte("hello")); err != nil {
		o.s.t.Fatal(err)
	}
	if _, err := io.ReadFull(ws, make([]byte, 5)); err != nil {
		o.s.t.Fatal(err)
	}
	return ws
}

// trickle is a server whose answers begin and go on as the test says.
func trickle(t *testing.T) (url string, begun <-chan string, more chan struct{}) {
	t.Helper()
	began := make(chan string, 10)
	more = make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		events := messagesEvents("Here it comes.", nil)
		for i, e := range events {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
			if i != 1 {
				continue
			}
			began <- r.URL.Path
			select {
			case <-more:
			case <-r.Context().Done():
				return
			}
		}
	})
	up := httptest.NewServer(mux)
	t.Cleanup(up.Close)
	return up.URL, began, more
}

// What is open ends with the agent's token, whoever else's goes on, and a held call is
// delivered to nobody.
func TestWhatAnAgentHasOpenEndsWithItsToken(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	up, begun, more := trickle(t)
	echo := httptest.NewServer(websocket.Handler(func(c *websocket.Conn) { _, _ = io.Copy(c, c) }))
	t.Cleanup(echo.Close)
	agent := func(name, token string) string { return "  " + name + ": {token_sha256: " + hashOf(token) + "}\n" }
	bobs := agent("bob", "hgt_"+strings.Repeat("b2", 32))
	s := serveConfigured(t, teamConfig+"agents:\n"+agent("ann", annsToken)+bobs,
		"--upstream", "anthropic="+p.URL, "--upstream", "slow="+up, "--mcp", "echo="+echo.URL+"/mcp", "--policy", write(t, "holds.rego", holdsCalls))
	ann := &opened{s.sidecar, annsToken, map[string]chan string{}}
	bob := &opened{s.sidecar, "hgt_" + strings.Repeat("b2", 32), map[string]chan string{}}
	ann.open("a flowing stream", "POST", "/up/slow/v1/messages", string(turn("go", agentKind{stream: true})))
	ann.open("an answer of no known format", "GET", "/up/slow/download", "")
	bob.open("another's stream", "POST", "/up/slow/v1/messages", string(turn("go", agentKind{stream: true})))
	for range 3 {
		<-begun
	}
	ann.open("a held call in a stream", "POST", "/up/anthropic/v1/messages", string(turn("run: rm -rf one", agentKind{stream: true})))
	ann.open("a held call in a plain answer", "POST", "/up/anthropic/v1/messages", string(turn("run: rm -rf two", agentKind{})))
	ann.open("a gate", "POST", "/v1/gates", `{"type":"plan","message":"May I?"}`)
	requests := []request{s.held("rm -rf one"), s.held("rm -rf two"), s.held("May I?")}
	if got := ann.end("a gate"); !strings.HasPrefix(got, "201 ") {
		t.Fatalf("a gate: %s", got)
	}
	ann.open("a wait at a gate", "GET", "/v1/gates/"+requests[2].ID+"?wait=60s", "")
	ann.open("a wait for messages", "GET", "/v1/messages?wait=60s", "")
	socket := ann.socket(echo.URL)

	s.inForce(s.save(teamConfig + "agents:\n" + bobs))
	for name := range ann.ended {
		if got := ann.end(name); strings.Contains(got, "message_stop") || strings.Contains(got, "toolu_") {
			t.Errorf("%s: it was answered to its end: %s", name, got)
		} else if strings.HasPrefix(name, "a wait") && !strings.HasPrefix(got, "401 ") {
			t.Errorf("%s: the agent is not told why: %s", name, got)
		}
	}
	if n, err := socket.Read(make([]byte, 5)); err == nil {
		t.Errorf("the WebSocket brought %d bytes", n)
	}
	if !s.noted("open requests of the agent ann were ended, whose credential was taken back: ") {
		t.Error("the audit log does not say so")
	}
	for _, r := range requests {
		s.answer(r.ID, "approve")
	}
	close(more)
	if got := bob.end("another's stream"); !strings.Contains(got, "message_stop") {
		t.Errorf("another agent's stream: %s", got)
	}
	for _, e := range s.entries() {
		if e.Type == "used" {
			t.Errorf("an approval was used for the agent that is gone: %+v", e)
		}
	}
	s.must("audit", "verify")
}

// A person's event stream ends when the token is taken back, not when the next event
// comes.
func TestWhatAPersonHasOpenEndsWithTheirToken(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	events := s.as(bobsToken, "GET", "/v1/events", "")
	lines := bufio.NewReader(events.Body)
	if first, err := lines.ReadBytes('\n'); err != nil || !bytes.HasPrefix(first, []byte(":")) {
		t.Fatalf("%q %v", first, err)
	}
	s.inForce(s.save("approver: ada\npeople:\n  ada: {roles: [approve, admin]}\n"))
	_, _ = io.Copy(io.Discard, lines) // to its end
	until(t, "the log to say so", func() bool {
		return s.noted("open requests of the person bob were ended, whose credential was taken back: 1")
	})
}
