package mcpproxy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An exchange is one request to an MCP server: a POST, or the GET that opens a stream.
type exchange struct {
	*steps.Exchange
	p *Proxy
	x *gate.Exchange

	said
	line
	onStream
	handover
}

// A line is how a client is kept waiting.
type line struct {
	wait  *clientWait
	asks  atomic.Pointer[string] // what it waits for, as progress says it
	shown []string               // pages that it was asked to show
	open  []*gate.Evaluation     // what people decide of what it waits for
	out   *keepalive.Sender      // once the answer has begun as an event stream

	// What a sign of life depends on; the sender's lock guards them.
	beats int
	sent  bool // the body has gone on: progress is the server's to report
}

// onStream is for the transport of 2024-11-05 (see sseSession).
type onStream struct {
	session  *sseSession // that this stream has opened
	secret   string      // its own
	posted   *sseSession // that this message was posted to
	detached chan struct{}
}

// handover is for calls that become tasks.
type handover struct {
	task   *heldTask // whose call this is; its client does not wait for it
	handed bool      // a task's own exchange has taken over
}

// Speaks reports whether a request to an MCP server is the protocol's own, and not one
// that is HTTP's. DELETE ends a session, and says nothing else.
func Speaks(r *http.Request) bool {
	m := route.Method(r)
	return m != http.MethodOptions && m != http.MethodHead && m != http.MethodDelete
}

// Serve takes a request to an MCP server through the steps. Of the methods that the
// protocol has, POST alone carries calls of the client's. Its error is
// [steps.ErrCut].
func (p *Proxy) Serve(e *steps.Exchange) error {
	m := &exchange{Exchange: e, p: p}
	switch route.Method(e.R) {
	case http.MethodPost:
		return m.post()
	case http.MethodGet:
		return m.listen()
	}
	m.reject(http.StatusMethodNotAllowed, holdgate.RuleMalformed, nil, mcp.CodeInvalidRequest, fmt.Errorf("MCP has no use for the method %.20q", e.R.Method))
	return nil
}

// read reads and parses the messages of a POST. It reports false where the client has
// been answered.
func (m *exchange) read() bool {
	if _, rerr := m.Read(); rerr != nil {
		m.reject(rerr.Status, rerr.Rule, nil, mcp.CodeParse, rerr)
		return false
	}
	var err error
	if m.msgs, m.batch, err = mcp.Parse(m.Body); err == nil {
		err = m.checkLine(m.Body)
	}
	if err != nil {
		m.reject(http.StatusBadRequest, holdgate.RuleMalformed, nil, mcp.CodeInvalidRequest, err)
		return false
	}
	if err := mcp.CheckHeaders(m.R.Header, m.msgs, m.batch); err != nil {
		m.reject(http.StatusBadRequest, holdgate.RuleMalformed, m.msgs[0].ID, mcp.CodeHeaderMismatch, err)
		return false
	}
	return true
}

// post takes what a client has posted to its end.
func (m *exchange) post() error {
	if !m.read() {
		return nil
	}
	if !m.findSession() {
		m.Refuse(http.StatusNotFound, sessionEnded)
		return nil
	}
	m.meet()
	if m.aboutPage() {
		m.accepted()
		return nil
	}
	m.reclaim()
	x, err := m.p.c.Gate.Enter(m.R.Context(), m.From(), m.key)
	if err != nil {
		m.reject(http.StatusServiceUnavailable, holdgate.RuleStore, m.msgs[0].ID, mcp.CodeRefused, err)
		return nil
	}
	m.x = x
	if m.posted != nil {
		m.posted.serve(m)
		return nil
	}
	defer func() {
		if !m.handed {
			x.Leave()
		}
	}()
	return m.run()
}

