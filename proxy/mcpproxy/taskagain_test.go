package mcpproxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

func TestATaskOutlivesTheSidecar(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before people decide", "after they have, before it is run"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			up := &taskServer{plain: true}
			g, c := newTaskGate(t, up)
			task := c.start("gated")
			req := g.Pending(1)[0]
			if when != "before people decide" {
				proxytest.Must(t, g.Server.Shutdown(t.Context())) // nobody waits any more for what is decided now
				g.Decide(req, holdgate.AnswerApprove, "")
			}
			g = g.Restarted()
			c.g = g
			if when == "before people decide" {
				c.saying(task.TaskID, req.ID)
				g.Decide(req, holdgate.AnswerApprove, "")
			}
			if a := c.of("tasks/result", task.TaskID); a.text() != "done" {
				t.Errorf("the result is %+v", a)
			}
			if up.calls() != 1 || len(g.Entries(audit.TypeOutcome)) != 1 || len(g.Entries(audit.TypeUsed)) != 1 {
				t.Errorf("asked %d times, run %d times", len(g.Entries(audit.TypeOutcome)), up.calls())
			}
			g = g.Restarted()
			c.g = g
			if a := c.of("tasks/result", task.TaskID); a.text() != "done" || up.calls() != 1 {
				t.Errorf("after another restart the result is %+v, and it was run %d times", a, up.calls())
			}
			g.Verified()
		})
	}
}

// People have as long for a result of a task that was taken up again as for any other.
func TestATaskThatWasTakenUpAgainWaitsForItsResult(t *testing.T) {
	t.Parallel()
	const rules = `package holdgate.custom.team

rules contains {"action": "hold", "rule": "team.remove", "reason": "it removes"} if input.tool.name == "remove"

results contains {"action": "hold", "rule": "team.look", "reason": "somebody looks at it"} if contains(input.result.text, "done")
`
	up := &taskServer{plain: true}
	g, c := newTaskGate(t, up, proxytest.WithSettings(t, "  profile: balanced\n", rules))
	task := c.start("x")
	req := g.Pending(1)[0]
	g = g.Restarted()
	c.g = g
	c.saying(task.TaskID, req.ID)
	g.Decide(req, holdgate.AnswerApprove, "")
	look := g.Pending(1)[0]
	begin := time.Now()
	proxytest.Await(t, "more time than the least that people get", func() (bool, any) {
		if got := c.of("tasks/get", task.TaskID).Result; got.Status != "working" {
			t.Fatalf("nobody has decided, and the task says %+v", got)
		}
		return time.Since(begin) > 2500*time.Millisecond, nil
	})
	g.Decide(look, holdgate.AnswerApprove, "")
	if a := c.of("tasks/result", task.TaskID); a.text() != "done" || up.calls() != 1 {
		t.Errorf("the result is %+v, and it was run %d times", a, up.calls())
	}
	g.Verified()
}

// saying asks about a task until it is worked on and says something.
func (c *taskClient) saying(id, words string) {
	c.g.T.Helper()
	proxytest.Await(c.g.T, "a task that says "+words, func() (bool, any) {
		got := c.of("tasks/get", id).Result
		return got.Status == "working" && strings.Contains(got.StatusMessage, words), got
	})
}

// The server's own tasks keep their second name.
func TestTheNamesOfTasksOutliveTheSidecar(t *testing.T) {
	t.Parallel()
	up := &taskServer{}
	g, c := newTaskGate(t, up)
	task := c.start("gated")
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	c.until(task.TaskID, "completed")
	c.g = g.Restarted()
	if a := c.of("tasks/result", task.TaskID); a.text() != "done" || a.Result.Meta.Related.TaskID != task.TaskID {
		t.Errorf("the result is %+v", a)
	}
}

