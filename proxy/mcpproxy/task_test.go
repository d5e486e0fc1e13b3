package mcpproxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/store/audit"
)

// A taskServer is an MCP server with tasks of revision 2025-11-25. It makes a task
// of every call that asks for one, unless plain is set.
type taskServer struct {
	plain bool
	seen  proxytest.Counter

	mu    sync.Mutex
	tasks map[string]string // the results by name, empty while it works
	n     int
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := s.seen.Saw(r)
	var msg struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name   string
			TaskID string `json:"taskId"`
			Task   json.RawMessage
		}
	}
	if json.Unmarshal([]byte(body), &msg) != nil || msg.ID == nil {
		w.WriteHeader(202)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if msg.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", r.Header.Get("Want-Session"))
	}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(msg.ID)+`,`+s.answer(msg.Method, msg.Params.Name, msg.Params.TaskID, msg.Params.Task != nil)+`}`)
}

func (s *taskServer) answer(method, name, task string, wanted bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	const ran = `"content":[{"type":"text","text":"done"}]`
	shown := func(id string) string {
		status := map[bool]string{true: "working", false: "completed"}[s.tasks[id] == ""]
		return `"taskId":"` + id + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000`
	}
	_, known := s.tasks[task]
	switch {
	case method == "initialize":
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}`
	case method == "tools/call" && wanted && !s.plain:
		if s.tasks == nil {
			s.tasks = map[string]string{}
		}
		s.n++
		id := fmt.Sprintf("theirs-%d", s.n)
		s.tasks[id] = ran
		return `"result":{"task":{` + shown(id) + `}}`
	case method == "tools/call":
		return `"result":{` + ran + `}`
	case method == "tasks/list":
		var all []string
		for id := range s.tasks {
			all = append(all, "{"+shown(id)+"}")
		}
		return `"result":{"tasks":[` + strings.Join(all, ",") + `]}`
	case strings.HasPrefix(method, "tasks/") && !known:
		return `"error":{"code":-32602,"message":"Task not found"}`
	case method == "tasks/result":
		return `"result":{` + s.tasks[task] + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + task + `"}}}`
	case method == "tasks/cancel":
		s.tasks[task] = `"isError":true`
		return `"result":{` + shown(task) + `}`
	}
	return `"result":{` + shown(task) + `}`
}

// A taskClient speaks to the server "files" of a gate.
type taskClient struct {
	g       *proxytest.Sidecar
	session string
	token   string // of its agent; empty: none
	n       int
}

// taskShown is a task as clients are told of it.
type taskShown struct {
	TaskID        string `json:"taskId"`
	Status        string
	StatusMessage string
	CreatedAt     time.Time
	TTL           int64 `json:"ttl"`
	PollInterval  int64 `json:"pollInterval"`
}

