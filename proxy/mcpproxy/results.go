package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// Where policy looks at results, what a server answers goes on to the agent only
// once policy, and people where it asks, have let it. The call was made by then:
// a refusal says so. A result that people are asked about is kept, sealed, so that
// the same call again gets it, and is not made twice.

// A sentCall is a request that a server has been sent, or may have been.
type sentCall struct {
	call holdgate.Call // as it went on
	key  func() (holdgate.Digest, error)
	msg  mcp.Message
}

// maxSent is how many requests are remembered whose answers come by on another
// connection than they did.
const maxSent = 1024

// sends remembers what goes on to the server, if policy looks at what that
// brings.
func (m *relay) sends(qs []*gate.Evaluation) {
	if !m.p.c.Engine.JudgesResults() {
		return
	}
	m.each(qs, func(i int, q *gate.Evaluation) {
		msg := m.msgs[i]
		if !msg.IsRequest() {
			return
		}
		sent := sentCall{call: q.Call, key: m.resultKey, msg: msg}
		if m.batch {
			sent.key = nil
		}
		m.calls = append(m.calls, sent)
		if m.sessionID() != "" {
			m.p.sentCalls.Add(m.askKey(msg), sent)
		}
	})
}

// resultKey names the result of the very request.
func (m *exchange) resultKey() (holdgate.Digest, error) {
	k, err := m.key()
	return m.p.c.Digester.Fields("mcp result", string(k)), err
}

// answered finds the request that an answer is for. In the answer to a POST with
// one request it is that, whatever the id.
func (m *relay) answered(a mcp.Answer) (sentCall, bool) {
	at := m.askKey(mcp.Message{ID: a.ID})
	late, session := sentCall{}, m.sessionID() != ""
	if session {
		late, session = m.p.sentCalls.Get(at)
		m.p.sentCalls.Remove(at)
	}
	for _, sent := range m.calls {
		if mcp.IDKey(sent.msg.ID) == mcp.IDKey(a.ID) {
			return sent, true
		}
	}
	switch {
	case len(m.calls) == 1 && !m.batch:
		return m.calls[0], true
	case session:
		return late, true
	}
	return sentCall{}, false
}

// permitResult judges what a server has answered, if policy looks at that. It
// returns what the client gets in the place of the message, or nil where it goes
// on as it came; an error says that the client has gone, or may get nothing.
func (m *relay) permitResult(ctx context.Context, message []byte) (instead []byte, err error) {
	if !m.p.c.Engine.JudgesResults() {
		return nil, nil
	}
	a, ok, err := mcp.ReadAnswer(message)
	if !ok || err != nil {
		return nil, err
	}
	sent, known := m.answered(a)
	switch {
	case !known:
		return mcp.Error(a.ID, mcp.CodeRefused, wire.Mark+"This answer is withheld: Holdgate does not know what it is to, and policy looks at results. Make the call again."), nil
	case !mcp.Brings(sent.msg.Method):
		return nil, nil
	}
	key := sent.key
	if key == nil {
		key = func() (holdgate.Digest, error) {
			return m.p.c.Digester.Fields("mcp result in a batch", m.Target.URL.String(), string(a.ID), string(a.Body)), nil
		}
	}
	x, err := m.p.c.Gate.Enter(ctx, m.From(), key)
	if err != nil {
		return nil, err
	}
	defer x.Leave()
	return m.judgeResult(ctx, x, sent, a, message)
}

// judgeResult takes a result through the gate, in an exchange of its own. People are
// not asked about one in a batch: the same batch again would be run again.
func (m *relay) judgeResult(ctx context.Context, x *gate.Exchange, sent sentCall, a mcp.Answer, message []byte) (instead []byte, err error) {
	q := &gate.Evaluation{Call: sent.call, Remark: "the result"}
	q.Call.Result = rego.ReadResult(ctx, a.Body, a.IsError)
	if sent.key == nil {
		q.Unheld = "People would have to be asked, which they are not about results in a batch."
	}
	kept := false
	err = x.Pass(ctx, q, func(ctx context.Context) (waiting context.Context, end func(), err error) {
		if err := keepResult(ctx, x, q, message); err != nil {
			return nil, nil, err
		}
		kept = true
		waiting, end = m.resultPatience(ctx)
		x.Waits(m.rung(), q)
		return waiting, end, nil
	})
	waits, _ := errors.AsType[*gate.WaitError](err)
	switch {
	case waits != nil && m.R.Context().Err() != nil:
		if m.msgs != nil {
			m.abandon()
		}
		return nil, m.R.Context().Err()
	case waits != nil && waits.Over:
		x.Waits(gate.RungAgain, q)
		return sent.msg.Refusal(wire.Mark + "The call was run, and its result waits: " + x.WaitsFor([]*gate.Evaluation{q}) +
			". Call the tool again with the same arguments to pick it up; it is not run again."), nil
	case waits == nil && kept:
		defer x.Done(ctx, true, "")
	}
	if err != nil {
		x.Fail(ctx, q, err)
	}
	if !q.Released() {
		return sent.msg.Refusal(q.Verdict().Notice), nil
	}
	if note := q.Verdict().Note; note != "" {
		m.note(sent.msg, note)
	}
	body, hidden, ok := redact.Result(q.Call.Result, q.Redacts())
	switch {
	case !ok:
		return sent.msg.Refusal(wire.Mark + gate.Undone(q.Call) + ": policy redacts all of it."), nil
	case hidden == 0:
		return nil, nil
	}
	return a.With(message, body), nil
}

