package socket_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/store/audit"
)

// Messages of a client that are none, or could be read in two ways. Each is refused in words
// and in the log, and the connection serves the next one.
func TestMessagesOnAWebSocketThatAreRefused(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	g := proxytest.New(t, up)
	k := talks(g)
	for name, message := range map[string]string{
		"two requests in one message":        wsAsk + wsAsk,
		"two requests in a list":             "[" + wsAsk + "," + wsAsk + "]",
		"a key twice":                        `{"type":"response.create","model":"m","input":"a","input":"b"}`,
		"the type twice":                     `{"type":"response.create","type":"response.create","model":"m","input":"a"}`,
		"a key in another case":              `{"type":"response.create","model":"m","input":"a","Tools":[]}`,
		"the type's key in another case":     `{"Type":"response.create","model":"m","input":"a"}`,
		"the stream's key in another case":   `{"type":"response.create","model":"m","input":"a","Stream_ID":"1"}`,
		"the type in another case":           `{"type":"Response.Create","model":"m","input":"a"}`,
		"no type":                            `{"model":"m","input":"a"}`,
		"a type that is no text":             `{"type":["response.create"],"model":"m","input":"a"}`,
		"a request in a member":              `{"type":"response.create","model":"m","input":"a","response":{"model":"m","input":"forbidden"}}`,
		"a request beside others":            `{"type":"response.create","model":"m","input":"a","stream_id":"1"}`,
		"a request in the background":        `{"type":"response.create","model":"m","input":"a","background":true}`,
		"a cancellation":                     `{"type":"response.cancel"}`,
		"a word in the midst":                `{"type":"response.steer","input":"forbidden"}`,
		"another API":                        `{"type":"session.update","session":{"tools":[]}}`,
		"nothing asked":                      `{"type":"response.create"}`,
		"no JSON":                            `hello`,
		"nothing":                            ``,
		"blanks":                             "  \n",
		"a number":                           `1`,
		"a byte order mark":                  "\ufeff" + wsAsk,
		"half a surrogate in a key":          `{"type":"response.create","model":"m","input":"a","\ud800":1}`,
		"a response that is no text":         `{"type":"response.create","model":"m","input":"a","previous_response_id":1}`,
		"a request after an end of the text": wsAsk + "\x00",
		"too deep":                           `{"type":"response.create","model":"m","input":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"a model that is denied":             strings.Replace(wsAsk, `"m"`, `"forbidden"`, 1),
		"a model that is denied, escaped":    strings.Replace(wsAsk, `"m"`, `"forbidd\u0065n"`, 1),
	} {
		k.says(message)
		got, err := k.hears()
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"error","status":400,`) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := up.all(); len(got) != 0 {
		t.Errorf("the upstream got %q", got)
	}
	k.says(wsAsk)
	if got, err := k.hears(); err != nil || !slices.Equal(got, wevents(0, "ls")) {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

// A rawTalk is a client that writes frames as a test says.
type rawTalk struct {
	t *testing.T
	net.Conn
}

func rawly(g *proxytest.Sidecar) rawTalk {
	g.T.Helper()
	c, err := net.Dial("tcp", g.Addr)
	proxytest.Must(g.T, err)
	g.T.Cleanup(func() { c.Close() })
	proxytest.Must(g.T, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	_, err = io.WriteString(c, "GET "+responsesPath+" HTTP/1.1\r\nHost: "+g.Addr+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	proxytest.Must(g.T, err)
	head, b := "", make([]byte, 1)
	for !strings.HasSuffix(head, "\r\n\r\n") {
		_, err := c.Read(b)
		proxytest.Must(g.T, err)
		head += string(b)
	}
	if !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		g.T.Fatalf("the handshake: %s", head)
	}
	return rawTalk{g.T.(*testing.T), c}
}

// frame writes a frame with this first byte, masked by nothing but zeros where it is masked.
func (c rawTalk) frame(first byte, masked bool, payload string) {
	b := []byte{first}
	mask := byte(0)
	if masked {
		mask = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, mask|byte(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, mask|127), uint64(n))
	}
	if masked {
		b = append(b, 0, 0, 0, 0)
	}
	_, _ = c.Write(append(b, payload...)) // who has been cut off notices it as it reads
}

// rest is all that comes until the connection ends.
func (c rawTalk) rest() string {
	b, _ := io.ReadAll(c) // a reset is an end, too
	return string(b)
}

// Frames that no client writes end the connection, and nothing of them goes on.
func TestFramesOfAWebSocketThatEndIt(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	g := proxytest.New(t, up, func(c *proxy.Config) { c.Limits.Body = 1 << 12 })
	for name, write := range map[string]func(rawTalk){
		"not masked":                  func(c rawTalk) { c.frame(0x81, false, wsAsk) },
		"compressed":                  func(c rawTalk) { c.frame(0xc1, true, wsAsk) },
		"a bit of no extension":       func(c rawTalk) { c.frame(0xa1, true, wsAsk) },
		"binary":                      func(c rawTalk) { c.frame(0x82, true, wsAsk) },
		"of an unknown kind":          func(c rawTalk) { c.frame(0x83, true, wsAsk) },
		"not UTF-8":                   func(c rawTalk) { c.frame(0x81, true, strings.Replace(wsAsk, "go", "g\xff", 1)) },
		"the rest of nothing":         func(c rawTalk) { c.frame(0x80, true, wsAsk) },
		"a message in another":        func(c rawTalk) { c.frame(0x01, true, wsAsk[:20]); c.frame(0x81, true, wsAsk) },
		"larger than the limit":       func(c rawTalk) { c.frame(0x81, true, strings.Replace(wsAsk, "go", strings.Repeat("a", 1<<13), 1)) },
		"larger in parts":             func(c rawTalk) { c.frame(0x01, true, strings.Repeat(" ", 1<<12)); c.frame(0x80, true, wsAsk) },
		"a long ping":                 func(c rawTalk) { c.frame(0x89, true, strings.Repeat("a", 200)) },
		"a ping in parts":             func(c rawTalk) { c.frame(0x09, true, "a") },
		"a length that is negative":   func(c rawTalk) { _, _ = c.Write([]byte{0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) },
		"a close with half a code":    func(c rawTalk) { c.frame(0x88, true, "x") },
		"more requests than can wait": func(c rawTalk) { c.frame(0x81, true, "[]"); c.frame(0x8f, true, "") },
	} {
		t.Run(name, func(t *testing.T) {
			c := rawly(g)
			write(c)
			if got := c.rest(); strings.Contains(got, "response.created") {
				t.Errorf("it was answered: %q", got)
			}
		})
	}
	if got := up.all(); len(got) != 0 {
		t.Errorf("the upstream got %q", got)
	}
}

// A message in several frames, with a ping between them, is one message.
func TestAMessageInFrames(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	c := rawly(proxytest.New(t, up))
	c.frame(0x01, true, wsAsk[:10])
	c.frame(0x89, true, "?")
	c.frame(0x00, true, wsAsk[10:30])
	c.frame(0x80, true, wsAsk[30:])
	b, got := make([]byte, 4<<10), ""
	for !strings.Contains(got, "response.completed") {
		n, err := c.Read(b)
		proxytest.Must(t, err)
		got += string(b[:n])
	}
	if asked := up.all(); !slices.Equal(asked, []string{wsAsk}) {
		t.Errorf("the upstream got %q", asked)
	}
}

// A client that asks on while people decide has one request in line, and no more.
func TestRequestsInLineOnAWebSocket(t *testing.T) {
	t.Parallel()
	up := &talker{answer: func(n int, _ string) []string {
		return wevents(n, map[bool]string{true: "gated", false: "forbidden"}[n == 0])
	}}
	g := proxytest.New(t, up)
	k := talks(g)
	k.says(wsAsk)
	r := g.Pending(1)[0]
	k.says(wsAsk)
	if n := len(up.all()); n != 1 {
		t.Fatalf("%d requests were sent while one was held", n)
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	for _, want := range []string{"gated", "it says forbidden"} {
		got, err := k.hears()
		proxytest.Must(t, err)
		if all := strings.Join(got, ""); !strings.Contains(all, want) {
			t.Errorf("it should say %q: %s", want, all)
		}
	}
	k.says(strings.Replace(wsAsk, `"go"`, `"on"`, 1))
	g.Pending(0)
	_, err := k.hears()
	proxytest.Must(t, err)
}

// What an upstream says that could hide a call does not reach the client.
func TestWhatAnUpstreamSaysOnAWebSocketIsRead(t *testing.T) {
	t.Parallel()
	item := func(command string) string { return rcall(command) }
	done := `{"type":"response.output_item.done","output_index":0,"item":` + item("forbidden") + `}`
	completed := `{"type":"response.completed","response":` + rplain("completed", item("forbidden")) + `}`
	for name, events := range map[string][]string{
		"a call":                               wevents(0, "forbidden"),
		"a call in its end alone":              {completed},
		"a call that is done alone":            {done, `{"type":"response.completed","response":` + rplain("completed") + `}`},
		"a call in a list":                     {"[" + done + "]"},
		"two events in one message":            {`{"type":"response.created","response":` + rplain("in_progress") + `}` + done},
		"an event behind a line":               {"{\"type\":\"keepalive\"}\n\ndata: " + done},
		"an event behind a line of Unicode":    {"{\"type\":\"keepalive\"}\u2028data: " + done},
		"an event in lines":                    {strings.ReplaceAll(done, ",", ",\n")},
		"a call of an unknown kind of event":   {`{"type":"response.output_item.created","output_index":0,"item":` + item("forbidden") + `}`},
		"a call in an event without a type":    {`{"output_index":0,"item":` + item("forbidden") + `}`},
		"a call in a sign of life":             {`{"type":"keepalive","item":` + item("forbidden") + `}`},
		"a call in an error":                   {`{"type":"error","item":` + item("forbidden") + `}`},
		"a call under a key in another case":   {`{"type":"response.output_item.done","output_index":0,"Item":` + item("forbidden") + `}`},
		"a type in another case":               {strings.Replace(done, "response.output_item.done", "Response.Output_Item.Done", 1)},
		"a type that is there twice":           {strings.Replace(done, `{"type"`, `{"type":"keepalive","type"`, 1)},
		"an item that is there twice":          {`{"type":"response.output_item.done","output_index":0,"item":` + item("ls") + `,"item":` + item("forbidden") + `}`},
		"arguments of no call":                 {`{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_9","arguments":"forbidden"}`},
		"bytes that are no text":               {strings.Replace(done, "Bash", "B\xffsh", 1)},
		"a call behind the end of an answer":   append(wevents(0, "ls"), done),
		"a call in a response inside an error": {`{"type":"error","response":` + rplain("failed", item("forbidden")) + `}`},
		"a call in an unknown event":           {`{"type":"response.new","response":` + rplain("completed", item("forbidden")) + `}`},
		"text that is no JSON":                 {"forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			up := &talker{answer: func(n int, _ string) []string {
				if n == 0 {
					return append(slices.Clone(events), hangUp)
				}
				return wevents(n, "ls")
			}}
			g := proxytest.New(t, up)
			k := talks(g)
			k.says(wsAsk)
			var all []string
			for {
				got, err := k.hears()
				all = append(all, got...)
				if err != nil {
					break
				}
			}
			for _, m := range all {
				if strings.Contains(m, `forbidden\"`) || strings.Contains(m, `"forbidden"`) || m == "forbidden" {
					t.Errorf("the client gets %s", m)
				}
			}
		})
	}
}

// What a server-sent event could not say in the same bytes reaches the client as it came.
func TestMessagesWithLineEndsPassAsTheyCame(t *testing.T) {
	t.Parallel()
	events := wevents(0, "ls")
	text := "{\n\t\"type\": \"response.output_text.delta\",\r\n\"output_index\":7,\"delta\":\"a\u2028data: {\\\"x\\\":1}\u2029\u0085b\"\n}\n"
	sent := slices.Concat(events[:1], []string{text}, events[1:])
	up := &talker{answer: func(int, string) []string { return sent }}
	g := proxytest.New(t, up)
	k := talks(g)
	k.says(wsAsk)
	got, err := k.hears()
	proxytest.Must(t, err)
	if !slices.Equal(got, sent) {
		t.Errorf("got\n%q\nwant\n%q", got, sent)
	}
}

// Where no WebSocket can be had the client is told to use HTTP; where the upstream says no
// to its account, that.
func TestAWebSocketThatIsNotOpened(t *testing.T) {
	t.Parallel()
	deny := proxytest.WithPolicy(t, "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"hold\", \"rule\": \"test.all\"}\n")
	status := func(code int) http.Handler { return proxytest.Answer(&proxytest.Counter{}, code, `{"error":"no"}`) }
	for _, c := range []struct {
		name   string
		up     http.Handler
		opts   []proxytest.Option
		header []string
		want   int
	}{
		{"unknown there", status(404), nil, nil, 426},
		{"refused there", status(403), nil, nil, 403},
		{"no key", status(401), nil, nil, 401},
		{"too many", status(429), nil, nil, 429},
		{"broken there", status(503), nil, nil, 426},
		{"led elsewhere", http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound), nil, nil, 426},
		{"an answer without an upgrade", status(200), nil, nil, 426},
		{"asked about by policy", callsFor("ls"), []proxytest.Option{deny}, nil, 426},
		{"another method in a header", callsFor("ls"), nil, []string{"X-Http-Method-Override", "DELETE"}, 426},
		{"another path in a header", callsFor("ls"), nil, []string{"X-Original-Url", "/v1/files"}, 426},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := proxytest.New(t, c.up, c.opts...)
			_, resp, err := dial(g, c.header...)
			if err == nil || resp == nil || resp.StatusCode != c.want {
				t.Fatalf("got %v, %v", resp, err)
			}
			if u, ok := c.up.(*talker); ok && len(u.opened) > 0 {
				t.Error("the upstream was connected to")
			}
			g.Pending(0)
		})
	}
}

