package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
)

// permitAsks judges what a message of the server's asks of the client. While a
// person decides, the server's stream waits, and what follows keeps its place.
// It returns why the message may not reach the client, or "".
func (m *mcpExchange) permitAsks(ctx context.Context, msg mcp.ServerMessage) (refused string, err error) {
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
func (m *mcpExchange) permitAsk(ctx context.Context, ask mcp.Message) (refused string, err error) {
	x, err := m.s.c.Queue.Enter(ctx, m.t.caller, func() (holdgate.Digest, error) {
		key, err := ask.Key()
		return m.s.c.Digester.Fields("mcp ask", m.t.url.String(), m.credentials(), string(key)), err
	})
	if err != nil {
		return "", err
	}
	defer x.Leave()
	own := *m.exchange
	own.x, own.log = x, m.s.newLog(m.t, x)
	q := &question{call: own.call(ask.ServerCall(m.t.name))}
	if err := own.decide(ctx, q); err != nil {
		return noticeError(q.call, err), nil
	}
	held := q.open()
	if held || !own.standing().Running() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(m.s.waits, cancel)()
		if err := own.settle(ctx, []*question{q}); err != nil {
			return "", err
		}
	}
	if !q.verdict.Release {
		refused = q.verdict.Notice
	} else if err := own.use([]*question{q}); err != nil {
		refused = err.Error()
	} else {
		m.s.asked.Add(m.askKey(ask), ask.Method)
	}
	if held {
		own.done(true, "")
	}
	return refused, nil
}

// insteadOf returns what the client gets in the place of a message that was
// refused. The server is told why its own request was.
func (m *mcpExchange) insteadOf(ctx context.Context, msg mcp.ServerMessage, why string) []byte {
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
func (m *mcpExchange) tellServer(ctx context.Context, message []byte) {
	own := *m.exchange
	r := *m.r
	r.Method, r.Header = http.MethodPost, m.r.Header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Del("Last-Event-Id")
	own.r, own.body, own.sent = &r, message, nil
	if m.session != nil {
		own.t.url = m.session.endpoint
	}
	resp, err := own.send(ctx)
	if err != nil {
		m.s.c.Logger.Warn("an MCP server could not be told that its request was refused", "server", m.t.name, "err", err)
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, trustedLength) // so that the connection can be kept
	_ = resp.Body.Close()
}

// askKey is under what a request of a server's is known until it is answered.
func (m *mcpExchange) askKey(msg mcp.Message) askKey {
	session := m.mcpSession()
	if msg.Input != "" {
		return askKey{m.t.name, session, "input " + msg.Input}
	}
	return askKey{m.t.name, session, "id " + mcp.IDKey(msg.ID)}
}

type askKey struct{ server, session, id string }

// maxAsked is how many of the servers' requests are remembered, so that policy
// knows what an answer is to.
const maxAsked = 4096

// answerCall returns what policy sees of a client's answer to a server. One to
// nothing that was seen has no method.
func (m *mcpExchange) answerCall(msg mcp.Message) holdgate.Call {
	asked, _ := m.s.asked.Get(m.askKey(msg))
	return msg.AnswerCall(m.t.name, asked)
}

// spliceAnswers puts errors in the place of answers that may not reach the
// server.
func (m *mcpExchange) spliceAnswers(qs []*question) {
	instead := make(map[int][]byte)
	m.each(qs, func(i int, q *question) {
		if msg := m.msgs[i]; msg.IsResponse() && !q.verdict.Release {
			instead[i] = mcp.Error(msg.ID, mcp.CodeRefused, q.verdict.Notice)
		}
	})
	if len(instead) > 0 {
		m.body = mcp.Replace(m.body, m.batch, instead)
	}
}
