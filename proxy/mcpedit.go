package proxy

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// splice puts the arguments that people edited into the body, and into the
// headers that mirror them. A call for which that cannot be done is refused.
func (m *mcpExchange) splice(qs []*question) {
	arguments := make([][]byte, len(m.msgs))
	header := m.r.Header.Clone()
	changed := false
	m.each(qs, func(i int, q *question) {
		if !q.verdict.Release || q.verdict.Arguments == nil {
			return
		}
		if err := mcp.MirrorArguments(header, m.asked(i), q.verdict.Arguments); err != nil {
			m.s.c.Logger.Warn("refusing an edited call", "tool", q.call.Tool.Name, "err", err)
			q.refuse(noticeUneditable(q.call, err))
			return
		}
		arguments[i], changed = q.verdict.Arguments, true
	})
	if !changed {
		return
	}
	m.body = mcp.WithArguments(m.body, m.batch, arguments)
	r := *m.r
	r.Header = header
	m.r = &r
}

// asked returns the arguments of message i as the agent sent them.
func (m *mcpExchange) asked(i int) []byte {
	if args := wire.Find(m.msgs[i].Params, "arguments"); args != nil {
		return args
	}
	return []byte("{}")
}

// each calls fn for each message that asks for something, with its question.
func (m *mcpExchange) each(qs []*question, fn func(i int, q *question)) {
	n := 0
	for i, msg := range m.msgs {
		if msg.Method == "" {
			continue
		}
		fn(i, qs[n])
		n++
	}
}

// takeNotes keeps what approvers said until the results come by.
func (m *mcpExchange) takeNotes(qs []*question) {
	m.notes = mcp.Notes{}
	m.each(qs, func(i int, q *question) {
		if q.verdict.Release && q.verdict.Note != "" && m.msgs[i].IsRequest() {
			m.notes.Add(m.msgs[i], q.verdict.Note)
		}
	})
}

// relayNoted passes the server's answer on with the notes in its results.
func (m *mcpExchange) relayNoted(resp *http.Response, typ string) error {
	body, err := decoded(resp, m.s.c.Limits.Body)
	if err != nil {
		return m.refuseAnswer(err)
	}
	header := copyHeader(resp.Header)
	header.Del("Content-Length")
	if typ == typeEvents {
		writeHeader(m.w, resp.StatusCode, header)
		rc := http.NewResponseController(m.w)
		err := m.eachEvent(body, func(b []byte) error {
			if _, err := m.w.Write(b); err != nil {
				return err
			}
			return rc.Flush()
		})
		if err != nil && m.r.Context().Err() == nil {
			panic(http.ErrAbortHandler) // the client must not take what it has for the whole
		}
		return err
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		m.unreachable(err)
		return err
	}
	raw = m.notes.Annotate(raw)
	header.Set("Content-Length", strconv.Itoa(len(raw)))
	writeHeader(m.w, resp.StatusCode, header)
	_, err = m.w.Write(raw)
	return err
}

// eachEvent reads the server's events and writes them one by one, with the
// notes. Where they cannot be read as events the rest passes as it comes: a
// note is not worth an answer.
func (m *mcpExchange) eachEvent(src io.Reader, write func([]byte) error) error {
	var events wire.EventScanner
	var unread []byte // what came and has not been written
	buf := make([]byte, 16<<10)
	whole := true
	for {
		n, rerr := src.Read(buf)
		unread = append(unread, buf[:n]...)
		if whole {
			events.Push(buf[:n])
			if rerr != nil {
				events.End()
			}
		}
		for whole {
			ev, ok, err := events.Next()
			if err != nil {
				m.s.c.Logger.Warn("an approver's message may not reach the agent", "server", m.t.name, "err", err)
				whole = false
			}
			if err != nil || !ok {
				break
			}
			if err := write(m.notes.AnnotateEvent(ev)); err != nil {
				return err
			}
			unread = unread[len(ev.Raw):]
		}
		if (!whole || rerr != nil) && len(unread) > 0 {
			if err := write(unread); err != nil {
				return err
			}
			unread = nil
		}
		switch {
		case errors.Is(rerr, io.EOF):
			return nil
		case rerr != nil:
			return rerr
		}
	}
}