// People who stop an agent end its WebSocket, also between two answers.
func TestAWebSocketOfAModelEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, callsFor("ls"))
	k := talks(g)
	k.says(wsAsk)
	_, err := k.hears()
	proxytest.Must(t, err)
	g.Intervene(holdgate.AgentDefault, "stop")
	if _, err := k.hears(); websocket.CloseStatus(err) != websocket.StatusPolicyViolation || !strings.Contains(fmt.Sprint(err), "stopped") {
		t.Errorf("it ends with %v", err)
	}
	if _, _, err := dial(g); err == nil {
		t.Error("it opened another one")
	}
}

// A shutdown ends WebSockets that are idle, and leaves pending what waits.
func TestAShutdownEndsWebSockets(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, callsFor("gated"))
	idle, waits := talks(g), talks(g)
	waits.says(wsAsk)
	g.Pending(1)
	heard := make(chan error, 1)
	go func() { _, err := idle.hears(); heard <- err }()
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	proxytest.Must(t, g.Server.Shutdown(ctx))
	if err := <-heard; websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the idle one ends with %v", err)
	}
	if got, err := waits.hears(); err == nil || strings.Contains(strings.Join(got, ""), "gated") {
		t.Errorf("what waited says %q, %v", got, err)
	}
	g.Pending(1)
}

