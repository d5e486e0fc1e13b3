package mcphost

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestEachSessionIsAProcess(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	one, two := h.session(), h.session()
	a, b := h.pid(one, ask("1", "pid")), h.pid(two, ask("1", "pid"))
	if again := h.pid(one, ask("2", "pid")); a == b || again != a {
		t.Errorf("processes %d, %d and %d", a, b, again)
	}
	if status, _, text := h.do(t.Context(), "DELETE", one, ""); status != 200 {
		t.Errorf("the end of a session: %d, %s", status, text)
	}
	ends(t, a)
	for _, session := range []string{one, "unknown"} {
		eventually(t, "the session is unknown", func() bool {
			status, _, _ := h.do(t.Context(), "POST", session, ask("3", "pid"))
			return status == 404
		})
		if status, _, _ := h.do(t.Context(), "GET", session, ""); status != 404 {
			t.Errorf("a stream of an unknown session: %d", status)
		}
	}
	if again := h.pid(two, ask("2", "pid")); again != b {
		t.Errorf("the other session is process %d, and was %d", again, b)
	}
	if status, _, text := h.do(t.Context(), "POST", "", ask("1", "pid")); status != 400 || !strings.Contains(text, "initialize") {
		t.Errorf("a request of no session: %d, %s", status, text)
	}
	if status, _, _ := h.do(t.Context(), "PUT", two, "x"); status != 405 {
		t.Errorf("PUT: %d", status)
	}
}

