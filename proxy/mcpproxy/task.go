package mcpproxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A call that is held becomes a task where its client can do with one: the
// client is answered at once, asks from time to time, and gets what it would have
// got. The task is Holdgate's own until the call has gone on. If the server then
// makes a task of it, Holdgate's is another name for that, and all that is said of
// either passes with the names exchanged; else what the server answered is kept.
//
// A heldTask is one whose call is under way in this process.
type heldTask struct {
	p        *Proxy
	id       string
	form     mcp.TaskForm
	m        *exchange
	exchange string // that holds the call
	out      *taskWriter
	kept     bool   // what came of the call
	leave    func() // gives back what the call has of its way to the server

	ended chan struct{} // closed when nothing more comes of the call here
}

// How long tasks are kept, at least and at most, and how often clients are to ask.
const (
	minTaskTTL = time.Hour
	maxTaskTTL = 7 * 24 * time.Hour
	taskPoll   = 2 * time.Second
)

// heldTasks are the tasks whose calls are under way, and the other names of those
// that servers have made their own.
type heldTasks struct {
	mu     sync.Mutex
	live   map[string]*heldTask
	theirs map[theirTask]string // Holdgate's names, by the servers'
	ours   map[theirTask]string // the opposite
}

// A theirTask is a task under one of its names, for the client that owns it.
type theirTask struct {
	owner holdgate.Digest
	id    string
}

func (all *heldTasks) begin(t *heldTask) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.live == nil {
		all.live = map[string]*heldTask{}
	}
	all.live[t.id] = t
}

func (all *heldTasks) remove(t *heldTask) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, t.id)
	close(t.ended)
}

// find returns a task that is under way here, or nil.
func (all *heldTasks) find(id string) *heldTask {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.live[id]
}

// taskForm is the form in which the call may be handed over. One that the server
// is known not to have, it has not for Holdgate either: in revision 2025-11-25
// such a call is to be answered as if it asked for no task, and in 2026-07-28 both
// sides must have agreed on tasks.
func (m *exchange) taskForm() mcp.TaskForm {
	if m.task != nil || m.batch || m.posted != nil || m.p.c.Options.NoTasks {
		return mcp.NoTask
	}
	form := m.msgs[0].TaskForm()
	if form == mcp.Task26 && m.Target.Door == route.DoorStdio { // the server may decide so: see docs/mcp.md
		return mcp.NoTask
	}
	declared, known := m.p.taskServers.Get(m.taskServer())
	switch {
	case form == mcp.Task26 && m.p.c.Options.OfferTasks: // what the server says is said for it
		return form
	case form == mcp.NoTask, known && declared != form, !known && form == mcp.Task26:
		return mcp.NoTask
	}
	return form
}

// taskServer is under what it is known whether a server has tasks.
func (m *exchange) taskServer() clientKey {
	return clientKey{m.Target.URL.String(), m.Target.Process + m.sessionID()}
}

// takeTaskForm remembers whether the server has tasks, where it says so.
func (m *relay) takeTaskForm(message []byte) {
	if len(m.msgs) != 1 {
		return
	}
	switch m.msgs[0].Method {
	case "initialize", "server/discover":
		if wire.Find(message, "result") == nil {
			return
		}
		at := m.taskServer()
		if at.session == "" {
			at.session = m.opened
		}
		m.p.taskServers.Add(at, mcp.DeclaresTasks(message))
	}
}

// offersTasks reports whether the message that comes is a server's word on what it
// can do, to which Holdgate's own tasks are added.
func (m *relay) offersTasks() bool {
	return m.p.c.Options.OfferTasks && m.Target.Door != route.DoorStdio && len(m.msgs) == 1 && m.msgs[0].Method == "server/discover"
}

// taskOwner names who may ask for a task: the client on its account, in its
// session where the protocol gave it one.
func (m *exchange) taskOwner() holdgate.Digest {
	return m.p.c.Digester.Fields("mcp task", m.Target.URL.String(), m.Target.Caller.Agent.ID, fmt.Sprint(m.Target.Caller.Agent.Proven), m.Target.Caller.Session.ID, m.Target.Process+m.sessionID(), m.Credentials())
}

