package mcpproxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/store/audit"
)

// hasTasks is what a server answers to initialize that has tasks.
const hasTasks = `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}`

const beginsSession = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// greet begins a session with a server that has tasks.
func (p *pipe) greet() *pipe {
	p.g.T.Helper()
	p.from(stdio.Client, beginsSession)
	p.expect(p.server, beginsSession)
	p.from(stdio.Server, hasTasks)
	p.expect(p.client, hasTasks)
	return p
}

func asTask(id, what string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"write","arguments":{"what":"` + what + `"},"task":{"ttl":60000}}}`
}

func aboutTask(id, method, task string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"taskId":"` + task + `"}}`
}

// answer is the next answer to the client, past progress.
func (p *pipe) answer() (a taskAnswer) {
	p.g.T.Helper()
	line := p.result()
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		p.g.T.Fatalf("%v in %s", err, line)
	}
	return a
}

// start calls a tool as a task, and returns the task.
func (p *pipe) start(id, what string) taskShown {
	p.g.T.Helper()
	seq := p.from(stdio.Client, asTask(id, what))
	a := p.answer()
	if a.Result.Task == nil {
		p.g.T.Fatalf("no task was made: %+v", a)
	}
	p.over(seq)
	return *a.Result.Task
}

// until asks about a task until it has a status.
func (p *pipe) until(task, status string) {
	p.g.T.Helper()
	proxytest.Await(p.g.T, "a task that is "+status, func() (bool, any) {
		p.from(stdio.Client, aboutTask(`"until"`, "tasks/get", task))
		a := p.answer()
		return a.Result.Status == status, a
	})
}

const ran = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`

func TestAHeldCallOverStdioIsATask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		answer     holdgate.Answer
		says       string
		isError    bool
		runs       bool
	}{
		{"approved", "", holdgate.AnswerApprove, "done", false, true},
		{"denied", "not today", holdgate.AnswerDeny, "not today", true, false},
		{"steered", "use the archive", holdgate.AnswerSteer, "use the archive", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t).greet()
			task := p.start("1", "gated")
			req := p.g.Pending(1)[0]
			if task.Status != "working" || !strings.Contains(task.StatusMessage, req.ID) || !strings.HasPrefix(task.TaskID, "holdgate-") {
				t.Errorf("the task is shown as %+v", task)
			}
			p.from(stdio.Client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`) // which has been answered
			p.from(stdio.Client, aboutTask("2", "tasks/get", task.TaskID))
			if got := p.answer().Result; got.TaskID != task.TaskID || got.Status != "working" {
				t.Errorf("while people decide it is %+v", got)
			}
			p.from(stdio.Client, aboutTask("3", "tasks/result", task.TaskID))
			p.nothing(p.server)
			p.g.Decide(req, tt.answer, tt.text)
			if tt.runs {
				p.expect(p.server, asTask("1", "gated"))
				seq := p.from(stdio.Server, ran)
				p.over(seq)
			}
			a := p.answer()
			if !strings.Contains(a.text(), tt.says) || a.Result.IsError != tt.isError || a.Result.Meta.Related.TaskID != task.TaskID {
				t.Errorf("the result is %+v", a)
			}
			p.until(task.TaskID, "completed")
			p.nothing(p.server)
			if used := len(p.g.Entries(audit.TypeUsed)); len(p.g.Entries(audit.TypeOutcome)) != 1 || used != map[bool]int{true: 1}[tt.runs] {
				t.Errorf("%d approvals were used", used)
			}
			p.from(stdio.Client, proxytest.ToolCall("1", "x")) // the id is free again
			p.expect(p.server, proxytest.ToolCall("1", "x"))
			p.g.Verified()
		})
	}
}

// If the server makes a task of the approved call, the client knows it by the name
// that it has been told.
func TestAHeldCallOverStdioBecomesATaskOfTheServers(t *testing.T) {
	t.Parallel()
	p := newPipe(t).greet()
	task := p.start("1", "gated")
	p.g.Decide(p.g.Pending(1)[0], holdgate.AnswerApprove, "")
	p.expect(p.server, asTask("1", "gated"))
	p.over(p.from(stdio.Server, `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"theirs","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}}}`))
	proxytest.Await(t, "what came of the call to be stored", func() (bool, any) {
		p.from(stdio.Client, aboutTask("2", "tasks/get", task.TaskID))
		select {
		case line := <-p.server:
			if line != aboutTask("2", "tasks/get", "theirs") {
				t.Fatalf("the server got %s", line)
			}
			return true, nil
		case line := <-p.client:
			if !strings.Contains(line, "working") {
				t.Fatalf("the client got %s", line)
			}
			return false, line
		}
	})
	p.from(stdio.Server, `{"jsonrpc":"2.0","id":2,"result":{"taskId":"theirs","status":"completed"}}`)
	p.expect(p.client, `{"jsonrpc":"2.0","id":2,"result":{"taskId":"`+task.TaskID+`","status":"completed"}}`)
}

