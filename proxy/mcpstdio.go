package proxy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A stdioSession is one MCP server on standard streams and its client, as long
// as the stream to the `holdgate mcp` between them lasts. Each message of the
// client's becomes an exchange, as if it had been posted to a server over HTTP:
// the exchange's round trip is the way to the server and back ([stdioCall]).
// What the server sends by itself is what it would send on a stream of its own
// ([stdioListener]).
//
// The client's messages are judged one after the other, so that they go on in
// the order in which they came; one that is held is overtaken.
type stdioSession struct {
	s    *Server
	t    route.Target
	conn *stdio.Conn
	ctx  context.Context // ends with the stream, or when the server shuts down
	work sync.WaitGroup  // of exchanges, and of the listener

	listener *stdioListener
	ended    chan struct{} // closed when the server writes no more

	mu    sync.Mutex
	asked map[string]*stdioCall   // the client's requests that wait for an answer, by id
	calls map[*stdioCall]struct{} // that have an exchange
}

var stdioName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// serveStdio gives a stream to a `holdgate mcp`, and serves it to its end. The
// name of the server is the caller's word; one that the configuration has is
// refused, for policy would take it for that of the configured server.
func (s *Server) serveStdio(w http.ResponseWriter, r *http.Request, name string) {
	switch _, configured := s.c.MCP[name]; {
	case !stdio.Asked(r):
		w.Header().Set("Upgrade", stdio.Protocol)
		w.Header().Set("Connection", "Upgrade")
		s.refuseHTTP(w, r, http.StatusUpgradeRequired, "", "this path is for `holdgate mcp`, of the same version as the sidecar")
		return
	case !stdioName.MatchString(name):
		s.refuseHTTP(w, r, http.StatusBadRequest, holdgate.RuleMalformed, "the name of an MCP server is of a-z, 0-9, '-', '_' and '.', at most 63 characters, and begins with a letter or digit: choose one with --name")
		return
	case configured:
		s.refuseHTTP(w, r, http.StatusConflict, holdgate.RuleMalformed, "the configuration has another MCP server of the name "+name+": choose one with --name")
		return
	}
	s.pipes.Add(1)
	defer s.pipes.Done()
	conn, err := stdio.Accept(w)
	if err != nil {
		s.c.Logger.Warn("a stream for an MCP server could not be opened", "server", name, "err", err)
		return
	}
	ctx, cancel := context.WithCancel(s.waits)
	if by, ok := whoIn(r.Context()); ok {
		ctx = withWho(ctx, by)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the reading
	t := route.Target{Door: route.DoorStdio, Name: name, MCP: true, Named: true,
		URL:     &url.URL{Scheme: "stdio", Host: name, Path: "/" + r.URL.Query().Get(stdio.CommandParam)},
		Process: cmp.Or(r.URL.Query().Get(stdio.ProcessParam), rand.Text())} // an older `holdgate mcp` has none
	ss := &stdioSession{s: s, t: t, conn: conn, ctx: ctx, ended: make(chan struct{}), asked: map[string]*stdioCall{}, calls: map[*stdioCall]struct{}{}}
	ss.listener = newStdioListener(ss)
	ss.work.Go(ss.listener.run)
	ss.takeUpTasks()
	ss.run()
	cancel()
	ss.work.Wait()
	stop()
	_ = conn.Close() // it may have been the other side's to close
}

// run takes what comes until the stream ends.
func (ss *stdioSession) run() {
	for {
		f, err := ss.conn.Read(ss.s.c.Limits.Body)
		if err != nil && !errors.Is(err, wire.ErrTooLarge) {
			return
		}
		switch {
		case err != nil:
			ss.tooLarge(f, err)
		case f.Kind == stdio.Client:
			ss.fromClient(f)
		case f.Kind == stdio.ClientSent:
			ss.expect(f)
		case f.Kind == stdio.Server:
			ss.fromServer(f)
		case f.Kind == stdio.ServerLost:
			ss.tooLarge(f, errors.New(string(f.Line)))
		case f.Kind == stdio.ClientEnd:
			ss.leave()
			ss.write(stdio.Frame{Kind: stdio.ClientEnd, Seq: f.Seq})
		case f.Kind == stdio.ServerEnd:
			ss.leave()
			close(ss.ended)
			ss.listener.leave()
			ss.work.Wait()
			ss.write(stdio.Frame{Kind: stdio.ServerEnd, Seq: f.Seq})
			return
		}
	}
}

// write sends a frame. Where that fails the stream has ended, which the reading
// notices.
func (ss *stdioSession) write(f stdio.Frame) {
	if err := ss.conn.Write(f); err != nil {
		_ = ss.conn.Close() // no half of a frame is followed by another
	}
}

// ending reports whether nothing is said any longer: the stream has ended, or
// the sidecar does, and the next one gets what is not over.
func (ss *stdioSession) ending() bool { return ss.s.waits.Err() != nil || ss.ctx.Err() != nil }

// over says that a line is over.
func (ss *stdioSession) over(seq uint64) {
	if seq != 0 {
		ss.write(stdio.Frame{Kind: stdio.Done, Seq: seq})
	}
}

// pass sends a line of the server's to the client.
func (ss *stdioSession) pass(f stdio.Frame) {
	ss.write(stdio.Frame{Kind: stdio.Client, Seq: f.Seq, Line: f.Line})
	ss.over(f.Seq)
}

// fromClient takes a line of the client's.
func (ss *stdioSession) fromClient(f stdio.Frame) {
	if len(bytes.TrimSpace(f.Line)) == 0 { // says nothing to anybody
		ss.write(stdio.Frame{Kind: stdio.Server, Seq: f.Seq, Line: f.Line})
		ss.over(f.Seq)
		return
	}
	msgs := readable(f.Line)
	if len(msgs) != 1 || msgs[0].Cancels() == nil {
		ss.ask(f, msgs)
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
	ss.ask(f, msgs)
	if c != nil {
		c.dismiss()
	}
}

// stdioOf is the stream that a transport leads to, or nil.
func stdioOf(tr http.RoundTripper) *stdioSession {
	switch way := tr.(type) {
	case *stdioCall:
		return way.ss
	case *stdioListener:
		return way.ss
	}
	return nil
}

// readable returns the messages of a line. What cannot be read has none: it is
// refused, and the refusal logged, on its way through the steps.
func readable(line []byte) []mcp.Message {
	if stdio.Check(line) != nil || wire.Strict(line) != nil {
		return nil
	}
	msgs, _, err := mcp.Parse(line)
	if err != nil {
		return nil
	}
	return msgs
}

// checkLine refuses what would be several lines to some reader, where messages
// are lines.
func (e *exchange) checkLine(message []byte) error {
	if e.t.Door != route.DoorStdio {
		return nil
	}
	return stdio.Check(message)
}

// fromServer takes a line of the server's. What some client could take for a
// request, and others for something else, is dropped.
func (ss *stdioSession) fromServer(f stdio.Frame) {
	if mcp.IsNoise(f.Line) {
		ss.pass(f)
		return
	}
	msgs, batch, err := mcp.ParseServer(f.Line)
	if err == nil {
		err = stdio.Check(f.Line)
	}
	if err != nil {
		if c := ss.find(wire.Find(f.Line, "id")); c != nil && ss.answer(c, f) {
			return // and is refused as its answer
		}
		ss.s.refused(ss.s.life, ss.t, "a message of the MCP server "+ss.t.Name, holdgate.RuleMalformed, err.Error())
		ss.over(f.Seq)
		return
	}
	if batch && ss.answersBatch(f, msgs) {
		return
	}
	for _, m := range msgs {
		ss.fromServerOne(stdio.Frame{Line: m.Raw}, f, m, batch)
	}
	if batch {
		ss.over(f.Seq)
	}
}

// fromServerOne takes a message, which is a whole line or, in a batch, a part
// of one.
func (ss *stdioSession) fromServerOne(part, whole stdio.Frame, m mcp.ServerMessage, batch bool) {
	f := whole
	if batch {
		f = part
	}
	if !m.IsResponse() {
		ss.listener.take(f, m)
		return
	}
	if c := ss.find(m.ID); c == nil || !ss.answer(c, f) {
		ss.s.c.Logger.Warn("an answer of an MCP server to nothing that it was asked was dropped", "server", ss.t.Name, "id", string(m.ID))
		ss.over(f.Seq)
	}
}

// answersBatch gives a batch of answers to the batch of requests that they are
// for, and reports whether there is one.
func (ss *stdioSession) answersBatch(f stdio.Frame, msgs []mcp.ServerMessage) bool {
	var c *stdioCall
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
func (ss *stdioSession) answer(c *stdioCall, f stdio.Frame) bool {
	if !c.resumed {
		return c.take(f)
	}
	ss.listener.take(f, mcp.ServerMessage{})
	c.dismiss()
	return true
}

// leave is for when one of the two has ended: the messages that have not been
// sent on are withdrawn. What the server works on goes on.
func (ss *stdioSession) leave() {
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
func (ss *stdioSession) tooLarge(f stdio.Frame, why error) {
	who, lost := "the client", false
	if f.Kind != stdio.Client {
		who = "the MCP server"
	}
	ss.s.refused(ss.s.life, ss.t, "a message of "+who+" of "+ss.t.Name, holdgate.RuleTooLarge, why.Error())
	text := holdgate.Bounded(who+" sent "+why.Error(), 500) + ": raise limits.body, or send less"
	if f.Kind != stdio.Client {
		ss.mu.Lock()
		calls := slices.Collect(maps.Values(ss.asked))
		ss.mu.Unlock()
		for _, c := range calls {
			lost = c.lose(text) || lost
		}
	}
	if !lost {
		ss.write(stdio.Frame{Kind: stdio.Client, Line: mcp.Error(nil, mcp.CodeInvalidRequest, text)})
	}
	ss.over(f.Seq)
}