// A taskCall is what it takes to make a task's call in another process.
type taskCall struct {
	Form    mcp.TaskForm `json:"form"`
	Door    string       `json:"door"`
	Server  string       `json:"server"`
	URL     string       `json:"url"`
	Session string       `json:"session"` // the caller's
	// Agent is the caller; of an older version, whoever is served by default.
	Agent  holdgate.Agent `json:"agent,omitzero"`
	Client string         `json:"client,omitempty"`
	Header http.Header    `json:"header"`
	Body   []byte         `json:"body"`
}

// handOver makes a task of a call that is held, tells the client, and goes on
// without it. It reports false where the call stays what it is.
func (m *exchange) handOver(qs []*gate.Evaluation) bool {
	form := m.taskForm()
	if form == mcp.NoTask || !slices.ContainsFunc(qs, (*gate.Evaluation).Undecided) {
		return false
	}
	call, err := json.Marshal(taskCall{form, m.Target.Door, m.Target.Name, m.Target.URL.String(), m.Target.Caller.Session.ID, m.Target.Caller.Agent, m.Target.Client, m.R.Header, m.Body})
	if err != nil {
		return false
	}
	until := time.Now().Add(m.taskTTL())
	for _, q := range qs {
		until = latest(until, q.Request().ExpiresAt.Add(minTaskTTL))
	}
	rec, err := m.p.c.Queue.Tasks.Add(m.p.c.Life, tasks.Task{
		ID: newTaskID(), Owner: m.taskOwner(), State: tasks.Held, Exchange: m.x.Held().ID(), Call: call, Expires: until,
	})
	if err != nil {
		m.p.c.Logger.WarnContext(m.R.Context(), "a held call could not become a task, and is held in line", "server", m.Target.Name, "err", err)
		return false
	}
	m.x.Waits(gate.RungTask, qs...)
	m.tell(qs)
	e := m.p.c.Begin(nil, m.R, m.Target)
	e.Body, e.Began, e.Remark = m.Body, m.Began, m.Remark
	t := m.p.newTask(rec, form, e, m.msgs)
	t.m.at, t.m.x = m.at, m.x
	t.m.asks.Store(m.asks.Load())
	m.handed = true
	m.p.c.Running.Go(func() { t.run(func() error { return t.m.held(qs, true) }) })
	_ = m.reply([][]byte{m.p.shownTask(rec, form).CreatedAnswer(m.msgs[0].ID)}) // a client that has gone has lost its task, not the request
	return true
}

func newTaskID() string { return "holdgate-" + rand.Text() }

// taskTTL is how long a task is kept for its client.
func (m *said) taskTTL() time.Duration {
	return min(max(m.msgs[0].TaskTTL(), minTaskTTL), maxTaskTTL)
}

// newTask takes up a task: its call goes on without a connection to its client.
func (p *Proxy) newTask(rec tasks.Task, form mcp.TaskForm, e *steps.Exchange, msgs []mcp.Message) *heldTask {
	t := &heldTask{p: p, id: rec.ID, form: form, exchange: rec.Exchange, out: newTaskWriter(p.c.Body), ended: make(chan struct{}), leave: func() {}}
	kept, done := p.c.Callers.Keep(caller.Carry(p.c.Life, e.R.Context()))
	kept, cancel := context.WithDeadline(kept, rec.Expires)
	wait := &clientWait{ctx: kept, cancel: func() { cancel(); done() }}
	if ss := stdio.SessionOf(e.Target.Transport); ss != nil {
		c := ss.TaskCall(rec.ID, e.Body, msgs, wait.cancel)
		e.Target.Transport, t.leave = c, c.Leave
	}
	e.W, e.R = t.out, e.R.WithContext(wait.ctx)
	t.m = &exchange{Exchange: e, p: p, said: said{msgs: msgs}, line: line{wait: wait}, handover: handover{task: t}}
	p.tasks.begin(t)
	return t
}

// run takes the call to its end, for as long as this process lasts.
func (t *heldTask) run(call func() error) {
	defer t.p.tasks.remove(t)
	defer t.leave()
	defer t.m.wait.cancel()
	defer t.m.x.Leave()
	defer t.m.recovered()
	defer t.m.closeOut()
	err := call()
	if caller.Revoked(t.m.wait.ctx) {
		t.revoked()
		return
	}
	if err != nil {
		return // what there is of an answer is not the whole
	}
	if t.m.wait.isSent() && !t.kept && t.out.answer == nil {
		text := fmt.Sprintf("The MCP server gave no answer that can be read (status %d): %s", t.out.status, holdgate.Bounded(string(t.out.doc), 2000))
		t.out.answer = t.m.msgs[0].Refusal(wire.Mark + text)
	}
	t.keep()
}

