package proxy

import (
	"bytes"
	"context"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/stdio"
)

// taskCall is the way to the server of a call that has become a task, whose client
// has been answered. It keeps the ids of the call until the task is over, for that
// is how the server's answer is known, and ends with the stream: cancel is called
// then.
func (ss *stdioSession) taskCall(task string, line []byte, msgs []mcp.Message, cancel context.CancelFunc) *stdioCall {
	c := ss.newCall(stdio.Frame{Line: line}, msgs)
	stop := context.AfterFunc(ss.ctx, cancel)
	c.task, c.cancel = task, func() { stop(); cancel() }
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, id := range c.ids {
		ss.asked[id] = c
	}
	ss.calls[c] = struct{}{}
	return c
}

// sameTask answers a call that has become a task already, and reports whether it is
// one: the stream broke before the client was told, and the call came again.
func (c *stdioCall) sameTask() bool {
	if len(c.msgs) != 1 || len(c.ids) != 1 {
		return false
	}
	at := c.ss.find(c.msgs[0].ID)
	if at == nil || at.task == "" || !bytes.Equal(bytes.TrimSpace(at.line), bytes.TrimSpace(c.line)) {
		return false
	}
	rec, err := c.ss.s.c.Queue.Task(c.ss.ctx, c.ss.listener.m.taskOwner(), at.task)
	if err != nil {
		return false
	}
	made := c.ss.s.shownTask(rec, mcp.Task25).Made(c.msgs[0].ID)
	c.ss.write(stdio.Frame{Kind: stdio.Client, Line: stdio.Line(made)})
	c.ss.over(c.seq)
	return true
}

// leave is the end of a task's call.
func (c *stdioCall) leave() {
	c.forget()
	c.ss.left(c)
	for _, seq := range c.end() {
		c.ss.over(seq)
	}
	c.cancel()
}

// takeUpTasks goes on with the tasks that the process's earlier stream left, with
// an earlier sidecar or with this one.
func (ss *stdioSession) takeUpTasks() {
	s, owner := ss.s, ss.listener.m.taskOwner()
	own, err := s.c.Queue.TasksOf(ss.ctx, owner)
	if err == nil && len(own) > 0 {
		for _, rec := range own {
			if live := s.tasks.find(rec.ID); live != nil {
				select {
				case <-live.ended: // its stream has ended, or is about to
				case <-ss.ctx.Done():
					return
				}
			}
		}
		own, err = s.c.Queue.AllTasks(ss.ctx) // with their calls
	}
	if err != nil {
		s.c.Logger.Error("the tasks of an MCP client cannot be read: it is told of none", "server", ss.t.Name, "err", err)
		return
	}
	for _, rec := range own {
		if rec.Owner != owner || rec.State != approvals.TaskHeld {
			continue
		}
		if err := s.takeUpTask(rec, ss); err != nil {
			s.c.Logger.Error("a task cannot be taken up again", "task", rec.ID, "err", err)
		}
	}
}
