package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An mcpExchange is one POST to an MCP server: one message, or a batch.
type mcpExchange struct {
	*exchange

	x     *gate.Exchange
	msgs  []mcp.Message
	batch bool
	at    []int // the message that each question is about

	// Of the transport of 2024-11-05 (see sseSession): the session that a
	// stream has opened, and for a message of one the end of its POST.
	session  *sseSession
	posted   *sseSession // that the message was posted to
	secret   string
	detached chan struct{}
	out      *keepalive.Sender // once the answer has begun as an event stream
	notes    mcp.Notes         // what approvers said, for the results
	calls    []sentCall        // what went on to the server, where policy looks at results

	wait *mcpWait
	asks atomic.Pointer[string] // what it waits for, as progress says it

	task   *heldTask // whose call this is; its client does not wait for it
	handed bool      // a task's own exchange has taken over
	shown  []string  // pages that the client was asked to show
	opened string    // the session that the server's answer begins

	// What a sign of life depends on; the sender's lock guards them.
	beats int
	sent  bool // the body has gone on: progress is the server's to report
}

// mcp takes a request to an MCP server through the steps. Of the methods that
// the protocol has, POST alone carries calls of the client's.
func (e *exchange) mcp() {
	switch route.Method(e.r) {
	case http.MethodPost:
	case http.MethodGet:
		e.listen()
		return
	case http.MethodDelete:
		e.endSession()
		return
	case http.MethodOptions, http.MethodHead:
		e.pass()
		return
	default:
		e.rejectMCP(http.StatusMethodNotAllowed, holdgate.RuleMalformed, nil, mcp.CodeInvalidRequest, fmt.Errorf("MCP has no use for the method %.20q", e.r.Method))
		return
	}
	if _, rerr := e.read(); rerr != nil {
		e.rejectMCP(rerr.Status, rerr.Rule, nil, mcp.CodeParse, rerr)
		return
	}
	msgs, batch, err := mcp.Parse(e.body)
	if err == nil {
		err = e.checkLine(e.body)
	}
	if err != nil {
		e.rejectMCP(http.StatusBadRequest, holdgate.RuleMalformed, nil, mcp.CodeInvalidRequest, err)
		return
	}
	if err := mcp.CheckHeaders(e.r.Header, msgs, batch); err != nil {
		e.rejectMCP(http.StatusBadRequest, holdgate.RuleMalformed, msgs[0].ID, mcp.CodeHeaderMismatch, err)
		return
	}
	m := &mcpExchange{exchange: e, msgs: msgs, batch: batch}
	if !m.findSession() {
		e.s.writeError(e.w, e.t, http.StatusNotFound, sessionEnded)
		return
	}
	m.meet()
	if m.aboutPage() {
		m.accepted()
		return
	}
	m.reclaim()
	x, err := e.s.gate.Enter(e.r.Context(), e.from(), m.mcpKey)
	if err != nil {
		e.rejectMCP(http.StatusServiceUnavailable, holdgate.RuleStore, msgs[0].ID, mcp.CodeRefused, err)
		return
	}
	m.x = x
	if m.posted != nil {
		m.posted.take(m)
		return
	}
	defer func() {
		if !m.handed {
			x.Leave()
		}
	}()
	m.run()
}

// mcpKey names the request by its methods and parameters.
func (m *mcpExchange) mcpKey() (holdgate.Digest, error) {
	at := m.t.URL
	if m.posted != nil { // whose endpoint is another one each time
		at = m.posted.stream.t.URL
	}
	fields := []string{at.String(), m.credentials()}
	for _, msg := range m.msgs {
		if m.s.c.Page != "" {
			msg = msg.WithoutPage()
		}
		k, err := msg.Key()
		if err != nil {
			return "", err
		}
		fields = append(fields, string(k))
	}
	return m.s.c.Digester.Fields("mcp", fields...), nil
}

// run judges every message, waits for those that are held, and sends the body
// on as it came, or answers in its place.
func (m *mcpExchange) run() {
	qs, err := m.questions()
	if err != nil {
		m.rejectMCP(http.StatusBadRequest, holdgate.RuleMalformed, m.msgs[0].ID, mcp.CodeInvalidRequest, err)
		return
	}
	defer m.closeOut()
	defer m.beginWait()()
	if !m.standing().Running() && !m.waitFor(m.admitMCP) {
		return
	}
	if m.pickUp() {
		return
	}
	held := false
	for _, q := range qs {
		if err := m.x.Decide(m.s.life, q); err != nil {
			q.Refuse(gate.NoticeError(q.Call, err))
		}
		held = held || q.Open()
	}
	if m.task != nil && held {
		m.task.holds(m.x.Held().ID())
	}
	if !m.handOver(qs) && !m.pageFirst(qs) {
		m.held(qs, held)
	}
}