// sending says, durably, that the call goes on. It does not where the client has
// cancelled the task.
func (t *heldTask) sending() error {
	_, err := t.p.c.Queue.Tasks.Change(t.p.c.Life, t.id, func(rec *tasks.Task) error {
		if rec.State != tasks.Held {
			return errors.New("the task was cancelled")
		}
		rec.State = tasks.Sending
		return nil
	})
	return err
}

// revoked says, durably, that the call is not run, since its agent's credential was
// taken back.
func (t *heldTask) revoked() {
	_, err := t.p.c.Queue.Tasks.Change(t.p.c.Life, t.id, func(rec *tasks.Task) error {
		if rec.State != tasks.Held {
			return tasks.ErrOver
		}
		rec.State, rec.Answer = tasks.Cancelled, mcp.ToolRefusal(t.m.msgs[0].ID, wire.Mark+"This call was not run: the agent's credential was taken back.")
		return nil
	})
	if err != nil && !errors.Is(err, tasks.ErrOver) {
		t.p.c.Logger.ErrorContext(t.m.R.Context(), "after a restart a task will be taken up whose agent's credential was taken back", "task", t.id, "err", err)
	}
}

// holds says, durably, which exchange holds the call.
func (t *heldTask) holds(exchange string) {
	if exchange == t.exchange {
		return
	}
	t.exchange = exchange
	_, err := t.p.c.Queue.Tasks.Change(t.p.c.Life, t.id, func(rec *tasks.Task) error {
		rec.Exchange = exchange
		return nil
	})
	if err != nil {
		t.p.c.Logger.ErrorContext(t.m.R.Context(), "after a restart a task will be asked about again", "task", t.id, "err", err)
	}
}

// keep stores what came of the call, if anything has. What came too late is not
// kept: of a call that was sent nobody then knows.
func (t *heldTask) keep() {
	answer := t.out.answer
	if answer == nil || t.p.c.Life.Err() != nil {
		return
	}
	t.out.answer, t.kept = nil, true
	theirs, ttl, made := mcp.CreatedTask(answer)
	cancelled := false
	rec, err := t.p.c.Queue.Tasks.Change(t.p.c.Life, t.id, func(rec *tasks.Task) error {
		cancelled = rec.State == tasks.Cancelled
		switch {
		case cancelled:
		case t.form == mcp.Task26 && mcp.WantsInput(answer):
			rec.State, rec.Answer = tasks.Asks, answer
			rec.Round++
		case made:
			rec.State, rec.Theirs = tasks.Theirs, theirs
			rec.Expires = latest(rec.Expires, rec.Created.Add(min(max(ttl, minTaskTTL), maxTaskTTL)))
		default:
			rec.State, rec.Answer = tasks.Done, answer
		}
		return nil
	})
	switch {
	case err != nil:
		t.p.c.Logger.ErrorContext(t.m.R.Context(), "what came of a task could not be stored", "task", t.id, "err", err)
	case cancelled && made:
		t.m.tellServer(t.p.c.Life, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s","method":"tasks/cancel","params":{"taskId":%s}}`, t.id, wire.AppendText(nil, theirs)))
	case made:
		t.p.tasks.rename(rec)
	}
}

// rename remembers the two names of a task that the server has made its own.
func (all *heldTasks) rename(rec tasks.Task) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.theirs == nil {
		all.theirs, all.ours = map[theirTask]string{}, map[theirTask]string{}
	}
	all.theirs[theirTask{rec.Owner, rec.Theirs}], all.ours[theirTask{rec.Owner, rec.ID}] = rec.ID, rec.Theirs
}

// names returns how tasks are called on the other side, or nil where none has
// two names.
func (m *exchange) names(toServer bool) func(id string) string {
	all := &m.p.tasks
	all.mu.Lock()
	none := len(all.theirs) == 0
	all.mu.Unlock()
	if none {
		return nil
	}
	owner := m.taskOwner()
	return func(id string) string {
		all.mu.Lock()
		defer all.mu.Unlock()
		if toServer {
			return all.ours[theirTask{owner, id}]
		}
		return all.theirs[theirTask{owner, id}]
	}
}
