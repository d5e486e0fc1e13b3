package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// errCut says that a stream of the server's ended before its end: the client
// must not take what it has for the whole.
var errCut = errors.New("the MCP server's stream broke off")

// listen takes a GET to an MCP server: the stream on which a server sends by
// itself, or takes up one that broke off.
func (m *exchange) listen() error {
	c := m.AsHTTP()
	if acceptsEvents(m.R) {
		c = TransportCall(m.Exchange)
	}
	if !m.Admit() || !m.Permitted(c) {
		return nil
	}
	m.sent = true
	_ = m.findSession() // a stream needs none
	defer m.closeOut()
	defer m.closeSession()
	return m.endStream((&relay{exchange: m}).forward())
}

// TransportCall is what a client does at a server that is no message, as policy
// sees it: the HTTP method stands for the protocol's.
func TransportCall(e *steps.Exchange) holdgate.Call {
	return holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{Server: e.Target.Name, Method: route.Method(e.R)}}
}

// endStream says that the connection is to be cut where the server's stream was cut,
// and the client is still there.
func (m *exchange) endStream(err error) error {
	if errors.Is(err, errCut) && m.R.Context().Err() == nil {
		return steps.ErrCut
	}
	return nil
}

// relayEvents passes the server's events on one by one, as they come.
func (m *relay) relayEvents(ctx context.Context, resp *http.Response) error {
	src := io.Reader(resp.Body) // a stream may last for days: only its events are bounded
	if wire.ContentEncoding(resp.Header) != "" {
		var err error
		if src, err = upstream.Decoded(resp, m.p.c.Body); err != nil {
			return m.refuseAnswer(err)
		}
	}
	if m.out == nil {
		header := wire.EndToEnd(resp.Header)
		header.Del("Content-Length")
		m.sent = true
		m.out = keepalive.New(m.R.Context(), m.W, m.p.c.Logger, m.signOfLife, m.p.c.Options.Idle)
		m.out.Start(resp.StatusCode, header)
	}
	events := wire.EventScanner{Limit: int(m.p.c.Body)}
	buf := make([]byte, 16<<10)
	for {
		n, rerr := src.Read(buf)
		events.Push(buf[:n])
		if rerr != nil {
			events.End()
		}
		ended, err := m.sendEvents(ctx, &events)
		switch {
		case ended || err != nil:
			return err
		case errors.Is(rerr, io.EOF):
			return nil
		case rerr != nil:
			return fmt.Errorf("%w: %w", errCut, rerr)
		}
	}
}

// sendEvents sends those events that are whole. It reports whether one of them
// ends the stream, because it was refused.
func (m *relay) sendEvents(ctx context.Context, events *wire.EventScanner) (ended bool, err error) {
	for {
		ev, ok, err := events.Next()
		if err != nil {
			return true, m.refuseAnswer(fmt.Errorf("reading the server's events: %w", err))
		}
		if !ok {
			return false, m.out.Failed()
		}
		raw := ev.Raw
		if ev.Data != nil {
			data, err := m.eventData(ctx, ev)
			if err != nil {
				return true, m.refuseAnswer(err)
			}
			raw = mcp.WithData(ev, data)
		}
		m.out.Render(func() []byte { return raw })
		if err := m.out.Failed(); err != nil {
			return true, err
		}
	}
}

// eventData returns the data with which an event goes on.
func (m *relay) eventData(ctx context.Context, ev wire.Event) ([]byte, error) {
	if ev.Type == "endpoint" && m.msgs == nil {
		return m.openSession(ev.Data)
	}
	return m.fromServer(ctx, ev.Data)
}

// fromServer takes everything that a server sends: a document, or the data of one
// event. It returns what goes on to the client, which is nil
// where nothing does; an error says that nothing may.
func (m *relay) fromServer(ctx context.Context, data []byte) ([]byte, error) {
	msgs, batch, err := mcp.ParseServer(data)
	if err == nil {
		err = m.checkLine(data)
	}
	if err != nil {
		return nil, fmt.Errorf("two readers could take what the server sent differently: %w", err)
	}
	if len(msgs) == 0 && !mcp.IsNoise(data) && m.p.c.Engine.JudgesResults() {
		return nil, errors.New("what the server sent is no message, and some readers could take it for one")
	}
	instead := make(map[int][]byte)
	for i, msg := range msgs {
		m.endedIn(msg)
		if err := m.takeTools(ctx, msg.Raw); err != nil {
			return nil, err
		}
		m.takeTaskForm(msg.Raw)
		if m.offersTasks() {
			instead[i] = mcp.WithTasksDeclared(msg.Raw)
		}
		if shown, fewer := m.withoutDenied(msg.Raw); fewer {
			instead[i] = shown
		}
		refused, err := m.permitAsks(ctx, msg)
		if err != nil {
			return nil, err
		}
		if refused == "" && m.task != nil && msg.IsRequest() {
			refused = "the client does not listen here: its call is a task"
		}
		if refused != "" {
			instead[i] = m.insteadOf(ctx, msg, refused)
			continue
		}
		other, err := m.permitResult(ctx, msg.Raw)
		if err != nil {
			return nil, err
		}
		if other != nil {
			instead[i] = other
		}
	}
	if len(instead) > 0 {
		data = mcp.Replace(data, batch, instead)
	}
	data = m.tasksToClient(ctx, data)
	if m.session != nil {
		return m.session.annotate(data), nil
	}
	return m.notes.Annotate(data), nil
}
