package mcpproxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

// aboutTask answers what a client asks about a task that is Holdgate's. It
// reports false where the server is to answer: a message about a task of some
// other client's goes on, as one about a task that is not there.
func (m *exchange) aboutTask() bool {
	if m.batch || m.task != nil {
		return false
	}
	msg := m.msgs[0]
	id := msg.TaskID()
	if id == "" {
		return false
	}
	rec, err := m.p.c.Queue.Tasks.Get(m.p.c.Life, m.taskOwner(), id)
	if errors.Is(err, tasks.ErrNone) {
		return false
	}
	if err == nil && msg.Method == "tasks/result" && rec.State.Unfinished() {
		var gone bool
		if rec, gone, err = m.awaitTask(rec); gone {
			return true
		}
	}
	var answer []byte
	switch {
	case err != nil:
		answer = mcp.Error(msg.ID, mcp.CodeRefused, wire.Mark+m.p.c.Unable(m.R.Context(), "The task cannot be looked up", err))
	case rec.State == tasks.Theirs:
		return false
	default:
		answer = m.p.taskAnswer(m.R.Context(), msg, rec, stdio.SessionOf(m.Target.Transport))
	}
	_ = m.reply([][]byte{answer})
	return true
}

// taskAnswer answers a message about a task. ss is the stream that the task is of, or nil.
func (p *Proxy) taskAnswer(ctx context.Context, msg mcp.Message, rec tasks.Task, ss *stdio.Session) []byte {
	shown := p.shownTask(rec, msg.TaskRevision())
	switch msg.Method {
	case "tasks/get":
		return shown.Got(msg.ID)
	case "tasks/result":
		if rec.State.Unfinished() { // nothing works on it any more
			return mcp.Error(msg.ID, mcp.CodeRefused, wire.Mark+"What became of this task could not be stored. The audit log says whether its call was sent.")
		}
		return shown.Result(msg.ID)
	case "tasks/cancel":
		return p.cancelTask(ctx, msg, rec)
	}
	if err := p.updateTask(msg, rec, ss); err != nil {
		return mcp.Error(msg.ID, mcp.CodeRefused, wire.Mark+p.c.Unable(ctx, "The call cannot be made again with this", err))
	}
	return mcp.Acknowledged(msg.ID)
}

// updateTask makes the call of a task again with what its server wanted to know. It
// is judged as any call is, and so are the client's answers. A client that does not
// say all that is wanted has said nothing.
func (p *Proxy) updateTask(msg mcp.Message, rec tasks.Task, ss *stdio.Session) error {
	inputs, ok := msg.Inputs(rec.Answer, rec.Round)
	if rec.State != tasks.Asks || !ok {
		return nil
	}
	var c taskCall
	if err := json.Unmarshal(rec.Call, &c); err != nil {
		return err
	}
	c.Body = mcp.WithInputs(bytes.Trim(c.Body, " \t\r\n"), inputs, rec.Answer)
	call, err := json.Marshal(c)
	if err != nil {
		return err
	}
	round := rec.Round
	rec, err = p.c.Queue.Tasks.Change(p.c.Life, rec.ID, func(rec *tasks.Task) error {
		if rec.State != tasks.Asks || rec.Round != round {
			return tasks.ErrOver // another update was first
		}
		rec.State, rec.Call, rec.Exchange = tasks.Held, call, ""
		return nil
	})
	if errors.Is(err, tasks.ErrOver) {
		return nil
	}
	if err == nil {
		err = p.takeUpTask(rec, ss)
	}
	return err
}

// answers are what a message answers of what the server asked. What is said to a
// task of Holdgate's is judged when the call is made again.
func (m *exchange) answers(msg mcp.Message) []mcp.Message {
	if msg.Method == "tasks/update" && !m.batch {
		if _, err := m.p.c.Queue.Tasks.Get(m.p.c.Life, m.taskOwner(), msg.TaskID()); err == nil {
			return nil
		}
	}
	return msg.Answers()
}

