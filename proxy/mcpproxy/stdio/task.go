package stdio

import (
	"bytes"
	"context"

	"github.com/holdgate/holdgate/proxy/mcp"
)

// TaskCall is the way to the server of a call that has become a task, whose client
// has been answered. It keeps the ids of the call until the task is over, for that
// is how the server's answer is known, and ends with the stream: cancel is called
// then.
func (ss *Session) TaskCall(task string, line []byte, msgs []mcp.Message, cancel context.CancelFunc) *Call {
	c := ss.newCall(Frame{Line: line}, msgs)
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
func (c *Call) sameTask() bool {
	if len(c.msgs) != 1 || len(c.ids) != 1 {
		return false
	}
	at := c.ss.find(c.msgs[0].ID)
	if at == nil || at.task == "" || !bytes.Equal(bytes.TrimSpace(at.line), bytes.TrimSpace(c.line)) {
		return false
	}
	made, ok := c.ss.proxy.TaskCreated(c.ss.ctx, at.task, c.msgs[0].ID)
	if !ok {
		return false
	}
	c.ss.write(Frame{Kind: Client, Line: Line(made)})
	c.ss.over(c.seq)
	return true
}

// Leave is the end of a task's call.
func (c *Call) Leave() {
	c.forget()
	c.ss.left(c)
	for _, seq := range c.finish() {
		c.ss.over(seq)
	}
	c.cancel()
}
