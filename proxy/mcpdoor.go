package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An mcpExchange is one POST to an MCP server: one message, or a batch.
type mcpExchange struct {
	*exchange
	msgs  []mcp.Message
	batch bool
	out   *sender // once the answer has begun as an event stream
	beats int
}

// mcp takes a request to an MCP server through the steps. What is not a POST
// carries no calls of the client's.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request, t target) {
	if r.Method != http.MethodPost {
		s.pass(w, r, t)
		return
	}
	body, rerr := s.read(r)
	if rerr != nil {
		s.refusedMCP(w, r, t, rerr.status, rerr.rule, mcp.Error(nil, mcp.CodeParse, rerr.Error()), rerr.Error())
		return
	}
	msgs, batch, err := mcp.Parse(body)
	if err != nil {
		s.refusedMCP(w, r, t, http.StatusBadRequest, holdgate.RuleMalformed, mcp.Error(nil, mcp.CodeInvalidRequest, err.Error()), err.Error())
		return
	}
	if !batch {
		if err := msgs[0].CheckHeaders(r.Header); err != nil {
			s.refusedMCP(w, r, t, http.StatusBadRequest, holdgate.RuleMalformed, mcp.Error(msgs[0].ID, mcp.CodeHeaderMismatch, err.Error()), err.Error())
			return
		}
	}
	m := &mcpExchange{exchange: &exchange{s: s, w: w, r: r, t: t, body: body}, msgs: msgs, batch: batch}
	x, err := s.c.Queue.Enter(r.Context(), t.caller, m.mcpKey)
	if err != nil {
		s.refusedMCP(w, r, t, http.StatusServiceUnavailable, holdgate.RuleStore, mcp.Error(msgs[0].ID, mcp.CodeRefused, err.Error()), err.Error())
		return
	}
	defer x.Leave()
	m.x, m.log = x, s.newLog(t, x)
	m.run()
}

// mcpKey names the request by its methods and parameters.
func (m *mcpExchange) mcpKey() (holdgate.Digest, error) {
	fields := []string{m.t.url.String()}
	for _, msg := range m.msgs {
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
		m.s.refusedMCP(m.w, m.r, m.t, http.StatusBadRequest, holdgate.RuleMalformed, mcp.Error(m.msgs[0].ID, mcp.CodeInvalidRequest, err.Error()), err.Error())
		return
	}
	held := false
	for _, q := range qs {
		if err := m.decide(m.s.life, q); err != nil {
			q.refuse(noticeError(q.call, err))
		}
		held = held || q.open()
	}
	if held && !m.wait(qs) {
		return
	}
	defer m.closeOut()
	for _, q := range qs {
		if !q.verdict.Release {
			err := m.reply(m.refusals(qs))
			m.finishMCP(held, err)
			return
		}
	}
	if err := m.use(qs); err != nil {
		_ = m.reply(m.refuseAll(err.Error()))
		return
	}
	m.finishMCP(held, m.forwardMCP())
}