// Killed between "sent" and the answer, nobody knows whether the call was run: it
// is not run again.
func TestATaskThatWasBeingSentIsNotSentAgain(t *testing.T) {
	t.Parallel()
	up := &taskServer{plain: true}
	g, c := newTaskGate(t, up)
	task := c.start("gated")
	_, err := g.Queue.Tasks.Change(t.Context(), task.TaskID, func(rec *tasks.Task) error {
		rec.State = tasks.Sending
		return nil
	})
	proxytest.Must(t, err)
	g = g.Restarted()
	c.g = g
	a := c.of("tasks/result", task.TaskID)
	if !a.Result.IsError || !strings.Contains(a.text(), "nobody knows") || up.calls() != 0 {
		t.Errorf("the result is %+v, and it was run %d times", a, up.calls())
	}
}

// A task is its client's: to another session or account it is not there, whatever
// they ask, and for the server's own tasks the same.
func TestATaskIsItsClientsAlone(t *testing.T) {
	t.Parallel()
	up := &taskServer{plain: true}
	g, c := newTaskGate(t, up)
	task := c.start("gated")
	for who, h := range map[string]http.Header{
		"another session": {"Mcp-Session-Id": {"s2"}},
		"no session":      {},
		"another account": {"Mcp-Session-Id": {"s1"}, "Authorization": {"Bearer other"}},
	} {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			ask := func(id string) string {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q}}`, method, id)
				resp := g.Call(t.Context(), body, h.Clone())
				return fmt.Sprint(resp.StatusCode) + proxytest.ReadAll(t, resp.Body)
			}
			if got, want := ask(task.TaskID), ask("holdgate-unknown"); got != want {
				t.Errorf("%s gets of %s %s, and of one that is not there %s", who, method, got, want)
			}
		}
		list := proxytest.ReadAll(t, g.Call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`, h.Clone()).Body)
		if strings.Contains(list, task.TaskID) {
			t.Errorf("%s gets the list %s", who, list)
		}
	}
	if got := c.of("tasks/get", task.TaskID).Result; got.Status != "working" {
		t.Errorf("it is now %+v", got)
	}
}

// A client that cancels a task withdraws itself: the server never hears of the
// call, the request stays, and the same call finds its outcome.
func TestACancelledTaskIsWithdrawn(t *testing.T) {
	t.Parallel()
	up := &taskServer{plain: true}
	g, c := newTaskGate(t, up)
	task := c.start("gated")
	req := g.Pending(1)[0]
	if a := c.of("tasks/cancel", task.TaskID); a.Error != nil || a.Result.Status != "cancelled" {
		t.Fatalf("cancelling it: %+v", a)
	}
	g.Decide(req, holdgate.AnswerApprove, "")
	if a := c.of("tasks/result", task.TaskID); !a.Result.IsError || !strings.Contains(a.text(), "cancelled") {
		t.Errorf("its result is %+v", a)
	}
	if a := c.of("tasks/cancel", task.TaskID); a.Error == nil || a.Error.Code != mcp.CodeInvalidParams {
		t.Errorf("cancelling it again: %+v", a)
	}
	if up.calls() != 0 {
		t.Fatal("the cancelled call was run")
	}
	again := c.start("gated")
	if a := c.of("tasks/result", again.TaskID); a.text() != "done" {
		t.Errorf("the same call again: %+v", a)
	}
	if got := c.of("tasks/get", task.TaskID).Result; got.Status != "cancelled" {
		t.Errorf("the first is %+v", got)
	}
	if up.calls() != 1 || len(g.Entries(audit.TypeOutcome)) != 1 || len(g.Entries(audit.TypeUsed)) != 1 {
		t.Errorf("asked %d times, run %d times", len(g.Entries(audit.TypeOutcome)), up.calls())
	}
}

