package mcp

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Where tasks are spoken of: revision 2025-11-25 (basic/utilities/tasks), and
// the extension of revision 2026-07-28.
const (
	metaRelatedTask  = "io.modelcontextprotocol/related-task"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	extensionTasks   = "io.modelcontextprotocol/tasks"
)

// CodeInvalidParams is what a request gets that names no task that is there.
const CodeInvalidParams = -32602

// A TaskForm is the way in which a client has tasks.
type TaskForm string

// The forms of tasks: in NoTask a call is answered where it was made.
const (
	NoTask TaskForm = ""
	Task25 TaskForm = "2025-11-25" // the client asks for one with the call
	Task26 TaskForm = "2026-07-28" // the server decides; the client says that it can
)

// TaskForm is the way in which the client would take a task for this message.
func (m Message) TaskForm() TaskForm {
	switch {
	case m.Method != "tools/call" || !m.IsRequest():
		return NoTask
	case wire.KindOf(m.param("task")) == "an object":
		return Task25
	case m.hasTasks():
		return Task26
	}
	return NoTask
}

// hasTasks reports whether a message declares the extension.
func (m Message) hasTasks() bool {
	capabilities := wire.Find(m.param("_meta"), metaCapabilities)
	return wire.KindOf(wire.Find(wire.Find(capabilities, "extensions"), extensionTasks)) == "an object"
}

// TaskRevision is the form in which the sender of a message about a task has
// tasks: only messages of revision 2026-07-28 name their revision.
func (m Message) TaskRevision() TaskForm {
	if wire.Find(m.param("_meta"), metaVersion) != nil || m.hasTasks() {
		return Task26
	}
	return Task25
}

// TaskTTL is how long the client wants the task to be kept, counted from its
// beginning; 0 where it does not say.
func (m Message) TaskTTL() time.Duration {
	var ms int64
	if err := json.Unmarshal(wire.Find(m.param("task"), "ttl"), &ms); err != nil || ms < 0 {
		return 0
	}
	return time.Duration(min(ms, int64(Endless/time.Millisecond))) * time.Millisecond
}

// TaskID is the task that a request is about, or "".
func (m Message) TaskID() string {
	switch m.Method {
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		if id, err := wire.Text(m.param("taskId")); err == nil && m.IsRequest() {
			return id
		}
	}
	return ""
}

// ListsTasks reports whether a request is for the first of a client's tasks.
func (m Message) ListsTasks() bool {
	return m.Method == "tasks/list" && m.param("cursor") == nil
}

// DeclaresTasks reports whether a server says in the result of initialize or
// server/discover that its tools can be called as tasks of a form.
func DeclaresTasks(message []byte) TaskForm {
	capabilities := wire.Find(wire.Find(message, "result"), "capabilities")
	if wire.KindOf(wire.Find(wire.Find(wire.Find(wire.Find(capabilities, "tasks"), "requests"), "tools"), "call")) == "an object" {
		return Task25
	}
	if wire.KindOf(wire.Find(wire.Find(capabilities, "extensions"), extensionTasks)) == "an object" {
		return Task26
	}
	return NoTask
}

// The statuses of a task.
const (
	TaskWorking   = "working"
	TaskWants     = "input_required"
	TaskCompleted = "completed"
	TaskFailed    = "failed"
	TaskCancelled = "cancelled"
)

// A Task is a task as its client is told of it.
type Task struct {
	ID               string
	Form             TaskForm
	Status           string
	Message          string
	Created, Updated time.Time
	TTL, Poll        time.Duration // how long it is kept, and how often the client is to ask
	Answer           []byte        // the response that came of it, once there is one
	Round            int           // how often the server has wanted input
}