// Through the forward proxy, in TLS, it is the same.
func TestAWebSocketToAModelThroughTheForwardProxy(t *testing.T) {
	t.Parallel()
	up := callsFor("forbidden")
	g, url := proxytest.NewTLS(t, up)
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url+"/v1/responses", &websocket.DialOptions{HTTPClient: g.Proxied()})
	proxytest.Must(t, err)
	defer c.CloseNow()
	k := &talk{t, c}
	k.says(wsAsk)
	got, err := k.hears()
	proxytest.Must(t, err)
	if all := strings.Join(got, ""); strings.Contains(all, "function_call") || !strings.Contains(all, "it says forbidden") {
		t.Errorf("it says %s", all)
	}
	if e := g.Entries(audit.TypeDecision); len(e) != 3 || !strings.Contains(e[0].Note, "opens a WebSocket to") || e[0].Door != "forward" {
		t.Errorf("judged: %+v", e)
	}
}

// What people let be sent is all of a request, not what tells it from others: the words that
// a client may repeat or not are no place for something else.
func TestAnApprovedRequestIsSentAsItWasShown(t *testing.T) {
	t.Parallel()
	up := callsFor("ls")
	g := proxytest.New(t, up)
	ask := func(tail string) string {
		return `{"type":"response.create","model":"gated","input":[{"role":"user","content":"go"},` + tail + `]}`
	}
	k := talks(g)
	k.says(ask(`{"role":"assistant","content":"well"}`))
	r := g.Pending(1)[0]
	proxytest.Must(t, k.c.CloseNow())
	g.Noticed()
	g.Decide(r, holdgate.AnswerApprove, "")
	for _, other := range []string{`{"role":"assistant","content":"other"}`, `{"type":"reasoning","id":"rs","summary":[{"text":"other"}]}`} {
		k = talks(g)
		k.says(ask(other))
		g.Pending(1)
		proxytest.Must(t, k.c.CloseNow())
		g.Noticed()
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "")
	}
	if got := up.all(); len(got) != 0 {
		t.Errorf("the upstream got %q", got)
	}
	k = talks(g)
	k.says(ask(`{"role":"assistant","content":"well"}`))
	if got, err := k.hears(); err != nil || len(got) != len(wevents(0, "ls")) {
		t.Errorf("the request that was approved: %q, %v", got, err)
	}
}