func TestATaskOverStdioIsItsProcesssAlone(t *testing.T) {
	t.Parallel()
	p := newPipe(t).greet()
	task := p.start("1", "gated")
	other := openPipe(p.g).greet()
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		other.from(stdio.Client, aboutTask("7", method, task.TaskID))
		other.expect(other.server, aboutTask("7", method, task.TaskID)) // the server does not know it
		other.from(stdio.Server, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"none"}}`)
		other.expect(other.client, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"none"}}`)
	}
	p.from(stdio.Client, aboutTask("8", "tasks/cancel", task.TaskID))
	if a := p.answer(); a.Result.Status != "cancelled" {
		t.Errorf("its own client cannot cancel it: %+v", a)
	}
	p.g.Decide(p.g.Pending(1)[0], holdgate.AnswerApprove, "")
	p.from(stdio.Client, ping)
	p.expect(p.server, ping) // and not the call
}

// The stream breaks: the next one of the same process goes on with the task.
func TestATaskOverStdioGoesOnWithTheNextStream(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, nil)
	p := pipeOf(g, "secret").greet()
	task := p.start("1", "gated")
	req := g.Pending(1)[0]
	proxytest.Must(t, p.conn.Close())
	<-p.broken
	p = pipeOf(g, "secret")
	again := p.start("1", "gated") // as comes where the client may not have been told
	if again.TaskID != task.TaskID {
		t.Errorf("the same call again is the task %+v", again)
	}
	p.until(task.TaskID, "working")
	p.from(stdio.Client, asTask("1", "gated, but other"))
	if a := p.answer(); a.Error == nil || !strings.Contains(a.text(), "that of another one") {
		t.Errorf("another call of that id gets %+v", a)
	}
	g.Decide(req, holdgate.AnswerApprove, "")
	p.expect(p.server, asTask("1", "gated"))
	p.from(stdio.Server, ran)
	p.until(task.TaskID, "completed")
	if n := len(g.Entries(audit.TypeOutcome)); n != 1 {
		t.Errorf("people were asked %d times", n)
	}
	g.Verified()
}

// Where the server cannot say anything any more, the task says so.
func TestATaskOverStdioEndsWithWhatItsServerCannotSay(t *testing.T) {
	t.Parallel()
	p := newPipe(t).greet()
	task := p.start("1", "gated")
	p.g.Decide(p.g.Pending(1)[0], holdgate.AnswerApprove, "")
	p.expect(p.server, asTask("1", "gated"))
	p.from(stdio.ServerLost, "a line of 99999999 bytes")
	p.from(stdio.Client, aboutTask("2", "tasks/result", task.TaskID))
	if a := p.answer(); !a.Result.IsError || !strings.Contains(a.text(), "no answer that can be read") {
		t.Errorf("the result is %+v", a)
	}
}

// A refused call is a task too, and a call to a server without tasks is none, nor
// is one of revision 2026-07-28, where the server decides.
func TestWhatIsNoTaskOverStdio(t *testing.T) {
	t.Parallel()
	p := newPipe(t).greet()
	if task := p.start("1", "forbidden"); task.Status != "working" {
		t.Errorf("a refused call is %+v", task)
	}
	plain := openPipe(p.g)
	plain.from(stdio.Client, beginsSession)
	plain.expect(plain.server, beginsSession)
	plain.from(stdio.Server, `{"jsonrpc":"2.0","id":"i","result":{"capabilities":{"tools":{}}}}`)
	plain.expect(plain.client, `{"jsonrpc":"2.0","id":"i","result":{"capabilities":{"tools":{}}}}`)
	plain.from(stdio.Client, asTask("1", "forbidden"))
	if a := plain.answer(); a.Result.Task != nil || !a.Result.IsError {
		t.Errorf("the call is answered by %+v", a)
	}
	p.from(stdio.Client, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write","arguments":{"what":"forbidden"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`)
	if a := p.answer(); a.Result.Task != nil || !a.Result.IsError {
		t.Errorf("the call is answered by %+v", a)
	}
}

// In revision 2026-07-28 the server decides what becomes a task: over standard
// streams nothing held does, and the call is answered when it has run.
func TestAHeldCallOfRevision26OverStdioWaitsInLine(t *testing.T) {
	t.Parallel()
	p := newPipe(t, func(c *proxy.Config) { c.Relay.OfferTasks = true })
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`
	for _, extensions := range []string{`{}`, `{"io.modelcontextprotocol/tasks":{}}`} {
		says := `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","capabilities":{"tools":{},"extensions":` + extensions + `}}}`
		p.from(stdio.Client, discover)
		p.expect(p.server, discover)
		p.from(stdio.Server, says)
		p.expect(p.client, says)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"what":"gated"},` + meta + `}}`
	p.from(stdio.Client, call)
	p.g.Decide(p.g.Pending(1)[0], holdgate.AnswerApprove, "")
	p.expect(p.server, call)
	p.from(stdio.Server, ran)
	if a := p.answer(); a.Result.Task != nil || a.text() != "done" {
		t.Errorf("the call is answered by %+v", a)
	}
}

// What a client answers to a server must be what every server reads.
func TestAnAnswerInAnotherCaseDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	p := newPipe(t)
	asks := `{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}`
	p.from(stdio.Server, asks)
	p.expect(p.client, asks)
	p.over(p.from(stdio.Client, `{"jsonrpc":"2.0","id":4,"result":{"Action":"accept"}}`))
	if line := next(p, p.client); !strings.Contains(line, "another case") {
		t.Errorf("the client is told %s", line)
	}
	p.nothing(p.server)
	p.from(stdio.Client, `{"jsonrpc":"2.0","id":4,"result":{"action":"decline"}}`)
	p.expect(p.server, `{"jsonrpc":"2.0","id":4,"result":{"action":"decline"}}`)
}
