package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A relay passes on what a server sends, where it may.
type relay struct {
	*exchange
	notes  mcp.Notes  // what approvers said, for the results
	calls  []sentCall // what went on to the server, where policy looks at results
	opened string     // the session that the answer begins
}

// forward sends the body on and the server's answer back: as it comes, or
// as events where the client has been waiting on an event stream.
func (m *relay) forward() error {
	ctx, done := m.Underway()
	defer done()
	if m.out != nil {
		m.out.Exclusively(func() { m.sent = true })
	}
	resp, err := m.Send(ctx, m.Body)
	if err != nil {
		if m.out == nil {
			m.unreachable(err)
			return err
		}
		_ = m.reply(m.refuseAll(wire.Mark + "The MCP server could not be reached: " + upstream.Fault(err)))
		return err
	}
	defer resp.Body.Close()
	return m.pass(ctx, resp)
}

// pass passes the server's answer on. What the server asks of the client
// in it is judged on the way.
func (m *relay) pass(ctx context.Context, resp *http.Response) error {
	typ, err := upstream.AnswerType(resp, false)
	if err != nil {
		return m.refuseAnswer(err)
	}
	m.ownChallenge(resp.Header)
	m.opened = resp.Header.Get("Mcp-Session-Id")
	m.met(m.opened)
	if typ == route.TypeEvents {
		return m.relayEvents(ctx, resp)
	}
	length := resp.ContentLength
	if wire.ContentEncoding(resp.Header) != "" {
		length = -1 // it is that of the coded answer
	}
	body, err := upstream.Decoded(resp, m.p.c.Body)
	if err != nil {
		return m.refuseAnswer(err)
	}
	raw, err := readDocument(body, length, m.p.c.Body)
	if err != nil {
		return m.brokenOff(err)
	}
	if raw, err = m.fromServer(ctx, raw); err != nil {
		return m.refuseAnswer(err)
	}
	if m.out != nil {
		return m.replyWhole(resp.StatusCode, raw)
	}
	header := wire.EndToEnd(resp.Header)
	if len(raw) > 0 || header.Get("Content-Length") != "" {
		header.Set("Content-Length", strconv.Itoa(len(raw)))
	}
	wire.WriteHeader(m.W, resp.StatusCode, header)
	_, err = m.W.Write(raw)
	return err
}

// readDocument reads an answer that is one document, in one piece where its
// length is known.
func readDocument(src io.Reader, length, limit int64) ([]byte, error) {
	if length <= 0 || length > min(route.TrustedLength, limit) {
		return io.ReadAll(src)
	}
	raw := make([]byte, length)
	_, err := io.ReadFull(src, raw)
	return raw, err
}

// unreachable answers a client whose MCP server could not be reached. What is
// no tool call has an error to get, and a status that says whose fault it is.
func (m *relay) unreachable(err error) {
	if ae, ok := errors.AsType[*upstream.AddressError](err); ok {
		m.reject(http.StatusForbidden, holdgate.RuleAddress, m.firstID(), mcp.CodeRefused, ae)
		return
	}
	if m.R.Context().Err() != nil {
		return
	}
	m.p.c.Logger.WarnContext(m.R.Context(), "the MCP server failed", "server", m.Target.Name, "err", err)
	_ = writeJSON(m.W, http.StatusBadGateway, mcp.Error(m.firstID(), mcp.CodeRefused, "the MCP server "+m.Target.Name+" failed: "+upstream.Fault(err))) // a client that has gone needs no answer
}

// refuseAnswer logs an answer of the server's that may not be passed on, and
// answers in its place.
func (m *relay) refuseAnswer(why error) error {
	if m.R.Context().Err() != nil {
		return m.R.Context().Err()
	}
	if m.out == nil {
		m.reject(http.StatusBadGateway, holdgate.RuleMalformed, m.firstID(), mcp.CodeRefused, why)
		return nil
	}
	m.Report(holdgate.RuleMalformed, why.Error())
	return m.reply(m.refuseAll(wire.Mark + "The MCP server's answer is refused: " + why.Error()))
}

// brokenOff answers in the place of an answer that did not come to its end.
func (m *relay) brokenOff(err error) error {
	if m.out == nil {
		m.unreachable(err)
		return err
	}
	_ = m.reply(m.refuseAll(wire.Mark + "The MCP server's answer broke off: " + err.Error()))
	return err
}

// replyWhole makes events of an answer that came as one document. An error
// status becomes the result, for the headers have gone out already.
func (m *relay) replyWhole(status int, raw []byte) error {
	if status/100 != 2 {
		return m.reply(m.refuseAll(wire.Mark + fmt.Sprintf("The MCP server answered %d: %s", status, holdgate.Bounded(string(raw), 2000))))
	}
	if len(raw) == 0 || m.posted != nil { // the answer comes on the session's stream, and this is none
		return m.out.Failed()
	}
	if !m.batch {
		return m.reply([][]byte{raw})
	}
	if err := wire.Strict(raw); err != nil {
		return m.reply(m.refuseAll(wire.Mark + "The MCP server's answer cannot be read: " + err.Error()))
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

// finish records the end of an exchange of which something was stored.
func (m *exchange) finish(held bool, err error) {
	if m.task != nil { // what came of it is kept before its approvals are spent
		m.task.keep()
	}
	if !held {
		return
	}
	if err == nil {
		err = m.R.Context().Err()
	}
	if err != nil {
		m.x.Done(m.R.Context(), false, "the connection broke while the answer was sent: "+err.Error())
		return
	}
	m.x.Done(m.R.Context(), true, "")
}