// Of two tasks with the very same call each has an approval of its own, also after
// a restart.
func TestAnApprovalIsOfOneTask(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted: ", restart), func(t *testing.T) {
			t.Parallel()
			up := &taskServer{plain: true}
			g, c := newTaskGate(t, up)
			one := c.start("gated")
			asked := g.Pending(1)[0]
			two := c.start("gated")
			other := g.Pending(2)
			if restart {
				g = g.Restarted()
				c.g = g
			}
			g.Decide(asked, holdgate.AnswerApprove, "")
			if a := c.of("tasks/result", one.TaskID); a.text() != "done" {
				t.Errorf("the first: %+v", a)
			}
			if got := c.of("tasks/get", two.TaskID).Result; got.Status != "working" || up.calls() != 1 {
				t.Errorf("the second is %+v, and %d calls were run", got, up.calls())
			}
			for _, r := range other {
				if r.ID != asked.ID {
					g.Decide(r, holdgate.AnswerDeny, "one is enough")
				}
			}
			if a := c.of("tasks/result", two.TaskID); !strings.Contains(a.text(), "one is enough") || up.calls() != 1 {
				t.Errorf("the second: %+v, %d calls", a, up.calls())
			}
		})
	}
}

// What policy refuses is a task too, for its client waits for one; what it allows
// is the server's business, and its tasks pass as they are.
func TestCallsThatAreNotHeldAsTasks(t *testing.T) {
	t.Parallel()
	up := &taskServer{}
	g, c := newTaskGate(t, up)
	refused := c.start("forbidden")
	if a := c.of("tasks/result", refused.TaskID); !a.Result.IsError || !strings.Contains(a.text(), "test.deny") || up.calls() != 0 {
		t.Errorf("refused: %+v", a)
	}
	if got := c.until(refused.TaskID, "completed"); got.Error != nil {
		t.Errorf("refused: %+v", got)
	}
	allowed := c.start("harmless")
	if allowed.TaskID != "theirs-1" || c.of("tasks/result", allowed.TaskID).text() != "done" {
		t.Errorf("allowed: %+v", allowed)
	}
	if got := c.ask("tasks/list", `{}`).Result.Tasks; len(got) != 2 || got[0].TaskID != refused.TaskID || got[1].TaskID != allowed.TaskID {
		t.Errorf("the list has %+v", got)
	}
	if len(g.Entries(audit.TypeUsed)) != 0 {
		t.Error("an approval was used")
	}
}

// A server that says it has no tasks is not made to look as if it had: the call
// waits in line, as the protocol asks of who has none.
func TestWithoutTasksAtTheServerACallIsHeldInLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hello string
		opts        []proxytest.Option
	}{
		{name: "the server has none", hello: `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`},
		{name: "they are turned off", hello: `{}`, opts: []proxytest.Option{func(c *proxy.Config) { c.Relay.NoTasks = true }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, _ := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Session-Id") == "" {
					w.Header().Set("Mcp-Session-Id", "s1")
					proxytest.MCPJSON(200, tt.hello)(w, r)
					return
				}
				proxytest.MCPJSON(200, proxytest.ToolResult)(w, r)
			}, tt.opts...)
			proxytest.ReadAll(t, g.Call(t.Context(), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, nil).Body)
			got := make(chan string, 1)
			call := strings.Replace(proxytest.ToolCall("1", "gated"), `"params":{`, `"params":{"task":{},`, 1)
			go func() { got <- proxytest.ReadAll(t, g.Call(t.Context(), call, proxytest.SessionHeader("s1")).Body) }()
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if text := <-got; !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
		})
	}
}

// A task that cannot be made durable is none: the call is held in line.
func TestATaskIsDurableBeforeItsClientHearsOfIt(t *testing.T) {
	t.Parallel()
	up := &taskServer{plain: true}
	disk := &proxytest.FailingStore{Prefix: "task/"}
	g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }}, nil, map[string]string{"files": proxytest.NewUpstream(t, up)})
	disk.On.Store(true)
	got := make(chan string, 1)
	call := strings.Replace(proxytest.ToolCall("1", "gated"), `"params":{`, `"params":{"task":{},`, 1)
	go func() { got <- proxytest.ReadAll(t, g.Call(t.Context(), call, proxytest.SessionHeader("s1")).Body) }()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if text := <-got; !strings.Contains(text, `"done"`) || strings.Contains(text, "taskId") {
		t.Errorf("got %s", text)
	}
}