// awaitTask keeps the client in line until nothing more comes of the task here.
// gone says that the client has left, or has been answered otherwise.
func (m *exchange) awaitTask(rec tasks.Task) (_ tasks.Task, gone bool, err error) {
	if live := m.p.tasks.find(rec.ID); live != nil && !m.waitFor(func(ctx context.Context) (string, error) {
		m.asks.Store(live.m.asks.Load())
		select {
		case <-live.ended:
			return "", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}) {
		return rec, true, nil
	}
	rec, err = m.p.c.Queue.Tasks.Get(m.p.c.Life, m.taskOwner(), rec.ID)
	return rec, false, err
}

// cancelTask withdraws the client from a task. What people were asked stays, and
// the same call again finds it. A call that was sent goes on, and nobody hears of
// it any more.
func (p *Proxy) cancelTask(ctx context.Context, msg mcp.Message, rec tasks.Task) []byte {
	rec, err := p.c.Queue.Tasks.Change(p.c.Life, rec.ID, func(rec *tasks.Task) error {
		if !rec.State.Unfinished() {
			return tasks.ErrOver
		}
		text := wire.Mark + "This call was cancelled before it was run."
		if rec.State == tasks.Sending {
			text = wire.Mark + "This call was cancelled after it had been sent to the server."
		}
		rec.State, rec.Answer = tasks.Cancelled, mcp.ToolRefusal(msg.ID, text)
		return nil
	})
	form := msg.TaskRevision()
	switch {
	case errors.Is(err, tasks.ErrOver) && form == mcp.Task26:
		return mcp.Acknowledged(msg.ID)
	case errors.Is(err, tasks.ErrOver):
		return mcp.Error(msg.ID, mcp.CodeInvalidParams, "The task cannot be cancelled: it is over")
	case err != nil:
		return mcp.Error(msg.ID, mcp.CodeRefused, wire.Mark+p.c.Unable(ctx, "The task cannot be cancelled", err))
	}
	if live := p.tasks.find(rec.ID); live != nil {
		if live.m.wait.withdraw() {
			<-live.ended // from now on the same call finds what it held
		}
	}
	return p.shownTask(rec, form).Cancelled(msg.ID)
}

// shownTask is a task as its client is told of it.
func (p *Proxy) shownTask(rec tasks.Task, form mcp.TaskForm) mcp.Task {
	t := mcp.Task{ID: rec.ID, Form: form, Status: mcp.TaskWorking, Created: rec.Created, Updated: rec.Updated,
		TTL: rec.Expires.Sub(rec.Created), Poll: taskPoll, Answer: rec.Answer}
	switch rec.State {
	case tasks.Held:
		t.Message = "waiting for people"
		if live := p.tasks.find(rec.ID); live != nil {
			if asks := live.m.asks.Load(); asks != nil {
				t.Message = *asks
			}
		}
	case tasks.Sending:
		t.Message = "the server works on it"
	case tasks.Asks:
		t.Status, t.Round = mcp.TaskWants, rec.Round
	case tasks.Done:
		t.Status = mcp.TaskCompleted
		if wire.Find(rec.Answer, "error") != nil {
			t.Status = mcp.TaskFailed
		}
	case tasks.Cancelled:
		t.Status, t.Message = mcp.TaskCancelled, "the client has cancelled it"
	}
	return t
}

// refuse answers calls that are not run. One that was to be a task is one: its
// client could not read anything else.
func (m *exchange) refuse(responses [][]byte) error {
	if m.taskForm() != mcp.Task25 || len(responses) != 1 {
		return m.reply(responses)
	}
	rec, err := m.p.c.Queue.Tasks.Add(m.p.c.Life, tasks.Task{ID: newTaskID(), Owner: m.taskOwner(), State: tasks.Done,
		Answer: responses[0], Expires: time.Now().Add(m.taskTTL())})
	if err != nil {
		m.p.c.Logger.WarnContext(m.R.Context(), "a refusal could not be kept as a task", "server", m.Target.Name, "err", err)
		return m.reply(responses)
	}
	rec.State = tasks.Held // a task begins as one that is worked on
	made := m.p.shownTask(rec, mcp.Task25)
	made.Message = ""
	return m.reply([][]byte{made.CreatedAnswer(m.msgs[0].ID)})
}

// tasksToServer exchanges the names of tasks in what goes on to the server.
func (m *exchange) tasksToServer() {
	other := m.names(true)
	if other == nil || m.batch || m.task != nil {
		return
	}
	body := bytes.Trim(m.Body, " \t\r\n")
	renamed := mcp.RenameTasks(body, other)
	if bytes.Equal(renamed, body) {
		return
	}
	m.Body = renamed
	if name := other(m.msgs[0].TaskID()); name != "" && m.R.Header.Get("Mcp-Name") != "" {
		r := *m.R
		r.Header = m.R.Header.Clone()
		r.Header.Set("Mcp-Name", name)
		m.R = &r
	}
}

// tasksToClient exchanges the names of tasks in what the server sent, and puts
// Holdgate's own into its list of them.
func (m *relay) tasksToClient(ctx context.Context, message []byte) []byte {
	other := m.names(false)
	lists := len(m.msgs) == 1 && m.msgs[0].ListsTasks()
	if m.task != nil || other == nil && !lists || wire.Strict(message) != nil {
		return message
	}
	if other != nil {
		message = mcp.RenameTasks(message, other)
	}
	if !lists {
		return message
	}
	all, err := m.p.c.Queue.Tasks.Of(ctx, m.taskOwner())
	if err != nil {
		m.p.c.Logger.ErrorContext(ctx, "tasks cannot be listed", "err", err)
	}
	slices.SortFunc(all, func(a, b tasks.Task) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	var shown []mcp.Task
	for _, rec := range all {
		if rec.State == tasks.Theirs { // the server has listed it
			continue
		}
		if rec, err := m.p.c.Queue.Tasks.Get(ctx, rec.Owner, rec.ID); err == nil {
			shown = append(shown, m.p.shownTask(rec, mcp.Task25))
		}
	}
	return mcp.WithTasks(message, shown)
}