// A taskAnswer is any answer about tasks.
type taskAnswer struct {
	Result struct {
		taskShown
		Task    *taskShown
		Tasks   []taskShown
		Content []struct{ Text string }
		IsError bool `json:"isError"`
		Meta    struct {
			Related taskShown `json:"io.modelcontextprotocol/related-task"`
		} `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (a taskAnswer) text() string {
	if a.Error != nil {
		return a.Error.Message
	}
	var all []string
	for _, c := range a.Result.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, " ")
}

// ask sends a request and returns its answer, in whatever form it comes.
func (c *taskClient) ask(method, params string) taskAnswer {
	c.g.T.Helper()
	c.n++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.n, method, params)
	h := http.Header{"Mcp-Session-Id": {c.session}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if c.token != "" {
		h.Set("Holdgate-Token", c.token)
	}
	text := proxytest.ReadAll(c.g.T, c.g.Call(c.g.T.Context(), body, h).Body)
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text, _, _ = strings.Cut(data, "\n")
	}
	var a taskAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		c.g.T.Fatalf("%s: %v in %s", method, err, text)
	}
	return a
}

// start calls a tool as a task, and returns the task.
func (c *taskClient) start(what string) taskShown {
	c.g.T.Helper()
	a := c.ask("tools/call", `{"name":"write","arguments":{"what":"`+what+`"},"task":{"ttl":60000}}`)
	if a.Result.Task == nil {
		c.g.T.Fatalf("no task was made: %+v", a)
	}
	return *a.Result.Task
}

func (c *taskClient) of(method, id string) taskAnswer {
	c.g.T.Helper()
	return c.ask(method, `{"taskId":"`+id+`"}`)
}

// until asks about a task until it has a status.
func (c *taskClient) until(id, status string) taskAnswer {
	c.g.T.Helper()
	var a taskAnswer
	proxytest.Await(c.g.T, "a task that is "+status, func() (bool, any) {
		a = c.of("tasks/get", id)
		return a.Result.Status == status, a
	})
	return a
}

func newTaskGate(t *testing.T, up *taskServer, opts ...proxytest.Option) (*proxytest.Sidecar, *taskClient) {
	g := proxytest.NewTo(t, nil, map[string]string{"files": proxytest.NewUpstream(t, up)}, opts...)
	return g, &taskClient{g: g, session: "s1"}
}

func (s *taskServer) calls() (n int) {
	for _, body := range s.seen.All() {
		if strings.Contains(body, `"tools/call"`) {
			n++
		}
	}
	return n
}

func TestAHeldCallIsATask(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{true, false} {
		for _, tt := range []struct {
			name, text string
			answer     holdgate.Answer
			says       string
			isError    bool
			runs       int
		}{
			{"approved", "", holdgate.AnswerApprove, "done", false, 1},
			{"denied", "not today", holdgate.AnswerDeny, "not today", true, 0},
			{"steered", "use the archive", holdgate.AnswerSteer, "use the archive", true, 0},
		} {
			t.Run(fmt.Sprintf("%s, the server answers at once: %v", tt.name, plain), func(t *testing.T) {
				t.Parallel()
				up := &taskServer{plain: plain}
				g, c := newTaskGate(t, up)
				task := c.start("gated")
				req := g.Pending(1)[0]
				if task.Status != "working" || !strings.Contains(task.StatusMessage, req.ID) || task.TTL < 3600_000 || task.PollInterval <= 0 || task.CreatedAt.IsZero() {
					t.Errorf("the task is shown as %+v", task)
				}
				if got := c.of("tasks/get", task.TaskID).Result; got.TaskID != task.TaskID || got.Status != "working" || !strings.Contains(got.StatusMessage, "waits for a person") {
					t.Errorf("while people decide it is %+v", got)
				}
				if got := c.ask("tasks/list", `{}`).Result.Tasks; len(got) != 1 || got[0].TaskID != task.TaskID {
					t.Errorf("the list has %+v", got)
				}
				got := make(chan taskAnswer, 1)
				waiting := taskClient{g: g, session: c.session, n: 100}
				go func() { got <- waiting.of("tasks/result", task.TaskID) }()
				if up.calls() != 0 {
					t.Fatal("the call went on before it was approved")
				}
				g.Decide(req, tt.answer, tt.text)
				a := <-got
				if !strings.Contains(a.text(), tt.says) || a.Result.IsError != tt.isError || a.Result.Meta.Related.TaskID != task.TaskID {
					t.Errorf("the result is %+v", a)
				}
				if again := c.of("tasks/result", task.TaskID); again.text() != a.text() {
					t.Errorf("the second time it is %+v", again)
				}
				c.until(task.TaskID, "completed")
				if got := c.ask("tasks/list", `{}`).Result.Tasks; len(got) != 1 || got[0].TaskID != task.TaskID {
					t.Errorf("the list has %+v", got)
				}
				if up.calls() != tt.runs || len(g.Entries(audit.TypeOutcome)) != 1 || len(g.Entries(audit.TypeUsed)) != tt.runs {
					t.Errorf("asked %d times, run %d times", len(g.Entries(audit.TypeOutcome)), up.calls())
				}
				if refused := c.of("tasks/cancel", task.TaskID); plain && (refused.Error == nil || refused.Error.Code != mcp.CodeInvalidParams) {
					t.Errorf("a task that is over was cancelled: %+v", refused)
				}
				g.Verified()
			})
		}
	}
}
