package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// forwardMCP sends the body on and the server's answer back: as it comes, or
// as events where the client has been waiting on an event stream.
func (m *mcpExchange) forwardMCP() error {
	ctx, cancel := context.WithCancel(m.r.Context())
	defer cancel()
	stop := context.AfterFunc(m.s.life, cancel)
	defer stop()
	defer m.cutWhenStopped(cancel)()
	if m.out != nil {
		m.out.exclusively(func() { m.sent = true })
	}
	resp, err := m.send(ctx)
	if err != nil {
		if m.out == nil {
			m.unreachable(err)
			return err
		}
		_ = m.reply(m.refuseAll(noticeMark + "The MCP server could not be reached: " + err.Error()))
		return err
	}
	defer resp.Body.Close()
	typ, err := answerType(resp)
	if err != nil {
		return m.refuseAnswer(err)
	}
	if m.out == nil {
		if len(m.notes) > 0 {
			return m.relayNoted(resp, typ)
		}
		return m.relayMCP(resp)
	}
	body, err := decoded(resp, m.s.c.Limits.Body)
	if err != nil {
		return m.reply(m.refuseAll(noticeMark + "The MCP server's answer cannot be read: " + err.Error()))
	}
	if typ == typeEvents {
		return m.copyEvents(body)
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		_ = m.reply(m.refuseAll(noticeMark + "The MCP server's answer broke off: " + err.Error()))
		return err
	}
	return m.replyWhole(resp.StatusCode, raw)
}

// refuseAnswer logs an answer of the server's that may not be passed on, and
// answers in its place.
func (m *mcpExchange) refuseAnswer(why error) error {
	if m.out == nil {
		m.rejectMCP(http.StatusBadGateway, holdgate.RuleMalformed, m.msgs[0].ID, mcp.CodeRefused, why)
		return nil
	}
	m.s.refused(m.s.life, m.t, m.r.Method+" "+m.t.url.Host+m.t.url.Path, holdgate.RuleMalformed, why.Error())
	return m.reply(m.refuseAll(noticeMark + "The MCP server's answer is refused: " + why.Error()))
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
	raw = m.notes.Annotate(raw)
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

// copyEvents passes the server's events on as they come.
func (m *mcpExchange) copyEvents(src io.Reader) error {
	if len(m.notes) > 0 {
		return m.eachEvent(src, func(b []byte) error {
			m.out.render(func() []byte {
				m.tail = lastBytes(m.tail, b)
				return b
			})
			return m.out.failed()
		})
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			m.out.render(func() []byte {
				m.tail = lastBytes(m.tail, buf[:n])
				return buf[:n]
			})
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

// lastBytes returns the last bytes of a and b joined, as many as the end of an
// event may have.
func lastBytes(a, b []byte) []byte {
	all := append(bytes.Clone(a), b[max(0, len(b)-4):]...)
	return all[max(0, len(all)-4):]
}

// betweenEvents reports whether an event stream with these last bytes stands
// between two events, where a line of ours breaks none of the server's.
func betweenEvents(tail []byte) bool {
	lines := bytes.ReplaceAll(bytes.ReplaceAll(tail, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	return len(tail) == 0 || bytes.HasSuffix(lines, []byte("\n\n"))
}

// relayMCP passes the server's answer on as it came.
func (m *mcpExchange) relayMCP(resp *http.Response) error {
	writeHeader(m.w, resp.StatusCode, copyHeader(resp.Header))
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