// Opening a WebSocket is a request of its own: it is decided and in the log before anything
// is sent, waits while people have paused the agent, and says no key that its address has.
func TestOpeningAWebSocketIsDecided(t *testing.T) {
	t.Parallel()
	t.Run("denied", func(t *testing.T) {
		up := callsFor("ls")
		g := proxytest.New(t, up, proxytest.WithPolicy(t, "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"deny\", \"rule\": \"test.all\", \"reason\": \"no\"}\n"))
		_, resp, err := dial(g)
		if err == nil || resp == nil || resp.StatusCode != http.StatusUpgradeRequired || len(up.opened) != 0 {
			t.Fatalf("it is opened: %v, %v", resp, err)
		}
		if e := g.Entries(audit.TypeDecision); len(e) != 1 || e[0].Decision.Rule != "test.all" || !strings.Contains(e[0].Note, "opens a WebSocket") {
			t.Errorf("logged: %+v", e)
		}
	})
	t.Run("paused", func(t *testing.T) {
		up := callsFor("ls")
		g := proxytest.New(t, up, func(c *proxy.Config) { c.Limits.Budget = time.Millisecond })
		g.Intervene(holdgate.AgentDefault, "pause")
		_, resp, err := dial(g)
		if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable || len(up.opened) != 0 {
			t.Errorf("a paused agent: %v, %v", resp, err)
		}
	})
	t.Run("a key in the address", func(t *testing.T) {
		g := proxytest.NewTo(t, map[string]string{"test": "http://127.0.0.1:1"}, nil)
		_, resp, err := websocket.Dial(t.Context(), g.URL+responsesPath+"?api-key=sk-verysecret123", nil)
		if err == nil || resp == nil || resp.StatusCode != http.StatusUpgradeRequired {
			t.Fatalf("got %v, %v", resp, err)
		}
		if body := proxytest.ReadAll(t, resp.Body); strings.Contains(body, "verysecret") {
			t.Errorf("the client is told %s", body)
		}
	})
	t.Run("too many", func(t *testing.T) {
		g := proxytest.New(t, callsFor("ls"))
		var last *talk
		for range 32 {
			last = talks(g)
		}
		if _, resp, err := dial(g); err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("the 33rd: %v, %v", resp, err)
		}
		proxytest.Must(t, last.c.CloseNow())
		g.Noticed()
		talks(g)
	})
}