// keepResult stores what a server has answered, for as long as people take.
func keepResult(ctx context.Context, x *gate.Exchange, q *gate.Evaluation, message []byte) error {
	kept := approvals.Answer{Status: http.StatusOK, Header: http.Header{}, Body: message}
	if t := q.Call.Tool; t != nil && t.Arguments != nil {
		kept.Header[headerArguments] = []string{string(t.Arguments)}
	}
	return x.Held().Keep(context.WithoutCancel(ctx), kept) // the client may leave at any time, and come back for it
}

// headerArguments is where the arguments are kept with which a call was made: a
// person may have edited them.
const headerArguments = "Arguments"

// resultPatience is the rest of the time that the client waits, and says to it
// meanwhile that somebody is asked. On a stream of the server's own it begins now.
func (m *relay) resultPatience(ctx context.Context) (_ context.Context, done func()) {
	budget := m.budget()
	until := time.Now().Add(budget)
	if m.msgs != nil {
		until = latest(m.Began.Add(budget), time.Now().Add(min(budget, leastPatience)))
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	stop := context.AfterFunc(m.p.c.Waits, cancel)
	text := "the result waits for a person to decide"
	m.asks.Store(&text)
	switch {
	case m.msgs == nil || m.posted != nil || m.task != nil:
		return ctx, func() { stop(); cancel() }
	case m.out == nil && acceptsEvents(m.R):
		m.begin()
	}
	if m.out != nil {
		m.out.OnFail(cancel)
		m.out.Exclusively(func() { m.sent = false })
	}
	return ctx, func() {
		if m.out != nil {
			m.out.Exclusively(func() { m.sent = true })
		}
		stop()
		cancel()
	}
}

// leastPatience is how long people are given for a result even of a call that
// took nearly as long as its client waits.
const leastPatience = 2 * time.Second

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pickUp answers a request by the result of the very same one which waits for
// people, or has waited: the server is not asked again. It reports whether the
// client has been answered.
func (m *exchange) pickUp() bool {
	if m.batch || !m.msgs[0].IsRequest() || !mcp.Brings(m.msgs[0].Method) || !m.p.c.Engine.JudgesResults() {
		return false
	}
	x, err := m.p.c.Gate.Enter(m.R.Context(), m.From(), m.resultKey)
	if err == nil {
		defer x.Leave()
		var kept approvals.Answer
		var whole bool
		if kept, whole, err = x.Held().Kept(m.R.Context()); err == nil && !whole {
			return false
		}
		if err == nil {
			err = (&relay{exchange: m}).deliverKept(x, kept)
		}
	}
	if err != nil && m.R.Context().Err() == nil {
		_ = m.reply(m.unable("The result of this call was kept, and cannot be had", err))
	}
	return true
}

// deliverKept judges a result that was kept, and sends it.
func (m *relay) deliverKept(x *gate.Exchange, kept approvals.Answer) error {
	msg := m.msgs[0]
	c, _, err := msg.Call(m.Target.Name)
	if err != nil {
		return err
	}
	if args := kept.Header[headerArguments]; len(args) == 1 && c.Tool != nil {
		c.Tool.Arguments, c.Tool.ArgumentsRaw = []byte(args[0]), ""
	}
	message := mcp.WithID(kept.Body, msg.ID)
	a, ok, err := mcp.ReadAnswer(message)
	if err == nil && !ok {
		err = errors.New("it is no answer")
	}
	if err != nil {
		return fmt.Errorf("reading the result: %w", err)
	}
	if m.posted != nil {
		m.detach()
	}
	m.notes = mcp.Notes{}
	sent := sentCall{call: m.Complete(c), key: m.resultKey, msg: msg}
	instead, err := m.judgeResult(m.R.Context(), x, sent, a, message)
	if err != nil {
		return err
	}
	if instead != nil {
		message = instead
	}
	return m.reply([][]byte{m.notes.Annotate(message)})
}

// note keeps what an approver of a result said, for that result.
func (m *relay) note(msg mcp.Message, text string) {
	if m.notes == nil {
		m.notes = mcp.Notes{}
	}
	m.notes.Add(msg, text)
	if s := m.session; s != nil {
		s.note(m.notes)
	} else if m.posted != nil {
		m.posted.note(m.notes)
	}
}

// endedIn takes note of how the tool ended whose call a message of the server's
// answers.
func (m *relay) endedIn(msg mcp.ServerMessage) {
	how := msg.Ended()
	if how == wire.EndedUnknown {
		return
	}
	for _, asked := range m.msgs {
		if asked.Method == "tools/call" && asked.IsRequest() && mcp.IDKey(asked.ID) == mcp.IDKey(msg.ID) {
			m.x.ToolsEnded(m.R.Context(), sessions.Results("").And(how == wire.EndedWell))
			return
		}
	}
}
