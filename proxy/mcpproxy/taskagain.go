package mcpproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// TakeUpTasks goes on with the tasks that an earlier process left. Until it
// returns nobody else can take up what they hold.
func (p *Proxy) TakeUpTasks() {
	all, err := p.c.Queue.Tasks.All(p.c.Life)
	if err != nil {
		p.c.Logger.Error("the tasks of MCP clients cannot be read: their clients are told of none", "err", err)
		return
	}
	for _, rec := range all {
		var err error
		switch rec.State {
		case tasks.Theirs:
			p.tasks.rename(rec)
		case tasks.Sending:
			err = p.endTask(rec, "The sidecar ended while this call was under way, and nobody knows whether it was run. It is not sent again.")
		case tasks.Held:
			err = p.takeUpTask(rec, nil)
		}
		if err != nil {
			p.c.Logger.Error("a task cannot be taken up again", "task", rec.ID, "err", err)
		}
	}
}

// endTask ends a task without an answer of the server's.
func (p *Proxy) endTask(rec tasks.Task, why string) error {
	_, err := p.c.Queue.Tasks.Change(p.c.Life, rec.ID, func(rec *tasks.Task) error {
		if !rec.State.Unfinished() {
			return tasks.ErrOver
		}
		rec.State, rec.Answer = tasks.Done, mcp.ToolRefusal([]byte("null"), wire.Mark+why)
		return nil
	})
	return err
}

// takeUpTask takes the call of a task through the steps again: what people were
// asked about it is found, and not asked anew. The task of a server on standard
// streams needs a stream, which is the client's to begin: without one it waits.
func (p *Proxy) takeUpTask(rec tasks.Task, ss *stdio.Session) error {
	var c taskCall
	if err := json.Unmarshal(rec.Call, &c); err != nil {
		return fmt.Errorf("reading its call: %w", err)
	}
	if c.Door == route.DoorStdio && ss == nil {
		return nil
	}
	t, err := p.taskTarget(c, ss)
	if err != nil {
		return p.endTask(rec, err.Error())
	}
	msgs, _, err := mcp.Parse(c.Body)
	if err != nil {
		return fmt.Errorf("reading its call: %w", err)
	}
	r := &http.Request{Method: http.MethodPost, URL: t.URL, Host: t.URL.Host, Header: c.Header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	e := p.c.Begin(nil, r, *t)
	e.Body = c.Body
	task := p.newTask(rec, c.Form, e, msgs)
	x, err := p.c.Queue.Reenter(p.c.Life, t.Caller, rec.Exchange, task.m.key)
	if err != nil {
		p.tasks.remove(task)
		task.m.wait.cancel()
		return err
	}
	task.m.x = p.c.Gate.TakeUp(task.m.From(), x)
	p.c.Running.Go(func() { task.run(task.m.run) })
	return nil
}

// taskTarget is where a task's call goes, if the configuration still lets it.
func (p *Proxy) taskTarget(c taskCall, ss *stdio.Session) (*route.Target, error) {
	if ss != nil {
		_, t := ss.Listening()
		t.Client = c.Client
		return &t, nil
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("reading its server's address: %w", err)
	}
	t := &route.Target{Door: c.Door, Name: c.Server, URL: u, MCP: true, Client: c.Client}
	if c.Door == route.DoorMCP {
		at, ok := p.c.Servers[c.Server]
		if !ok || route.WithPort(at.Scheme, at.Host) != route.WithPort(u.Scheme, u.Host) {
			return nil, fmt.Errorf("this call was not run: the configuration has no MCP server %q at %s any more", c.Server, u.Host)
		}
		t.Named = true
	}
	t.Caller = p.c.Callers.Unnamed(c.Door)
	t.Caller.Session.ID = c.Session
	if c.Agent.ID != "" {
		t.Caller.Agent = c.Agent
	}
	return t, nil
}