// key names the request by its methods and parameters.
func (m *exchange) key() (holdgate.Digest, error) {
	at := m.Target.URL
	if m.posted != nil { // whose endpoint is another one each time
		at = m.posted.stream.Target.URL
	}
	fields := []string{at.String(), m.Credentials()}
	for _, msg := range m.msgs {
		if m.p.hasPage() {
			msg = msg.WithoutPage()
		}
		k, err := msg.Key()
		if err != nil {
			return "", err
		}
		fields = append(fields, string(k))
	}
	return m.p.c.Digester.Fields("mcp", fields...), nil
}

// run judges every message, waits for those that are held, and sends the body
// on as it came, or answers in its place.
func (m *exchange) run() error {
	qs, err := m.evaluations()
	if err != nil {
		m.reject(http.StatusBadRequest, holdgate.RuleMalformed, m.msgs[0].ID, mcp.CodeInvalidRequest, err)
		return nil
	}
	defer m.closeOut()
	defer m.beginWait()()
	if !m.AgentStatus().Running() && !m.waitFor(m.admit) {
		return nil
	}
	if m.pickUp() {
		return nil
	}
	held := false
	for _, q := range qs {
		if err := m.x.Decide(trace.Carry(m.p.c.Life, m.R.Context()), q); err != nil {
			m.x.Fail(m.R.Context(), q, err)
		}
		held = held || q.Undecided()
	}
	if m.task != nil && held {
		m.task.holds(m.x.Held().ID())
	}
	if m.handOver(qs) || m.pageFirst(qs) {
		return nil
	}
	return m.held(qs, held)
}

// held waits for the messages that are held, if any are, and sends the body on or
// answers in its place.
func (m *exchange) held(qs []*gate.Evaluation, held bool) error {
	waits := held || !m.AgentStatus().Running()
	if waits && !m.waitFor(func(ctx context.Context) (string, error) {
		m.waits(qs)
		m.tell(qs)
		m.showPages(qs)
		m.x.OnAsk = func(q *gate.Evaluation) { m.tell([]*gate.Evaluation{q}) }
		err := m.x.Wait(ctx, qs...)
		return m.x.WaitsFor(qs), err
	}) {
		return nil
	}
	m.endPages()
	m.splice(qs)
	held = held || slices.ContainsFunc(qs, (*gate.Evaluation).Borrowed)
	for n, q := range qs {
		if !q.Released() && !m.msgs[m.at[n]].IsResponse() {
			err := m.refuse(m.refusals(qs))
			m.finish(held, err)
			return nil
		}
	}
	if !m.wait.send() {
		m.accepted()
		return nil
	}
	if err := m.claim(qs); err != nil {
		_ = m.reply(m.unable("This call was not run, for its approval could not be used", err))
		return nil
	}
	r := &relay{exchange: m}
	r.takeNotes(qs)
	if m.withdraws() {
		return nil
	}
	if m.aboutTask() {
		m.finish(held, nil)
		return nil
	}
	m.tasksToServer()
	m.withoutPage()
	r.sends(qs)
	err := r.forward()
	m.finish(held, err)
	return m.endStream(err)
}

// unable refuses each message for which something failed inside Holdgate.
func (m *exchange) unable(what string, err error) [][]byte {
	return m.refuseAll(wire.Mark + m.p.c.Unable(m.R.Context(), what, err))
}

// claim uses the approvals that the body rests on.
func (m *exchange) claim(qs []*gate.Evaluation) error {
	if m.task != nil {
		if err := m.task.sending(); err != nil {
			return err
		}
	}
	return m.x.Use(m.R.Context(), qs...)
}

// evaluations makes a question of each message that asks for something, and of
// each answer to what the server asked.
func (m *exchange) evaluations() ([]*gate.Evaluation, error) {
	var qs []*gate.Evaluation
	add := func(i int, c holdgate.Call) {
		c = m.Complete(c)
		c.Position = len(qs)
		qs = append(qs, &gate.Evaluation{Call: c, Hint: m.msgs[i].ModelCall()})
		m.at = append(m.at, i)
	}
	for i, msg := range m.msgs {
		c, ok, err := msg.Call(m.Target.Name)
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
			if answer.Input == mcp.PageInput && m.p.hasPage() { // goes nowhere: see withoutPage
				continue
			}
			add(i, m.answerCall(answer))
		}
	}
	return qs, nil
}

