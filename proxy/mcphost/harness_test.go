package mcphost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const deadline = 3 * time.Minute

func TestMain(m *testing.M) {
	switch os.Getenv("ROLE") {
	case "server":
		serve(os.Stdin, os.Stdout)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	case "sleeps":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// serve is an MCP server whose methods are what the tests need of one.
func serve(in io.Reader, out io.Writer) {
	if os.Getenv("STUBBORN") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	lines := bufio.NewScanner(in)
	var asker json.RawMessage
	for lines.Scan() {
		var m message
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch m.Method {
		case "initialize":
			fmt.Fprintln(os.Stderr, "ready")
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID)
		case "pid":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"pid":%d}}`, m.ID, os.Getpid())
		case "env":
			b, _ := json.Marshal(os.Environ())
			say(`{"jsonrpc":"2.0","id":%s,"result":{"env":%s}}`, m.ID, b)
		case "steps":
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.Params.Meta.Token)
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "news":
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"news"}}`)
		case "asks":
			asker = m.ID
			say(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`)
		case "": // the answer to it
			if asker != nil {
				say(`{"jsonrpc":"2.0","id":%s,"result":{"got":%s}}`, asker, lines.Bytes())
			}
		case "child":
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{"ROLE=sleeps"}
			_ = cmd.Start()
			say(`{"jsonrpc":"2.0","id":%s,"result":{"pid":%d}}`, m.ID, cmd.Process.Pid)
		case "die":
			os.Exit(3)
		case "long":
			say(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, m.ID, strings.Repeat("x", 1<<20))
		}
	}
	if os.Getenv("STUBBORN") != "" {
		time.Sleep(time.Hour)
	}
}

type host struct {
	t *testing.T
	*Server
	log *syncBuffer
}

func newHost(t *testing.T, change func(*Options)) host {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &syncBuffer{}
	o := Options{Name: "test", Command: []string{exe}, Env: []string{"ROLE=server"}, Processes: 4, Message: 1 << 19, Logger: slog.New(slog.NewTextHandler(log, nil))}
	if change != nil {
		change(&o)
	}
	s := New(o)
	t.Cleanup(s.Close)
	return host{t, s, log}
}

// do makes a request and reads its answer to the end.
func (h host) do(ctx context.Context, verb, session, body string) (status int, header http.Header, text string) {
	h.t.Helper()
	resp, err := h.RoundTrip(h.request(ctx, verb, session, body))
	if err != nil {
		return 0, nil, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = append(b, "|"+err.Error()...)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func (h host) request(ctx context.Context, verb, session, body string) *http.Request {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, verb, "stdio://test/", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	return r
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func ask(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{"progressToken":` + id + `}}}`
}

func stateless(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
}

// session begins one and returns its id.
func (h host) session() string {
	h.t.Helper()
	status, header, text := h.do(h.t.Context(), "POST", "", initialize)
	id := header.Get(sessionHeader)
	if status != 200 || id == "" || !strings.Contains(text, `"result"`) {
		h.t.Fatalf("initialize: %d, session %q, %s", status, id, text)
	}
	return id
}

func (h host) pid(session, body string) int {
	h.t.Helper()
	status, _, text := h.do(h.t.Context(), "POST", session, body)
	return h.pidIn(status, text)
}

func (h host) pidIn(status int, text string) int {
	h.t.Helper()
	var answer struct{ Result struct{ PID int } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Result.PID == 0 {
		h.t.Fatalf("status %d, %s", status, text)
	}
	return answer.Result.PID
}

// ends waits until no process of the number runs.
func ends(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !runs(pid) })
}

// runs reports whether a process runs; one that nobody has waited for does not.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not so after %v: %s", deadline, what)
		}
	}
}

// A syncBuffer may be written and read at a time.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