func TestAnswersAndWhatComesBeforeThem(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.session()
	status, header, text := h.do(t.Context(), "POST", s, ask(`"a"`, "pid"))
	if status != 200 || header.Get("Content-Type") != "application/json" || !strings.Contains(text, `"id":"a"`) {
		t.Errorf("an answer alone: %d %s %s", status, header, text)
	}
	status, header, text = h.do(t.Context(), "POST", s, ask("2", "steps"))
	if progress := strings.Index(text, `"progressToken":2`); status != 200 || header.Get("Content-Type") != "text/event-stream" || progress < 0 || strings.Index(text, `"id":2`) < progress {
		t.Errorf("an answer behind progress: %d %s %s", status, header, text)
	}
	if status, _, text := h.do(t.Context(), "POST", s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != 202 || text != "" {
		t.Errorf("a notification: %d, %q", status, text)
	}
}

func TestAServerAsksItsClient(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.session()
	resp, err := h.RoundTrip(h.request(t.Context(), "POST", s, ask("5", "asks")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewScanner(resp.Body)
	if line := nextData(events); !strings.Contains(line, `"method":"roots/list"`) {
		t.Fatalf("the client gets %q", line)
	}
	if status, _, text := h.do(t.Context(), "POST", s, `{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}`); status != 202 {
		t.Errorf("the client's answer: %d, %s", status, text)
	}
	if line := nextData(events); !strings.Contains(line, `"id":5`) || !strings.Contains(line, `"roots":[]`) {
		t.Errorf("the client gets %q", line)
	}
}

func nextData(lines *bufio.Scanner) string {
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

// What a server sends by itself waits for the client's stream.
func TestWhatAServerSendsByItself(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.session()
	news := `{"jsonrpc":"2.0","method":"news"}`
	if status, _, _ := h.do(t.Context(), "POST", s, news); status != 202 {
		t.Fatalf("status %d", status)
	}
	eventually(t, "the news has come", func() bool {
		h.mu.Lock()
		ss := h.sessions[s]
		h.mu.Unlock()
		ss.mu.Lock()
		defer ss.mu.Unlock()
		return len(ss.backlog) == 1
	})
	ctx, leave := context.WithCancel(t.Context())
	resp, err := h.RoundTrip(h.request(ctx, "GET", s, ""))
	if err != nil {
		t.Fatal(err)
	}
	events := bufio.NewScanner(resp.Body)
	if line := nextData(events); !strings.Contains(line, `"news"`) {
		t.Errorf("kept for the stream: %q", line)
	}
	h.do(t.Context(), "POST", s, news)
	if line := nextData(events); !strings.Contains(line, `"news"`) {
		t.Errorf("on the stream: %q", line)
	}
	if status, _, _ := h.do(t.Context(), "GET", s, ""); status != 409 {
		t.Errorf("a second stream: %d", status)
	}
	leave()
	_ = resp.Body.Close()
	again, err := h.RoundTrip(h.request(t.Context(), "GET", s, ""))
	if err != nil || again.StatusCode != 200 {
		t.Fatalf("the next stream: %v %v", again, err)
	}
	_ = again.Body.Close()
}

func TestTheOlderTransport(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	resp, err := h.RoundTrip(h.request(t.Context(), "GET", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	events := bufio.NewScanner(resp.Body)
	endpoint := nextData(events)
	post := func(body string) {
		t.Helper()
		r := h.request(t.Context(), "POST", "", body)
		r.URL.RawQuery = strings.TrimPrefix(endpoint, "?")
		resp, err := h.RoundTrip(r)
		if err != nil || resp.StatusCode != 202 {
			t.Fatalf("%s: %v %v", endpoint, resp, err)
		}
	}
	post(initialize)
	if line := nextData(events); !strings.Contains(line, `"id":0`) {
		t.Errorf("initialize: %s", line)
	}
	post(ask("1", "steps"))
	if line := nextData(events); !strings.Contains(line, `"progress"`) {
		t.Errorf("progress: %s", line)
	}
	if line := nextData(events); !strings.Contains(line, `"id":1`) {
		t.Errorf("answer: %s", line)
	}
	post(ask("2", "pid"))
	pid := h.pidIn(200, nextData(events))
	_ = resp.Body.Close()
	ends(t, pid)
}

// A revision without sessions has processes that serve one request at a time.
func TestRequestsWithoutASession(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	a := h.pid("", stateless("1", "pid"))
	if b := h.pid("", stateless("1", "pid")); b != a {
		t.Errorf("the second is served by %d, the first by %d", b, a)
	}
	ctx, leave := context.WithCancel(t.Context())
	resp, err := h.RoundTrip(h.request(ctx, "POST", "", stateless("1", "asks")))
	if err != nil {
		t.Fatal(err)
	}
	if b := h.pid("", stateless("1", "pid")); b == a {
		t.Error("a process serves two requests of the same id at a time")
	}
	leave() // the stream that is closed is a cancel
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	ends(t, a)
}

func TestAProcessGetsWhatIsConfigured(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "x")
	h := newHost(t, func(o *Options) { o.Env = append(o.Env, "TOKEN=t") })
	_, _, text := h.do(t.Context(), "POST", h.session(), ask("1", "env"))
	var answer struct{ Result struct{ Env []string } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	slices.Sort(answer.Result.Env)
	if want := []string{"ROLE=server", "TOKEN=t"}; !slices.Equal(answer.Result.Env, want) {
		t.Errorf("its environment is %q, want %q", answer.Result.Env, want)
	}
	eventually(t, "its standard error is in the log", func() bool { return strings.Contains(h.log.String(), "stderr=ready") })
}

func TestAProcessThatEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.session()
	status, _, text := h.do(t.Context(), "POST", s, ask("1", "die"))
	if status != 0 || !strings.Contains(text, errGone.Error()) {
		t.Errorf("what it was asked last: %d, %s", status, text)
	}
	if status, _, _ := h.do(t.Context(), "POST", s, ask("2", "pid")); status != 404 {
		t.Errorf("its session: %d", status)
	}
	h.session() // it is started again
	s = h.session()
	if status, _, text := h.do(t.Context(), "POST", s, ask("3", "long")); status != 0 {
		t.Errorf("a message that is too long: %d, %.100s", status, text)
	}
}

func TestAProcessThatCannotStart(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(o *Options) { o.Env = []string{"ROLE=dies"} })
	if status, _, text := h.do(t.Context(), "POST", "", initialize); status != 0 {
		t.Fatalf("status %d, %s", status, text)
	}
	eventually(t, "it is left alone for a while", func() bool {
		status, _, text := h.do(t.Context(), "POST", "", initialize)
		return status == 503 && strings.Contains(text, "started again in")
	})
	eventually(t, "its standard error is in the log", func() bool { return strings.Contains(h.log.String(), "no configuration") })
	h = newHost(t, func(o *Options) { o.Command = []string{"no-such-program"} })
	if _, _, text := h.do(t.Context(), "POST", "", initialize); !strings.Contains(text, "no-such-program") {
		t.Errorf("a program that is not there: %s", text)
	}
}

func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(o *Options) { o.Processes = 2 })
	spare := h.pid("", stateless("1", "pid"))
	first := h.session()
	h.session() // takes the room of the one that serves nobody
	ends(t, spare)
	if status, _, text := h.do(t.Context(), "POST", "", initialize); status != 503 || !strings.Contains(text, "mcp.test.processes") {
		t.Errorf("one too many: %d, %s", status, text)
	}
	h.do(t.Context(), "DELETE", first, "")
	eventually(t, "there is room again", func() bool {
		status, _, _ := h.do(t.Context(), "POST", "", initialize)
		return status == 200
	})
}

func TestTheSameIDTwice(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.session()
	resp, err := h.RoundTrip(h.request(t.Context(), "POST", s, ask("1", "asks")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if status, _, text := h.do(t.Context(), "POST", s, ask("1", "pid")); status != 400 || !strings.Contains(text, "id 1") {
		t.Errorf("got %d, %s", status, text)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	busy, idle := h.session(), h.session()
	a, b, c := h.pid(busy, ask("1", "pid")), h.pid(idle, ask("1", "pid")), h.pid("", stateless("1", "pid"))
	stream, err := h.RoundTrip(h.request(t.Context(), "GET", busy, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	h.endIdle(time.Now().Add(time.Minute))
	ends(t, b)
	ends(t, c)
	if again := h.pid(busy, ask("2", "pid")); again != a {
		t.Error("a session with a stream has ended")
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(o *Options) { o.Env = append(o.Env, "STUBBORN=1") })
	s := h.session()
	pid, child := h.pid(s, ask("1", "pid")), h.pid(s, ask("2", "child"))
	if !runs(pid) || !runs(child) {
		t.Fatal("they do not run")
	}
	h.Close()
	if runs(pid) {
		t.Error("the process still runs")
	}
	ends(t, child)
	if status, _, text := h.do(t.Context(), "POST", "", initialize); status != 503 {
		t.Errorf("behind the end: %d, %s", status, text)
	}
}

// Messages come as lines, whatever the client makes of them.
func TestAMessageIsOneLine(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.session()
	_, _, text := h.do(t.Context(), "POST", s, "{\n\"jsonrpc\":\"2.0\",\r\n\"id\":9,\n\"method\":\"pid\"\n}\n")
	if id := string(wire.Find([]byte(text), "id")); id != "9" {
		t.Errorf("got %s", text)
	}
}
