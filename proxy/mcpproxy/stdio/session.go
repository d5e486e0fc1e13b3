package stdio

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Session is one MCP server on standard streams and its client, as long
// as the stream to the `holdgate mcp` between them lasts. Each message of the
// client's becomes an exchange, as if it had been posted to a server over HTTP:
// the exchange's round trip is the way to the server and back ([Call]).
// What the server sends by itself is what it would send on a stream of its own
// ([listener]).
//
// The client's messages are judged one after the other, so that they go on in
// the order in which they came; one that is held is overtaken.
type Session struct {
	c    Config
	t    route.Target
	conn *Conn
	ctx  context.Context // ends with the stream, or when the server shuts down
	work sync.WaitGroup  // of exchanges, and of the listener

	proxy    Proxy
	listener *listener
	ended    chan struct{} // closed when the server writes no more

	mu    sync.Mutex
	asked map[string]*Call   // the client's requests that wait for an answer, by id
	calls map[*Call]struct{} // that have an exchange
}

// Config is what a session needs besides its stream. All fields must be set.
type Config struct {
	Limit  int64           // bytes of a line
	Ending context.Context // is over when the sidecar ends: the next one gets what is not over
	Logger *slog.Logger
}

// A Proxy has what is said on a session judged.
type Proxy interface {
	// Serve takes a message of the client's through the steps. An error says that its
	// answer is not whole.
	Serve(w http.ResponseWriter, r *http.Request, t *route.Target) error
	// FromServer returns what of a message that the server sends by itself goes on.
	FromServer(ctx context.Context, message []byte) ([]byte, error)
	// Refused writes to the log what never reached policy.
	Refused(what, rule, message string)
	// TaskCreated is the answer, with an id, to a call that has become a task; false where
	// that is not known.
	TaskCreated(ctx context.Context, task string, id []byte) ([]byte, bool)
}

// NewSession returns the session of a stream, for as long as ctx lasts. t is where
// its messages go, and who sends them.
func NewSession(ctx context.Context, conn *Conn, t route.Target, c Config) *Session {
	ss := &Session{c: c, t: t, conn: conn, ctx: ctx, ended: make(chan struct{}), asked: map[string]*Call{}, calls: map[*Call]struct{}{}}
	ss.listener = newListener(ss)
	return ss
}

// Listening is the request for what the server sends by itself: it ends when the server
// has, and its target's transport tells the server what becomes of a request of its own.
func (ss *Session) Listening() (*http.Request, route.Target) {
	t := ss.t
	t.Transport = ss.listener
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: t.Name, Header: http.Header{}}
	return r.WithContext(ss.listener.ctx), t
}

// Start begins to pass on what the server sends by itself.
func (ss *Session) Start(p Proxy) {
	ss.proxy = p
	ss.work.Go(ss.listener.run)
}

// Run takes what comes until the stream ends.
func (ss *Session) Run() {
	for {
		f, err := ss.conn.Read(ss.c.Limit)
		if err != nil && !errors.Is(err, wire.ErrTooLarge) {
			return
		}
		switch {
		case err != nil:
			ss.tooLarge(f, err)
		case f.Kind == Client:
			ss.fromClient(f)
		case f.Kind == ClientSent:
			ss.expect(f)
		case f.Kind == Server:
			ss.fromServer(f)
		case f.Kind == ServerLost:
			ss.tooLarge(f, errors.New(string(f.Line)))
		case f.Kind == ClientEnd:
			ss.leave()
			ss.write(Frame{Kind: ClientEnd, Seq: f.Seq})
		case f.Kind == ServerEnd:
			ss.leave()
			close(ss.ended)
			ss.listener.leave()
			ss.work.Wait()
			ss.write(Frame{Kind: ServerEnd, Seq: f.Seq})
			return
		}
	}
}

// write sends a frame. Where that fails the stream has ended, which the reading
// notices.
func (ss *Session) write(f Frame) {
	if err := ss.conn.Write(f); err != nil {
		_ = ss.conn.Close() // no half of a frame is followed by another
	}
}

// ending reports whether nothing is said any longer: the stream has ended, or
// the sidecar does, and the next one gets what is not over.
func (ss *Session) ending() bool { return ss.c.Ending.Err() != nil || ss.ctx.Err() != nil }

// over says that a line is over.
func (ss *Session) over(seq uint64) {
	if seq != 0 {
		ss.write(Frame{Kind: Done, Seq: seq})
	}
}

// pass sends a line of the server's to the client.
func (ss *Session) pass(f Frame) {
	ss.write(Frame{Kind: Client, Seq: f.Seq, Line: f.Line})
	ss.over(f.Seq)
}