// admit is [steps.Exchange.Admit] for messages, which have answers of their own.
func (m *exchange) admit(ctx context.Context) (waiting string, err error) {
	s, err := m.p.c.Gate.Unpaused(ctx, m.Target.Caller)
	if err != nil {
		return gate.PausedText(s), err
	}
	if s.Stopped() {
		m.Report(holdgate.RuleStopped, s.String())
		return "", &agents.HaltError{Status: s}
	}
	return "", nil
}

// waitFor keeps the client in line until fn is done. It reports false where
// the client has been answered otherwise or has gone. fn also says what it
// waits for.
func (m *exchange) waitFor(fn func(context.Context) (waiting string, err error)) bool {
	ctx, cancel := context.WithTimeout(m.wait.ctx, m.budget())
	defer cancel()
	stop := context.AfterFunc(m.p.c.Waits, cancel)
	defer stop()
	switch {
	case m.posted != nil:
		m.detach()
	case m.task != nil:
	case m.out == nil && acceptsEvents(m.R):
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
	case m.R.Context().Err() != nil:
		m.abandon()
	case m.wait.isWithdrawn():
		m.abandon()
		m.accepted()
	case halted:
		_ = m.refuse(m.refuseAll(gate.NoticeStopped("This call was not run", s)))
	case ctx.Err() != nil && m.msgs[0].Method == "tasks/result":
		_ = m.reply(m.refuseAll(wire.Mark + "There is no result of this task yet. Ask again."))
	case ctx.Err() != nil:
		m.x.Waits(gate.RungAgain, m.open...)
		_ = m.reply(m.refuseAll(wire.Mark + "This call was not run yet: " + waiting +
			". Call the tool again with the same arguments to pick up the decision."))
	default:
		_ = m.reply(m.unable("This call was not run, for the answer of people could not be waited for", err))
	}
	return false
}

func acceptsEvents(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/event-stream")
}

// begin sends the headers of an event stream at once: one client counts 60 s
// to them.
func (m *exchange) begin() {
	m.out = keepalive.New(m.R.Context(), m.W, m.p.c.Logger, m.signOfLife, m.p.c.Options.Idle)
	h := http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if id := m.R.Header.Get("Mcp-Session-Id"); id != "" {
		h.Set("Mcp-Session-Id", id)
	}
	m.out.Start(http.StatusOK, h)
}

// signOfLife is a rising notification of progress for every request that
// asked for one, and a comment besides. Once the server works on the request
// only the comment is left.
func (m *exchange) signOfLife() []byte {
	if m.sent {
		return append(m.session.signsOfLife(), mcp.Comment()...)
	}
	return append(m.progress(), mcp.Comment()...)
}

// progress is a rising notification for every request that asked for one.
func (m *exchange) progress() []byte {
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

func (m *exchange) closeOut() {
	switch {
	case m.out == nil:
	case m.posted != nil:
		m.leaveSession()
	default:
		m.out.Close()
	}
}

// reply answers in the server's place, in the form that the client awaits.
func (m *exchange) reply(responses [][]byte) error {
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
		m.W.WriteHeader(http.StatusAccepted)
		return nil
	}
	body := responses[0]
	if m.batch {
		body = mcp.Batch(responses)
	}
	return writeJSON(m.W, http.StatusOK, body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// reject logs and answers what could not be read as MCP.
func (m *exchange) reject(status int, rule string, id []byte, code int, why error) {
	m.Report(rule, why.Error())
	_ = writeJSON(m.W, status, mcp.Error(id, code, why.Error())) // a client that has gone needs no answer
}
