package mcphost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// post takes messages of a client's to the process of its session.
func (s *Server) post(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	msgs, batch, err := mcp.Parse(body)
	if err != nil {
		return answer(r, http.StatusBadRequest, mcp.Error(nil, mcp.CodeInvalidRequest, err.Error())), nil
	}
	if batch && !takesEvents(r) {
		return answer(r, http.StatusNotAcceptable, mcp.Error(nil, mcp.CodeInvalidRequest, "a batch is answered by events, which the header Accept does not name")), nil
	}
	c := &call{s: s, r: r, msgs: msgs, body: body, st: newStream(takesEvents(r))}
	first := msgs[0]
	switch ss := s.named(r); {
	case ss != nil:
		c.ss, c.done = ss, func(bool) { ss.leave(c.st) }
	case r.Header.Get(sessionHeader) != "" || r.URL.Query().Get(endpointParam) != "":
		return noSession(r), nil
	case !batch && first.Method == "initialize" && first.IsRequest():
		if c.ss, err = s.startSession(); err != nil {
			return refusal(r, first.ID, err)
		}
		c.opens = true
		c.done = func(whole bool) {
			if c.ss.leave(c.st); !whole {
				c.ss.close()
			}
		}
	case !batch && first.IsRequest() && isStateless(first):
		if c.ss, err = s.lease(); err != nil {
			return refusal(r, first.ID, err)
		}
		c.done = func(whole bool) {
			if c.ss.leave(c.st); whole {
				s.giveBack(c.ss)
			} else {
				c.ss.close() // it works on what nobody waits for
			}
		}
	default:
		return answer(r, http.StatusBadRequest, mcp.Error(first.ID, mcp.CodeInvalidRequest, "the message is of no session: begin with initialize, and send the header Mcp-Session-Id of its answer")), nil
	}
	return c.exchange()
}

// isStateless reports whether a request is of a revision without sessions: it
// says its revision itself.
func isStateless(m mcp.Message) bool {
	return wire.Find(wire.Find(m.Params, "_meta"), "io.modelcontextprotocol/protocolVersion") != nil
}

// A call is a POST on its way to the process and back.
type call struct {
	s     *Server
	r     *http.Request
	msgs  []mcp.Message
	body  []byte
	ss    *session
	st    *stream
	opens bool             // a session
	done  func(whole bool) // says whether the client got all of the answer
}

// exchange sends the messages, and answers as soon as there is something to
// answer.
func (c *call) exchange() (*http.Response, error) {
	c.ss.mu.Lock()
	older := c.ss.older
	st := c.st
	if older && c.ss.listener != nil {
		st = c.ss.listener
	}
	c.ss.mu.Unlock()
	err := c.ss.send(st, c.msgs, c.body)
	if clash, ok := errors.AsType[*idError](err); ok {
		return answer(c.r, http.StatusBadRequest, mcp.Error(c.msgs[0].ID, mcp.CodeInvalidRequest, clash.Error())), nil
	}
	if err != nil {
		c.done(false)
		return nil, err
	}
	if older || !hasRequest(c.msgs) {
		return answer(c.r, http.StatusAccepted, nil), nil
	}
	line, last, err := st.next(c.r.Context())
	if err != nil {
		c.done(false)
		return nil, fmt.Errorf("waiting for its answer: %w", err)
	}
	var resp *http.Response
	if last || !st.events {
		resp = answer(c.r, http.StatusOK, line)
		c.done(true)
	} else {
		resp = c.stream(line)
	}
	if c.opens && wire.Find(line, "error") != nil {
		c.ss.close()
	} else if c.opens {
		resp.Header.Set(sessionHeader, c.ss.id)
	}
	return resp, nil
}

// stream answers with the message and what comes behind it, as events.
func (c *call) stream(line []byte) *http.Response {
	body := &events{ctx: c.r.Context(), st: c.st, buf: mcp.Event(line)}
	body.close = sync.OnceFunc(func() {
		c.st.mu.Lock()
		whole := errors.Is(c.st.ended, io.EOF) && len(c.st.msgs) == 0
		c.st.mu.Unlock()
		c.done(whole)
	})
	return eventStream(c.r, body)
}

func hasRequest(msgs []mcp.Message) bool {
	for _, m := range msgs {
		if m.IsRequest() {
			return true
		}
	}
	return false
}

// listen answers a GET: the stream on which the server sends by itself. Without
// a session it is one of the older transport, whose first event names the
// endpoint.
func (s *Server) listen(r *http.Request) (*http.Response, error) {
	if !takesEvents(r) {
		return answer(r, http.StatusNotAcceptable, nil), nil
	}
	st := newStream(true)
	if ss := s.named(r); ss != nil {
		if !ss.attach(st) {
			return answer(r, http.StatusConflict, nil), nil
		}
		return eventStream(r, &events{ctx: r.Context(), st: st, close: sync.OnceFunc(func() { ss.leave(st) })}), nil
	}
	if r.Header.Get(sessionHeader) != "" {
		return noSession(r), nil
	}
	ss, err := s.startSession()
	if err != nil {
		return refusal(r, nil, err)
	}
	ss.mu.Lock()
	ss.older = true
	ss.mu.Unlock()
	ss.attach(st)
	endpoint := wire.AppendEvent(nil, "endpoint", []byte("?"+endpointParam+"="+ss.id))
	return eventStream(r, &events{ctx: r.Context(), st: st, buf: endpoint, close: sync.OnceFunc(ss.close)}), nil
}

func takesEvents(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/event-stream")
}

// noSession is the answer on which a client begins a session anew.
func noSession(r *http.Request) *http.Response {
	return answer(r, http.StatusNotFound, mcp.Error(nil, mcp.CodeRefused, "there is no such session (any more): begin with initialize"))
}

// answer makes an answer with a JSON document, or with nothing.
func answer(r *http.Request, status int, body []byte) *http.Response {
	resp := &http.Response{Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: r}
	if len(body) > 0 {
		resp.Header.Set("Content-Type", "application/json")
	}
	return resp
}

func eventStream(r *http.Request, body io.ReadCloser) *http.Response {
	resp := answer(r, http.StatusOK, nil)
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.ContentLength, resp.Body = -1, body
	return resp
}