// members are those of a task's object, without the braces.
func (t Task) members() []byte {
	const times = "2006-01-02T15:04:05.000Z07:00"
	ttl, poll := "ttl", "pollInterval"
	if t.Form == Task26 {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	b := fmt.Appendf(nil, `"taskId":%s,"status":"%s","createdAt":"%s","lastUpdatedAt":"%s","%s":%d,"%s":%d`, quote(t.ID), t.Status,
		t.Created.UTC().Format(times), t.Updated.UTC().Format(times), ttl, t.TTL.Milliseconds(), poll, t.Poll.Milliseconds())
	if t.Message != "" {
		b = append(append(b, `,"statusMessage":`...), quote(t.Message)...)
	}
	return b
}

// CreatedAnswer answers the call itself: it has become a task.
func (t Task) CreatedAnswer(id []byte) []byte {
	if t.Form == Task26 {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"task",%s}}`, id, t.members())
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"task":{%s}}}`, id, t.members())
}

// Got answers tasks/get: how far the task is and, in revision 2026-07-28, what
// came of it.
func (t Task) Got(id []byte) []byte {
	if t.Form != Task26 {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`, id, t.members())
	}
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s`, id, t.members())
	switch name := map[string]string{TaskCompleted: "result", TaskFailed: "error"}[t.Status]; {
	case t.Status == TaskWants:
		b = append(append(b, `,"inputRequests":`...), inputsOf(t.Answer, t.Round)...)
	case name == "":
	case wire.Find(t.Answer, name) != nil:
		b = append(fmt.Appendf(b, `,"%s":`, name), wire.Find(t.Answer, name)...)
	}
	return append(b, "}}"...)
}

// Cancelled answers tasks/cancel.
func (t Task) Cancelled(id []byte) []byte {
	if t.Form == Task26 {
		return Acknowledged(id)
	}
	return t.Got(id)
}

// Acknowledged is an answer of revision 2026-07-28 that says nothing more.
func Acknowledged(id []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, id)
}

// Result answers tasks/result: what the call itself would have been answered,
// with the name of the task.
func (t Task) Result(id []byte) []byte {
	answer := WithID(t.Answer, id)
	result := wire.Find(answer, "result")
	if wire.KindOf(result) != "an object" {
		return answer
	}
	meta := wire.Find(result, "_meta")
	if wire.KindOf(meta) != "an object" {
		meta = []byte("{}")
	}
	related := append(wire.AppendText([]byte(`{"taskId":`), t.ID), '}')
	return setMember(answer, "result", setMember(result, "_meta", setMember(meta, metaRelatedTask, related)))
}

// InList is the task as an element of the answer to tasks/list.
func (t Task) InList() []byte { return append(append([]byte{'{'}, t.members()...), '}') }

// WithTasks returns the answer to tasks/list with more tasks before those that it
// has. What is no such answer stays as it came.
func WithTasks(message []byte, more []Task) []byte {
	result := wire.Find(message, "result")
	theirs := wire.Find(result, "tasks")
	if len(more) == 0 || wire.KindOf(theirs) != "an array" {
		return message
	}
	list := []byte{'['}
	for i, t := range more {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, t.InList()...)
	}
	for e, err := range wire.Elements(theirs) {
		if err != nil {
			return message
		}
		list = append(append(list, ','), e.Value...)
	}
	return setMember(message, "result", setMember(result, "tasks", append(list, ']')))
}

// CreatedTask returns the name of the task that a server has made of a call, and how
// long it keeps it; 0 is without end. ok is false where the answer is none.
func CreatedTask(message []byte) (id string, ttl time.Duration, ok bool) {
	result := wire.Find(message, "result")
	task, member := wire.Find(result, "task"), "ttl"
	if kind, err := wire.Text(wire.Find(result, "resultType")); err == nil && kind == "task" {
		task, member = result, "ttlMs"
	}
	id, err := wire.Text(wire.Find(task, "taskId"))
	if err != nil || id == "" {
		return "", 0, false
	}
	var ms int64
	_ = json.Unmarshal(wire.Find(task, member), &ms) // null, or nothing: without end
	return id, time.Duration(min(max(ms, 0), int64(Endless/time.Millisecond))) * time.Millisecond, true
}
