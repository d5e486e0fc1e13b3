package mcpproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// permitAsks judges what a message of the server's asks of the client. While a
// person decides, the server's stream waits, and what follows keeps its place.
// It returns why the message may not reach the client, or "".
func (m *relay) permitAsks(ctx context.Context, msg mcp.ServerMessage) (refused string, err error) {
	for _, ask := range msg.Asks {
		refused, err := m.permitAsk(ctx, ask)
		if refused != "" || err != nil {
			return refused, err
		}
	}
	return "", nil
}

// permitAsk judges one request of the server's, in an exchange of its own: it
// is no part of what the client asked for.
func (m *relay) permitAsk(ctx context.Context, ask mcp.Message) (refused string, err error) {
	x, err := m.p.c.Gate.Enter(ctx, m.From(), func() (holdgate.Digest, error) {
		key, err := ask.Key()
		return m.p.c.Digester.Fields("mcp ask", m.Target.URL.String(), m.Credentials(), string(key)), err
	})
	if err != nil {
		return "", err
	}
	defer x.Leave()
	q := &gate.Evaluation{Call: m.Complete(ask.ServerCall(m.Target.Name))}
	err = x.Pass(ctx, q, func(ctx context.Context) (context.Context, func(), error) {
		x.Waits(gate.RungLine, q)
		ctx, end := m.p.c.Waiting(ctx)
		return ctx, end, nil
	})
	if waits, ok := errors.AsType[*gate.WaitError](err); ok {
		return "", waits
	}
	if q.Request().ID != "" {
		defer x.Done(ctx, true, "")
	}
	if err != nil {
		x.Fail(ctx, q, err)
	}
	if !q.Released() {
		return q.Verdict().Notice, nil
	}
	m.p.asked.Add(m.askKey(ask), ask.Method)
	return "", nil
}

// insteadOf returns what the client gets in the place of a message that was
// refused. The server is told why its own request was.
func (m *relay) insteadOf(ctx context.Context, msg mcp.ServerMessage, why string) []byte {
	if msg.IsRequest() {
		m.tellServer(ctx, mcp.Error(msg.ID, mcp.CodeRefused, why))
		return nil
	}
	for _, asked := range m.msgs {
		if bytes.Equal(asked.ID, msg.ID) {
			return asked.Refusal(why)
		}
	}
	return mcp.Error(msg.ID, mcp.CodeRefused, why)
}

// tellServer sends the server a message in the client's place, with the
// client's own headers.
func (m *exchange) tellServer(ctx context.Context, message []byte) {
	r := *m.R
	r.Method, r.Header = http.MethodPost, m.R.Header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Del("Last-Event-Id")
	own := m.p.c.Begin(nil, &r, m.Target)
	if m.session != nil {
		own.Target.URL = m.session.endpoint
	}
	resp, err := own.Send(ctx, message)
	if err != nil {
		m.p.c.Logger.WarnContext(ctx, "an MCP server could not be told that its request was refused", "server", m.Target.Name, "err", err)
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, route.TrustedLength) // so that the connection can be kept
	_ = resp.Body.Close()
}

// askKey is under what a request of a server's is known until it is answered.
func (m *exchange) askKey(msg mcp.Message) askKey {
	session := m.sessionID()
	if msg.Input != "" {
		return askKey{m.Target.Name, session, "input " + msg.Input}
	}
	return askKey{m.Target.Name, session, "id " + mcp.IDKey(msg.ID)}
}

type askKey struct{ server, session, id string }

// maxAsked is how many of the servers' requests are remembered, so that policy
// knows what an answer is to.
const maxAsked = 4096

// answerCall returns what policy sees of a client's answer to a server. One to
// nothing that was seen has no method.
func (m *exchange) answerCall(msg mcp.Message) holdgate.Call {
	asked, _ := m.p.asked.Get(m.askKey(msg))
	return msg.AnswerCall(m.Target.Name, asked)
}

// spliceAnswers puts errors in the place of answers that may not reach the
// server.
func (m *exchange) spliceAnswers(qs []*gate.Evaluation) {
	instead := make(map[int][]byte)
	m.each(qs, func(i int, q *gate.Evaluation) {
		if msg := m.msgs[i]; msg.IsResponse() && !q.Released() {
			instead[i] = mcp.Error(msg.ID, mcp.CodeRefused, q.Verdict().Notice)
		}
	})
	if len(instead) > 0 {
		m.Body = mcp.Replace(m.Body, m.batch, instead)
	}
}