// fromClient takes a line of the client's.
func (ss *Session) fromClient(f Frame) {
	if len(bytes.TrimSpace(f.Line)) == 0 { // says nothing to anybody
		ss.write(Frame{Kind: Server, Seq: f.Seq, Line: f.Line})
		ss.over(f.Seq)
		return
	}
	msgs := readable(f.Line)
	if len(msgs) != 1 || msgs[0].Cancels() == nil {
		ss.handle(f, msgs)
		return
	}
	// The client wants no answer any more to a request of its own. Where that
	// has not been sent on the server hears nothing of either; what people were
	// asked stays.
	c := ss.find(msgs[0].Cancels())
	if c != nil && (c.task != "" || c.withdraw()) { // a task has been answered, and is cancelled as one
		ss.over(f.Seq)
		return
	}
	ss.handle(f, msgs)
	if c != nil {
		c.dismiss()
	}
}

// Wait waits until nothing goes on any longer that a message began.
func (ss *Session) Wait() { ss.work.Wait() }

// SessionOf is the stream that a transport leads to, or nil.
func SessionOf(tr http.RoundTripper) *Session {
	switch way := tr.(type) {
	case *Call:
		return way.ss
	case *listener:
		return way.ss
	}
	return nil
}

// readable returns the messages of a line. What cannot be read has none: it is
// refused, and the refusal logged, on its way through the steps.
func readable(line []byte) []mcp.Message {
	if Check(line) != nil || wire.Strict(line) != nil {
		return nil
	}
	msgs, _, err := mcp.Parse(line)
	if err != nil {
		return nil
	}
	return msgs
}

// fromServer takes a line of the server's. What some client could take for a
// request, and others for something else, is dropped.
func (ss *Session) fromServer(f Frame) {
	if mcp.IsNoise(f.Line) {
		ss.pass(f)
		return
	}
	msgs, batch, err := mcp.ParseServer(f.Line)
	if err == nil {
		err = Check(f.Line)
	}
	if err != nil {
		if c := ss.find(wire.Find(f.Line, "id")); c != nil && ss.answer(c, f) {
			return // and is refused as its answer
		}
		ss.proxy.Refused("a message of the MCP server "+ss.t.Name, holdgate.RuleMalformed, err.Error())
		ss.over(f.Seq)
		return
	}
	if batch && ss.answersBatch(f, msgs) {
		return
	}
	for _, m := range msgs {
		ss.fromServerOne(Frame{Line: m.Raw}, f, m, batch)
	}
	if batch {
		ss.over(f.Seq)
	}
}

// fromServerOne takes a message, which is a whole line or, in a batch, a part
// of one.
func (ss *Session) fromServerOne(part, whole Frame, m mcp.ServerMessage, batch bool) {
	f := whole
	if batch {
		f = part
	}
	if !m.IsResponse() {
		ss.listener.receive(f, m)
		return
	}
	if c := ss.find(m.ID); c == nil || !ss.answer(c, f) {
		ss.c.Logger.WarnContext(ss.ctx, "an answer of an MCP server to nothing that it was asked was dropped", "server", ss.t.Name, "id", string(m.ID))
		ss.over(f.Seq)
	}
}

// answersBatch gives a batch of answers to the batch of requests that they are
// for, and reports whether there is one.
func (ss *Session) answersBatch(f Frame, msgs []mcp.ServerMessage) bool {
	var c *Call
	for i, m := range msgs {
		at := ss.find(m.ID)
		if !m.IsResponse() || at == nil || i > 0 && at != c {
			return false
		}
		c = at
	}
	return c != nil && !c.resumed && len(msgs) == len(c.ids) && ss.answer(c, f)
}

// answer gives an answer to the exchange that waits for it, and reports whether
// it does.
func (ss *Session) answer(c *Call, f Frame) bool {
	if !c.resumed {
		return c.receive(f)
	}
	ss.listener.receive(f, mcp.ServerMessage{})
	c.dismiss()
	return true
}

// leave is for when one of the two has ended: the messages that have not been
// sent on are withdrawn. What the server works on goes on.
func (ss *Session) leave() {
	ss.mu.Lock()
	calls := slices.Collect(maps.Keys(ss.calls))
	ss.mu.Unlock()
	for _, c := range calls {
		c.withdraw()
	}
}

// tooLarge refuses a line that was too long to be looked at. One of the server's
// may be the answer to whatever the server was asked: every request that waits
// for one is refused, for it might wait for ever.
func (ss *Session) tooLarge(f Frame, why error) {
	who, lost := "the client", false
	if f.Kind != Client {
		who = "the MCP server"
	}
	ss.proxy.Refused("a message of "+who+" of "+ss.t.Name, holdgate.RuleTooLarge, why.Error())
	text := holdgate.Bounded(who+" sent "+why.Error(), 500) + ": raise limits.body, or send less"
	if f.Kind != Client {
		ss.mu.Lock()
		calls := slices.Collect(maps.Values(ss.asked))
		ss.mu.Unlock()
		for _, c := range calls {
			lost = c.lose(text) || lost
		}
	}
	if !lost {
		ss.write(Frame{Kind: Client, Line: mcp.Error(nil, mcp.CodeInvalidRequest, text)})
	}
	ss.over(f.Seq)
}