// questions makes a question of each message that asks for something.
func (m *mcpExchange) questions() ([]*question, error) {
	var qs []*question
	for _, msg := range m.msgs {
		c, ok, err := msg.Call(m.t.name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		c = m.call(c)
		c.Position = len(qs)
		qs = append(qs, &question{call: c})
	}
	return qs, nil
}

// wait keeps the client in line until people have decided. It reports false
// where the client has been answered otherwise or has gone.
func (m *mcpExchange) wait(qs []*question) bool {
	ctx, cancel := context.WithTimeout(m.r.Context(), m.s.c.Limits.MCP)
	defer cancel()
	stop := context.AfterFunc(m.s.waits, cancel)
	defer stop()
	if acceptsEvents(m.r) {
		m.begin()
		m.out.onFail(cancel)
	}
	err := m.settle(ctx, qs)
	switch {
	case err == nil:
		return true
	case m.r.Context().Err() != nil:
	case ctx.Err() != nil:
		_ = m.reply(m.refuseAll(noticeMark + "This call waits for a person: " + requestIDs(qs) +
			" is pending and was not run yet. Call the tool again with the same arguments to pick up the decision."))
	default:
		_ = m.reply(m.refuseAll(err.Error()))
	}
	m.closeOut()
	return false
}

func acceptsEvents(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/event-stream")
}

// begin sends the headers of an event stream at once: one client counts 60 s
// to them.
func (m *mcpExchange) begin() {
	m.out = newSender(m.w, m.signOfLife, m.s.c.Limits.Idle)
	h := http.Header{"Content-Type": {"text/event-stream"}}
	if id := m.r.Header.Get("Mcp-Session-Id"); id != "" {
		h.Set("Mcp-Session-Id", id)
	}
	m.out.start(http.StatusOK, h)
}

// signOfLife is a rising notification of progress for every request that
// asked for one, and a comment besides.
func (m *mcpExchange) signOfLife() []byte {
	m.beats++
	var b []byte
	for _, msg := range m.msgs {
		if token := msg.ProgressToken(); token != nil && msg.IsRequest() {
			b = append(b, mcp.Event(mcp.Progress(token, m.beats, "waiting for a person to decide"))...)
		}
	}
	return append(b, mcp.Comment()...)
}

func (m *mcpExchange) closeOut() {
	if m.out != nil {
		m.out.close()
	}
}

// refusals answers each request of the body. Where one of a batch is refused
// none is sent on.
func (m *mcpExchange) refusals(qs []*question) [][]byte {
	var out [][]byte
	i := 0
	for _, msg := range m.msgs {
		if msg.Method == "" {
			continue
		}
		q := qs[i]
		i++
		if !msg.IsRequest() {
			continue
		}
		text := q.verdict.Notice
		if q.verdict.Release {
			text = noticeMark + "This request was not sent on, because another one of its batch was refused."
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
	if m.out != nil {
		m.out.render(func() []byte {
			var b []byte
			for _, r := range responses {
				b = append(b, mcp.Event(r)...)
			}
			return b
		})
		return m.out.failed()
	}
	if len(responses) == 0 {
		m.w.WriteHeader(http.StatusAccepted)
		return nil
	}
	body := responses[0]
	if m.batch {
		body = mcp.Batch(responses)
	}
	m.w.Header().Set("Content-Type", "application/json")
	m.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	m.w.WriteHeader(http.StatusOK)
	_, err := m.w.Write(body)
	return err
}

// forwardMCP sends the body on and the server's answer back: as it comes, or
// as events where the client has been waiting on an event stream.
func (m *mcpExchange) forwardMCP() error {
	ctx, cancel := context.WithCancel(m.r.Context())
	defer cancel()
	stop := context.AfterFunc(m.s.life, cancel)
	defer stop()
	resp, err := m.s.send(ctx, m.r, m.t, m.body)
	if err != nil {
		if m.out == nil {
			m.upstreamFailed(err)
			return err
		}
		_ = m.reply(m.refuseAll(noticeMark + "The MCP server could not be reached: " + err.Error()))
		return err
	}
	defer resp.Body.Close()
	if m.out == nil {
		return m.relayMCP(resp)
	}
	body, err := decoded(resp, m.s.c.Limits.Body)
	if err != nil {
		return m.reply(m.refuseAll(noticeMark + "The MCP server's answer cannot be read: " + err.Error()))
	}
	if resp.StatusCode/100 == 2 && isEventStream(resp.Header) {
		return m.copyEvents(body)
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		_ = m.reply(m.refuseAll(noticeMark + "The MCP server's answer broke off: " + err.Error()))
		return err
	}
	return m.replyWhole(resp.StatusCode, raw)
}

// replyWhole makes events of an answer that came as one document. An error
// status becomes the result, for the headers have gone out already.
func (m *mcpExchange) replyWhole(status int, raw []byte) error {
	if status/100 != 2 {
		return m.reply(m.refuseAll(noticeMark + fmt.Sprintf("The MCP server answered %d: %s", status, bounded(string(raw), 2000))))
	}
	if len(raw) == 0 {
		return m.out.failed()
	}
	if !m.batch {
		return m.reply([][]byte{raw})
	}
	if err := wire.Strict(raw); err != nil {
		return m.reply(m.refuseAll(noticeMark + "The MCP server's answer cannot be read: " + err.Error()))
	}
	var all [][]byte
	for e, err := range wire.Elements(raw) {
		if err != nil {
			return m.reply([][]byte{raw})
		}
		all = append(all, e.Value)
	}
	return m.reply(all)
}

func (m *mcpExchange) copyEvents(src io.Reader) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			m.out.render(func() []byte { return buf[:n] })
		}
		if failed := m.out.failed(); failed != nil {
			return failed
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (m *mcpExchange) relayMCP(resp *http.Response) error {
	h := m.w.Header()
	for k, v := range copyHeader(resp.Header) {
		h[k] = v
	}
	m.w.WriteHeader(resp.StatusCode)
	if err := copyFlushing(m.w, resp.Body, resp.ContentLength < 0); err != nil {
		if m.r.Context().Err() == nil {
			panic(http.ErrAbortHandler) // the client must not take what it has for the whole
		}
		return err
	}
	return nil
}

// finishMCP records the end of an exchange of which something was stored.
func (m *mcpExchange) finishMCP(held bool, err error) {
	if !held {
		return
	}
	if err == nil {
		err = m.r.Context().Err()
	}
	if err != nil {
		m.done(false, "the connection broke while the answer was sent: "+err.Error())
		return
	}
	m.done(true, "")
}

// refusedMCP logs and answers what could not be read as MCP.
func (s *Server) refusedMCP(w http.ResponseWriter, r *http.Request, t target, status int, rule string, body []byte, why string) {
	s.refused(s.life, t, r.Method+" "+t.url.Host+t.url.Path, rule, why)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
