package mcpproxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/trace"
)

var stdioName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// ServeStdio gives a stream to a `holdgate mcp`, and serves it to its end, or says why it
// does not. The
// name of the server is the caller's word; one that the configuration has is
// refused, for policy would take it for that of the configured server.
func (p *Proxy) ServeStdio(w http.ResponseWriter, r *http.Request, name string) *route.Refusal {
	no := func(status int, rule, why string) *route.Refusal {
		return &route.Refusal{Status: status, Rule: rule, Err: errors.New(why)}
	}
	switch _, configured := p.c.Servers[name]; {
	case !stdio.Asked(r):
		w.Header().Set("Upgrade", stdio.Protocol)
		w.Header().Set("Connection", "Upgrade")
		return no(http.StatusUpgradeRequired, "", "this path is for `holdgate mcp`, of the same version as the sidecar")
	case !stdioName.MatchString(name):
		return no(http.StatusBadRequest, holdgate.RuleMalformed, "the name of an MCP server is of a-z, 0-9, '-', '_' and '.', at most 63 characters, and begins with a letter or digit: choose one with --name")
	case configured:
		return no(http.StatusConflict, holdgate.RuleMalformed, "the configuration has another MCP server of the name "+name+": choose one with --name")
	}
	p.pipes.Add(1)
	defer p.pipes.Done()
	conn, err := stdio.Accept(w)
	if err != nil {
		p.c.Logger.WarnContext(r.Context(), "a stream for an MCP server could not be opened", "server", name, "err", err)
		return nil
	}
	ctx, cancel := context.WithCancel(trace.Carry(p.c.Waits, r.Context()))
	defer context.AfterFunc(r.Context(), cancel)() // when the agent's credential is taken back
	if by, ok := caller.In(r.Context()); ok {
		ctx = caller.With(ctx, by)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the reading
	t := route.Target{Door: route.DoorStdio, Name: name, MCP: true, Named: true, Caller: p.c.Callers.In(ctx, route.DoorStdio),
		URL:     &url.URL{Scheme: schemeStdio, Host: name, Path: "/" + r.URL.Query().Get(stdio.CommandParam)},
		Process: cmp.Or(r.URL.Query().Get(stdio.ProcessParam), rand.Text())} // an older `holdgate mcp` has none
	ss := stdio.NewSession(ctx, conn, t, stdio.Config{Limit: p.c.Body, Ending: p.c.Waits, Logger: p.c.Logger})
	listening, at := ss.Listening()
	m := &exchange{Exchange: p.c.Begin(nil, listening, at), p: p, line: line{sent: true}}
	ss.Start(listener{&relay{exchange: m}})
	m.takeUpTasks(ctx, ss)
	ss.Run()
	cancel()
	ss.Wait()
	stop()
	_ = conn.Close() // it may have been the other side's to close
	return nil
}

// A listener is the exchange for what a server on standard streams sends by itself.
type listener struct{ m *relay }

var _ stdio.Proxy = listener{}

// Serve implements [Proxy].
func (l listener) Serve(w http.ResponseWriter, r *http.Request, t *route.Target) error {
	return l.m.p.c.Serve(w, r, t)
}

// FromServer implements [Proxy].
func (l listener) FromServer(ctx context.Context, message []byte) ([]byte, error) {
	ctx, end := trace.Each(ctx)
	defer end()
	return l.m.fromServer(ctx, message)
}

// Refused implements [Proxy].
func (l listener) Refused(what, rule, message string) {
	l.m.p.c.Refused(route.Target{Door: route.DoorStdio}, what, rule, message)
}

// TaskCreated implements [Proxy].
func (l listener) TaskCreated(ctx context.Context, task string, id []byte) ([]byte, bool) {
	rec, err := l.m.p.c.Queue.Tasks.Get(ctx, l.m.taskOwner(), task)
	if err != nil {
		return nil, false
	}
	return l.m.p.shownTask(rec, mcp.Task25).CreatedAnswer(id), true
}

// checkLine refuses what would be several lines to some reader, where messages
// are lines.
func (m *exchange) checkLine(message []byte) error {
	if m.Target.Door != route.DoorStdio {
		return nil
	}
	return stdio.Check(message)
}

// takeUpTasks goes on with the tasks that the process's earlier stream left, with
// an earlier sidecar or with this one.
func (m *exchange) takeUpTasks(ctx context.Context, ss *stdio.Session) {
	p, owner := m.p, m.taskOwner()
	own, err := p.c.Queue.Tasks.Of(ctx, owner)
	if err == nil && len(own) > 0 {
		for _, rec := range own {
			if live := p.tasks.find(rec.ID); live != nil {
				select {
				case <-live.ended: // its stream has ended, or is about to
				case <-ctx.Done():
					return
				}
			}
		}
		own, err = p.c.Queue.Tasks.All(ctx) // with their calls
	}
	if err != nil {
		p.c.Logger.ErrorContext(ctx, "the tasks of an MCP client cannot be read: it is told of none", "server", m.Target.Name, "err", err)
		return
	}
	for _, rec := range own {
		if rec.Owner != owner || rec.State != tasks.Held {
			continue
		}
		if err := p.takeUpTask(rec, ss); err != nil {
			p.c.Logger.ErrorContext(ctx, "a task cannot be taken up again", "task", rec.ID, "err", err)
		}
	}
}
