package mcpproxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

// A server26 is a server of revision 2026-07-28. It may have tasks itself, and may
// want to know things before it answers a call.
type server26 struct {
	tasks bool
	asks  int // how often it wants a name
	seen  proxytest.Counter

	mu      sync.Mutex
	answers []string // to what it wanted
}

func (s *server26) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := s.seen.Saw(r)
	var msg struct {
		ID     json.RawMessage
		Method string
		Params struct {
			TaskID         string `json:"taskId"`
			RequestState   string `json:"requestState"`
			InputResponses map[string]struct{ Content struct{ Name string } }
		}
	}
	if json.Unmarshal([]byte(body), &msg) != nil {
		w.WriteHeader(400)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := `"error":{"code":-32602,"message":"Task not found"}`
	switch {
	case msg.Method == "server/discover" && s.tasks:
		answer = `"result":{"resultType":"complete","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	case msg.Method == "server/discover":
		answer = `"result":{"resultType":"complete","capabilities":{"tools":{}}}`
	case msg.Method == "tools/call" && s.tasks:
		answer = `"result":{"resultType":"task","taskId":"theirs","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000}`
	case msg.Method == "tasks/get" && s.tasks && msg.Params.TaskID == "theirs" && r.Header.Get("Mcp-Name") == "theirs":
		answer = `"result":{"resultType":"complete","taskId":"theirs","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"result":{"content":[{"type":"text","text":"done by them"}]}}`
	case msg.Method == "tools/call":
		if v, ok := msg.Params.InputResponses["name"]; ok && msg.Params.RequestState == fmt.Sprint("state", len(s.answers)) {
			s.answers = append(s.answers, v.Content.Name)
		}
		answer = `"result":{"resultType":"complete","content":[{"type":"text","text":"done for ` + strings.Join(s.answers, " and ") + `"}]}`
		if len(s.answers) < s.asks {
			answer = fmt.Sprintf(`"result":{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"mode":"form","message":"who?"}}},"requestState":"state%d"}`, len(s.answers))
		}
	}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(msg.ID)+`,`+answer+`}`)
}

func (s *server26) calls() (n int) {
	for _, body := range s.seen.All() {
		if strings.Contains(body, `"tools/call"`) {
			n++
		}
	}
	return n
}

const meta26 = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// A task26 is an answer about tasks in revision 2026-07-28.
type task26 struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		TTL                                       int64 `json:"ttlMs"`
		InputRequests                             map[string]json.RawMessage
		Result                                    struct {
			Content []struct{ Text string }
			IsError bool
		}
		Capabilities struct{ Extensions map[string]json.RawMessage }
	}
	Error *struct{ Code int }
}

func ask26(g *proxytest.Sidecar, method, name, params string) (a task26) {
	g.T.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta26 + `}}`
	h := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		h.Set("Mcp-Name", name)
	}
	text := proxytest.ReadAll(g.T, g.Call(g.T.Context(), body, h).Body)
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text, _, _ = strings.Cut(data, "\n")
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		g.T.Fatalf("%s: %v in %s", method, err, text)
	}
	return a
}

func start26(g *proxytest.Sidecar) string {
	g.T.Helper()
	a := ask26(g, "tools/call", "write", `"name":"write","arguments":{"what":"gated"},`)
	if a.Result.ResultType != "task" || !strings.HasPrefix(a.Result.TaskID, "holdgate-") || a.Result.TTL <= 0 {
		g.T.Fatalf("no task was made: %+v", a)
	}
	return a.Result.TaskID
}

// until26 asks about a task until it has a status.
func until26(g *proxytest.Sidecar, id, status string) task26 {
	g.T.Helper()
	var a task26
	proxytest.Await(g.T, "a task that is "+status, func() (bool, any) {
		a = ask26(g, "tasks/get", id, `"taskId":"`+id+`",`)
		return a.Result.Status == status, a
	})
	return a
}