// held waits for the messages that are held, if any are, and sends the body on or
// answers in its place.
func (m *mcpExchange) held(qs []*gate.Evaluation, held bool) {
	waits := held || !m.standing().Running()
	if waits && !m.waitFor(func(ctx context.Context) (string, error) {
		m.tell(qs)
		m.showPages(qs)
		m.x.OnAsk = func(q *gate.Evaluation) { m.tell([]*gate.Evaluation{q}) }
		err := m.x.Wait(ctx, qs...)
		return m.x.WaitsFor(qs), err
	}) {
		return
	}
	m.endPages()
	m.splice(qs)
	held = held || slices.ContainsFunc(qs, (*gate.Evaluation).Borrowed)
	for n, q := range qs {
		if !q.Released() && !m.msgs[m.at[n]].IsResponse() {
			err := m.refuse(m.refusals(qs))
			m.finishMCP(held, err)
			return
		}
	}
	if !m.wait.send() {
		m.accepted()
		return
	}
	if err := m.claim(qs); err != nil {
		_ = m.reply(m.refuseAll(err.Error()))
		return
	}
	m.takeNotes(qs)
	if m.withdraws() {
		return
	}
	if m.aboutTask() {
		m.finishMCP(held, nil)
		return
	}
	m.tasksToServer()
	m.withoutPage()
	m.sends(qs)
	err := m.forwardMCP()
	m.finishMCP(held, err)
	m.endStream(err)
}

// claim uses the approvals that the body rests on.
func (m *mcpExchange) claim(qs []*gate.Evaluation) error {
	if m.task != nil {
		if err := m.task.sending(); err != nil {
			return err
		}
	}
	return m.x.Use(m.r.Context(), qs...)
}

// questions makes a question of each message that asks for something, and of
// each answer to what the server asked.
func (m *mcpExchange) questions() ([]*gate.Evaluation, error) {
	var qs []*gate.Evaluation
	add := func(i int, c holdgate.Call) {
		c = m.call(c)
		c.Position = len(qs)
		qs = append(qs, &gate.Evaluation{Call: c, Hint: m.msgs[i].ModelCall()})
		m.at = append(m.at, i)
	}
	for i, msg := range m.msgs {
		c, ok, err := msg.Call(m.t.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			add(i, c)
		}
		for _, answer := range m.answers(msg) {
			if err := answer.CheckAnswer(); err != nil {
				return nil, err
			}
			if answer.Input == mcp.PageInput && m.s.c.Page != "" { // goes nowhere: see withoutPage
				continue
			}
			add(i, m.answerCall(answer))
		}
	}
	return qs, nil
}

// admitMCP is [exchange.admit] for messages, which have answers of their own.
func (m *mcpExchange) admitMCP(ctx context.Context) (waiting string, err error) {
	s, err := m.s.gate.Unpaused(ctx, m.t.Caller)
	if err != nil {
		return gate.PausedText(s), err
	}
	if s.Stopped() {
		m.s.refused(m.s.life, m.t, m.r.Method+" "+m.t.URL.Host+m.t.URL.Path, holdgate.RuleStopped, s.String())
		return "", &approvals.HaltError{Standing: s}
	}
	return "", nil
}

// waitFor keeps the client in line until fn is done. It reports false where
// the client has been answered otherwise or has gone. fn also says what it
// waits for.
func (m *mcpExchange) waitFor(fn func(context.Context) (waiting string, err error)) bool {
	ctx, cancel := context.WithTimeout(m.wait.ctx, m.budget())
	defer cancel()
	stop := context.AfterFunc(m.s.waits, cancel)
	defer stop()
	switch {
	case m.posted != nil:
		m.detach()
	case m.task != nil:
	case m.out == nil && acceptsEvents(m.r):
		m.begin()
		fallthrough
	case m.out != nil:
		m.out.OnFail(cancel)
	}
	waiting, err := fn(ctx)
	s, halted := gate.Halted(err)
	switch {
	case err == nil:
		return true
	case m.task != nil && ctx.Err() != nil: // it was cancelled, or its time is over, or the next process goes on
	case m.r.Context().Err() != nil:
		m.astray()
	case m.wait.isWithdrawn():
		m.astray()
		m.accepted()
	case halted:
		_ = m.refuse(m.refuseAll(gate.NoticeStopped("This call was not run", s)))
	case ctx.Err() != nil && m.msgs[0].Method == "tasks/result":
		_ = m.reply(m.refuseAll(wire.Mark + "There is no result of this task yet. Ask again."))
	case ctx.Err() != nil:
		_ = m.reply(m.refuseAll(wire.Mark + "This call was not run yet: " + waiting +
			". Call the tool again with the same arguments to pick up the decision."))
	default:
		_ = m.reply(m.refuseAll(err.Error()))
	}
	return false
}

