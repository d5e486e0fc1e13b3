package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/trace/environ"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Call is a message of the client's, or a batch, on its way through the
// steps. It is the transport of its own exchange.
type Call struct {
	ss     *Session
	seq    uint64
	line   []byte
	msgs   []mcp.Message // nil where the line cannot be read
	ids    []string      // of its requests, as keys
	cancel context.CancelFunc

	answers chan Frame
	resumed bool   // an earlier sidecar sent it on: it has no exchange
	task    string // the task that it has become: see [Session.TaskCall]

	// moved is closed once the line has been sent on, waits for people, or is
	// over: what came behind it may go on.
	moved chan struct{}
	once  sync.Once

	mu       sync.Mutex
	sent     bool     // the line may have reached the server
	unwanted bool     // the client wants no answer; what has not been sent never is
	got      []uint64 // the numbers of the lines that are answers to it
	ended    bool     // it takes no more of them
}

// handle takes a message through the steps. It returns when what came behind it
// may be looked at.
func (ss *Session) handle(f Frame, msgs []mcp.Message) {
	c := ss.newCall(f, msgs)
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(ss.ctx)
	if !c.remember() {
		c.cancel()
		if c.sameTask() {
			return
		}
		ss.c.Logger.WarnContext(ctx, "a request was refused: its id is that of another which waits for its answer", "server", ss.t.Name)
		c.refuse(mcp.CodeInvalidRequest, "the id of this request is that of another one which waits for its answer")
		ss.over(f.Seq)
		return
	}
	for _, m := range msgs {
		if name := m.ClientName(); name != "" {
			ss.t.Client = name
		}
		ss.t.Pages = ss.t.Pages || m.OpensPages()
	}
	t := ss.t
	t.Transport = c
	ss.work.Go(func() { c.run(ctx, t) })
	<-c.moved
}

// expect remembers a request that an earlier sidecar sent on.
func (ss *Session) expect(f Frame) {
	c := ss.newCall(f, readable(f.Line))
	c.sent, c.resumed, c.cancel = true, true, func() { c.forget(); ss.over(c.seq) }
	if len(c.ids) == 0 || !c.remember() {
		ss.over(f.Seq)
	}
}

func (ss *Session) newCall(f Frame, msgs []mcp.Message) *Call {
	c := &Call{ss: ss, seq: f.Seq, line: f.Line, msgs: msgs, moved: make(chan struct{}), cancel: func() {}}
	for _, m := range msgs {
		if m.IsRequest() {
			c.ids = append(c.ids, mcp.IDKey(m.ID))
		}
	}
	c.answers = make(chan Frame, len(c.ids))
	return c
}

// remember enters the call under its ids. It reports false, and enters nothing,
// where one of them is taken.
func (c *Call) remember() bool {
	c.ss.mu.Lock()
	defer c.ss.mu.Unlock()
	for i, id := range c.ids {
		if c.ss.asked[id] != nil || slices.Contains(c.ids[:i], id) {
			return false
		}
	}
	for _, id := range c.ids {
		c.ss.asked[id] = c
	}
	if !c.resumed {
		c.ss.calls[c] = struct{}{}
	}
	return true
}

func (c *Call) forget() {
	c.ss.mu.Lock()
	defer c.ss.mu.Unlock()
	for _, id := range c.ids {
		if c.ss.asked[id] == c {
			delete(c.ss.asked, id)
		}
	}
}

func (ss *Session) left(c *Call) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.calls, c)
}

// find returns the client's request with this id. Some servers answer 1 with
// "1", and there are clients that take it.
func (ss *Session) find(id []byte) *Call {
	if len(id) == 0 {
		return nil
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	key := mcp.IDKey(id)
	if c := ss.asked[key]; c != nil {
		return c
	}
	var found *Call
	for other, c := range ss.asked {
		if looseID(other) != looseID(key) {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

func looseID(key string) string {
	key = strings.TrimPrefix(key, `"`)
	if n, err := strconv.ParseFloat(key, 64); err == nil {
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return key
}

func (c *Call) isUnwanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unwanted
}

// withdraw ends a call that has not been sent on, and reports whether it did.
func (c *Call) withdraw() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent {
		return false
	}
	c.unwanted = true
	c.cancel()
	return true
}

// dismiss ends a call whether or not it has been sent on.
func (c *Call) dismiss() {
	c.mu.Lock()
	c.unwanted = true
	c.mu.Unlock()
	c.cancel()
}

// lose refuses a call whose answer may have been lost, and ends it. It reports
// whether the call was waiting for one.
func (c *Call) lose(why string) bool {
	c.mu.Lock()
	waits := c.sent && !c.unwanted && !c.ended && len(c.got) < len(c.ids)
	c.unwanted = c.unwanted || waits
	c.mu.Unlock()
	if waits {
		if c.task == "" {
			c.refuse(mcp.CodeRefused, "the answer to this request may be lost: "+why)
		}
		c.forget()
		c.cancel()
	}
	return waits
}

// send reports whether the line may be sent on, and that it is.
func (c *Call) send() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = c.sent || !c.unwanted
	return c.sent
}

func (c *Call) isSent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

func (c *Call) move() { c.once.Do(func() { close(c.moved) }) }

// run takes the message through the steps, as a POST that no socket carries.
func (c *Call) run(ctx context.Context, t route.Target) {
	defer c.cancel()
	w := &writer{c: c, header: http.Header{}}
	r := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/"}, Host: t.Name, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}},
		Body:   io.NopCloser(bytes.NewReader(c.line)), ContentLength: int64(len(c.line)),
	}).WithContext(ctx)
	c.takeTrace(r.Header)
	whole := c.ss.proxy.Serve(w, r, &t) == nil
	c.forget()
	c.ss.left(c)
	answers := c.finish()
	if !c.ss.ending() {
		w.finish(whole)
		c.ss.over(c.seq)
		for _, seq := range answers {
			c.ss.over(seq)
		}
	}
	c.move()
}