func newGate26(t *testing.T, s *server26, offer bool) *proxytest.Sidecar {
	g := proxytest.NewTo(t, nil, map[string]string{"files": proxytest.NewUpstream(t, s)}, func(c *proxy.Config) { c.Relay.OfferTasks = offer })
	_, says := ask26(g, "server/discover", "", ``).Result.Capabilities.Extensions["io.modelcontextprotocol/tasks"]
	if says != (s.tasks || offer) {
		t.Errorf("that there are tasks is said: %v", says)
	}
	return g
}

func TestAHeldCallIsATaskOfRevision26(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		tasks, offer bool
		answer       holdgate.Answer
		says         string
		runs         int
	}{
		{"approved, Holdgate has tasks", false, true, holdgate.AnswerApprove, "done for", 1},
		{"denied", false, true, holdgate.AnswerDeny, "not today", 0},
		{"approved, the server has tasks", true, false, holdgate.AnswerApprove, "done by them", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := &server26{tasks: tt.tasks}
			g := newGate26(t, up, tt.offer)
			id := start26(g)
			req := g.Pending(1)[0]
			if got := until26(g, id, "working"); got.Result.ResultType != "complete" || !strings.Contains(got.Result.StatusMessage, req.ID) || up.calls() != 0 {
				t.Errorf("while people decide it is %+v", got)
			}
			g.Decide(req, tt.answer, "not today")
			got := until26(g, id, "completed").Result
			if len(got.Result.Content) != 1 || !strings.Contains(got.Result.Content[0].Text, tt.says) || got.TaskID != id || got.Result.IsError != (tt.runs == 0) {
				t.Errorf("what came of it is %+v", got)
			}
			if up.calls() != tt.runs || len(g.Entries(audit.TypeOutcome)) != 1 {
				t.Errorf("asked %d times, run %d times", len(g.Entries(audit.TypeOutcome)), up.calls())
			}
			g.Verified()
		})
	}
}

// What the server wants to know first the client is told by the task; each round's
// request has a name of its own, the call is judged anew, and a sidecar may end
// between.
func TestAServerAsksTheClientOfATask(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted: ", restart), func(t *testing.T) {
			t.Parallel()
			up := &server26{asks: 2}
			g := newGate26(t, up, true)
			id := start26(g)
			for round, want := range []string{"name", "name (2)"} {
				g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
				got := until26(g, id, "input_required").Result
				if len(got.InputRequests) != 1 || got.InputRequests[want] == nil {
					t.Fatalf("in round %d it wants %v", round, got.InputRequests)
				}
				if restart {
					g = g.Restarted()
				}
				update := func(name string) {
					a := ask26(g, "tasks/update", id, `"taskId":"`+id+`","inputResponses":{"`+name+`":{"action":"accept","content":{"name":"ann`+fmt.Sprint(round)+`"}}},`)
					if a.Error != nil || a.Result.ResultType != "complete" {
						t.Errorf("the update was answered %+v", a)
					}
				}
				update("something else")
				if n := up.calls(); n != round+1 {
					t.Fatalf("%d calls in round %d", n, round)
				}
				update(want)
				update(want) // a client that is not sure sends it again
			}
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if got := until26(g, id, "completed").Result; got.Result.Content[0].Text != "done for ann0 and ann1" {
				t.Errorf("what came of it is %+v", got)
			}
			if up.calls() != 3 || len(g.Entries(audit.TypeUsed)) != 3 {
				t.Errorf("%d calls by %d approvals", up.calls(), len(g.Entries(audit.TypeUsed)))
			}
			g.Verified()
		})
	}
}

// Without the word of both sides there are no tasks: the call is held in line.
func TestBothSidesAgreeOnTasksOfRevision26(t *testing.T) {
	t.Parallel()
	g := newGate26(t, &server26{}, false)
	got := make(chan string, 1)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"what":"gated"},` + meta26 + `}}`
	go func() { got <- proxytest.ReadAll(t, g.Call(t.Context(), call, nil).Body) }()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if text := <-got; !strings.Contains(text, "done for") {
		t.Errorf("got %s", text)
	}
}