func acceptsEvents(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/event-stream")
}

// begin sends the headers of an event stream at once: one client counts 60 s
// to them.
func (m *mcpExchange) begin() {
	m.out = keepalive.New(m.w, m.s.c.Logger, m.signOfLife, m.s.c.Limits.Idle)
	h := http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if id := m.r.Header.Get("Mcp-Session-Id"); id != "" {
		h.Set("Mcp-Session-Id", id)
	}
	m.out.Start(http.StatusOK, h)
}

// signOfLife is a rising notification of progress for every request that
// asked for one, and a comment besides. Once the server works on the request
// only the comment is left.
func (m *mcpExchange) signOfLife() []byte {
	if m.sent {
		return append(m.session.signsOfLife(), mcp.Comment()...)
	}
	return append(m.progress(), mcp.Comment()...)
}

// progress is a rising notification for every request that asked for one.
func (m *mcpExchange) progress() []byte {
	m.beats++
	asks := "waiting for people"
	if text := m.asks.Load(); text != nil {
		asks = *text
	}
	var b []byte
	for _, msg := range m.msgs {
		if token := msg.ProgressToken(); token != nil && msg.IsRequest() {
			b = append(b, mcp.Event(mcp.Progress(token, m.beats, asks))...)
		}
	}
	return b
}

func (m *mcpExchange) closeOut() {
	switch {
	case m.out == nil:
	case m.posted != nil:
		m.leaveSession()
	default:
		m.out.Close()
	}
}

// refusals answers each request of the body. Where one of a batch is refused
// none is sent on.
func (m *mcpExchange) refusals(qs []*gate.Evaluation) [][]byte {
	why := make(map[int]string)
	m.each(qs, func(i int, q *gate.Evaluation) {
		if !q.Released() && why[i] == "" {
			why[i] = q.Verdict().Notice
		}
	})
	var out [][]byte
	for i, msg := range m.msgs {
		if !msg.IsRequest() {
			continue
		}
		text, refused := why[i]
		if !refused {
			text = wire.Mark + "This request was not sent on, because another one of its batch was refused."
		}
		out = append(out, msg.Refusal(text))
	}
	return out
}

func (m *mcpExchange) refuseAll(text string) [][]byte {
	var out [][]byte
	for _, msg := range m.msgs {
		if msg.IsRequest() {
			out = append(out, msg.Refusal(text))
		}
	}
	return out
}

// reply answers in the server's place, in the form that the client awaits.
func (m *mcpExchange) reply(responses [][]byte) error {
	if m.posted != nil {
		m.detach()
	}
	if m.out != nil {
		m.out.Render(func() []byte {
			var b []byte
			for _, r := range responses {
				b = append(b, mcp.Event(r)...)
			}
			return b
		})
		return m.out.Failed()
	}
	if len(responses) == 0 {
		m.w.WriteHeader(http.StatusAccepted)
		return nil
	}
	body := responses[0]
	if m.batch {
		body = mcp.Batch(responses)
	}
	return m.writeJSON(http.StatusOK, body)
}

func (e *exchange) writeJSON(status int, body []byte) error {
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	e.w.WriteHeader(status)
	_, err := e.w.Write(body)
	return err
}

// unreachable answers a client whose MCP server could not be reached. What is
// no tool call has an error to get, and a status that says whose fault it is.
func (m *mcpExchange) unreachable(err error) {
	if ae, ok := errors.AsType[*upstream.AddressError](err); ok {
		m.rejectMCP(http.StatusForbidden, holdgate.RuleAddress, m.firstID(), mcp.CodeRefused, ae)
		return
	}
	if m.r.Context().Err() != nil {
		return
	}
	m.s.c.Logger.Warn("the MCP server failed", "server", m.t.Name, "err", err)
	_ = m.writeJSON(http.StatusBadGateway, mcp.Error(m.firstID(), mcp.CodeRefused, "the MCP server "+m.t.Name+" failed: "+upstream.Fault(err))) // a client that has gone needs no answer
}

// rejectMCP logs and answers what could not be read as MCP.
func (e *exchange) rejectMCP(status int, rule string, id []byte, code int, why error) {
	e.s.refused(e.s.life, e.t, e.r.Method+" "+e.t.URL.Host+e.t.URL.Path, rule, why.Error())
	_ = e.writeJSON(status, mcp.Error(id, code, why.Error())) // a client that has gone needs no answer
}