// takeTrace takes what the message says of its trace for what headers say of a request's.
func (c *Call) takeTrace(h http.Header) {
	if len(c.msgs) != 1 {
		return
	}
	parent, state := c.msgs[0].Trace()
	said := map[string]string{"TRACEPARENT": parent, "TRACESTATE": state}
	environ.Tell(func(name string) string { return said[name] }, h.Set)
}

// traced tells the server the trace that headers name, as MCP has it.
func (c *Call) traced(body []byte, h http.Header) []byte {
	parent := h.Get("Traceparent")
	if parent == "" || len(c.msgs) != 1 {
		return body
	}
	return c.msgs[0].WithTrace(body, parent, h.Get("Tracestate"))
}

// finish takes no more answers. It returns the numbers of the lines that were some.
func (c *Call) finish() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return c.got
}

// receive takes an answer of the server's; false where none is awaited.
func (c *Call) receive(f Frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sent || c.ended || len(c.got) == len(c.ids) {
		return false
	}
	c.got = append(c.got, f.Seq)
	c.answers <- f                                                                 // has room
	if len(c.got) == len(c.ids) || len(c.ids) > 1 && c.answered(f) == len(c.ids) { // its ids are free again
		c.forget()
	}
	return true
}

// errEnded is why a request gets no answer when its server has ended.
var errEnded = errors.New("it ended without an answer")

// RoundTrip sends the message to the server, and returns its answer.
func (c *Call) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if c.task != "" && c.isSent() { // what else the server is told of the task
		return c.ss.listener.RoundTrip(r)
	}
	if !c.send() {
		return nil, context.Canceled
	}
	c.ss.write(Frame{Kind: Server, Seq: c.seq, Line: Line(c.traced(body, r.Header))})
	c.move()
	resp := accepted(r)
	if len(c.ids) == 0 {
		return resp, nil
	}
	f, err := c.await(r.Context())
	if err != nil {
		return nil, err
	}
	resp.StatusCode = http.StatusOK
	if n := c.answered(f); n < len(c.ids) {
		resp.Header.Set("Content-Type", route.TypeEvents)
		resp.ContentLength = -1
		resp.Body = io.NopCloser(&answers{c: c, ctx: r.Context(), left: len(c.ids) - n, buf: mcp.Event(f.Line)})
		return resp, nil
	}
	resp.Header.Set("Content-Type", "application/json")
	resp.ContentLength = int64(len(f.Line))
	resp.Body = io.NopCloser(bytes.NewReader(f.Line))
	return resp, nil
}

// await waits for an answer of the server's.
func (c *Call) await(ctx context.Context) (Frame, error) {
	select {
	case f := <-c.answers:
		return f, nil
	default:
	}
	select {
	case f := <-c.answers:
		return f, nil
	case <-ctx.Done():
		return Frame{}, ctx.Err()
	case <-c.ss.ended:
		return Frame{}, errEnded
	}
}

// answered is how many of the requests a line answers.
func (c *Call) answered(f Frame) int {
	if text := bytes.TrimLeft(f.Line, " \t\r"); len(text) > 0 && text[0] == '[' {
		return len(c.ids)
	}
	return 1
}

// answers are the answers to a batch that come one by one, as events.
type answers struct {
	c    *Call
	ctx  context.Context
	left int
	buf  []byte
}

func (a *answers) Read(p []byte) (int, error) {
	if len(a.buf) == 0 {
		if a.left == 0 {
			return 0, io.EOF
		}
		f, err := a.c.await(a.ctx)
		if err != nil {
			return 0, err
		}
		a.left -= a.c.answered(f)
		a.buf = mcp.Event(f.Line)
	}
	n := copy(p, a.buf)
	a.buf = a.buf[n:]
	return n, nil
}

// refuse answers the call's requests with an error of Holdgate's.
func (c *Call) refuse(code int, text string) {
	for _, m := range c.msgs {
		if m.IsRequest() {
			c.ss.write(Frame{Kind: Client, Line: mcp.Error(m.ID, code, text)})
		}
	}
}

// unreadID is the id of a message that could not be read, as far as it can be
// told: a client that gets no answer to it would wait.
func (c *Call) unreadID() []byte {
	if len(c.msgs) > 0 {
		return nil
	}
	id := wire.Find(c.line, "id")
	if len(id) == 0 || id[0] == '{' || id[0] == '[' || wire.Strict(id) != nil {
		return nil
	}
	return id
}
