package relay

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/proxy/acp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

// ACPOptions say which agent to run, and where the sidecar is. All fields but Vote must
// be set.
type ACPOptions struct {
	Program string   // the path of the agent's program; see [exec.LookPath]
	Args    []string // its arguments, without its own name
	Env     []string // of which what begins with HOLDGATE_ is kept from it

	Stdin, Stdout, Stderr *os.File // Stdin and Stdout are the editor's

	// Address finds the sidecar's door for agents. It is asked again for each call.
	Address func(context.Context) (string, error)
	// Header goes with each request to it.
	Header http.Header
	// Vote gives the answer of the editor's user to a request, as the person whose token
	// there is; nil where there is none.
	Vote func(ctx context.Context, request string, digest holdgate.Digest, approve bool) error
	// Tell tells the person, on a line of its own, how the sidecar is.
	Tell func(text string)
}

// RunACP stands between an editor and an agent that speak the Agent Client Protocol: the
// editor starts `holdgate acp -- AGENT` in the agent's place. It runs the agent to its end
// and returns its exit code, as [Run] does for a server.
//
// What the agent asks of its editor that acts goes to the sidecar first, a call at a time
// and in order until people are asked; see package acp. All else passes in the bytes that
// came. Where there is no sidecar such requests are refused after [patience], and all else
// passes on.
func RunACP(ctx context.Context, o ACPOptions) (code int, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	signals := launch.GetSignals()
	defer signals.Stop()
	s, err := start(Options{Program: o.Program, Args: o.Args, Env: o.Env, Stdin: o.Stdin, Stderr: o.Stderr})
	if err != nil {
		return 0, err
	}
	a := &agentLink{o: o, ctx: ctx, http: &http.Client{Transport: &http.Transport{}}, held: map[string]*heldCall{}, questions: map[string]*heldCall{},
		folders: map[string]string{}, opening: map[string]string{}}
	a.toAgent = newOutbox(s.stdin, func() {}) // the agent's own matter
	a.toEditor = newOutbox(o.Stdout, func() {
		_ = s.out.Close() // as if the editor had closed the agent's output
		a.toAgent.closeWhenWritten()
	})
	var work sync.WaitGroup
	work.Go(func() { signals.Each(ctx, s.signal) })
	go func() {
		a.lines("editor", o.Stdin, a.fromEditor)
		a.toAgent.closeWhenWritten()
	}()
	a.lines("agent", s.out, a.fromAgent)
	cancel() // what is pending stays: the agent may ask again
	a.work.Wait()
	a.toEditor.close()
	a.toAgent.close()
	code, err = s.wait()
	work.Wait()
	a.http.CloseIdleConnections()
	return code, err
}

// An agentLink is what stands between the two.
type agentLink struct {
	o        ACPOptions
	ctx      context.Context // ends with the agent
	http     *http.Client
	toEditor *outbox
	toAgent  *outbox
	work     sync.WaitGroup

	mu        sync.Mutex
	held      map[string]*heldCall // that are not decided, by the agent's id
	questions map[string]*heldCall // that the editor shows, by the question's id
	folders   map[string]string    // that sessions work in
	opening   map[string]string    // the folder of a session to be, by the editor's id of the request
	away      bool                 // the sidecar has been gone for a while
}

// lines takes what the editor or the agent writes, to its end.
func (a *agentLink) lines(who string, r io.Reader, take func(line []byte)) {
	lines := stdio.NewLines(r, stdio.MaxLine)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			a.o.Tell("a message of the " + who + " was dropped: " + err.Error())
		case err != nil:
			return
		default:
			take(line)
		}
	}
}

// unread drops a line that cannot be read by all alike, and tells who waits for it.
func (a *agentLink) unread(who string, line []byte, err error, from, to *outbox) {
	a.o.Tell("a message of the " + who + " was dropped: " + err.Error())
	id, method := wire.Find(line, "id"), wire.Find(line, "method")
	if wire.Strict(id) != nil {
		return // nobody can be told of it
	}
	back := from
	if method == nil { // it would have been an answer
		back = to
	}
	back.put(acp.Error(id, acp.CodeInvalidRequest, wire.Mark+"this message was refused: "+err.Error()))
}

// fromEditor takes a line of the editor's.
func (a *agentLink) fromEditor(line []byte) {
	if isBlank(line) {
		a.toAgent.put(line)
		return
	}
	m, err := acp.Parse(line)
	if err != nil {
		a.unread("editor", line, err, a.toEditor, a.toAgent)
		return
	}
	if m.IsResponse() {
		if h := a.answered(m); h != nil {
			a.work.Go(func() { a.chosen(h, m) })
			return
		}
	} else if dir := m.Folder(); dir != "" {
		a.mu.Lock()
		if id := m.Session(); id != "" {
			a.folders[id] = dir
		} else if m.Method == acp.MethodNew {
			a.opening[m.Key()] = dir
		}
		a.mu.Unlock()
	}
	a.toAgent.put(line)
	if m.Method == acp.MethodCancel {
		for _, h := range a.heldOf(m.Session()) {
			a.drop(h, "the turn was cancelled in the editor", h.msg.Cancelled())
		}
	}
}

// fromAgent takes a line of the agent's.
func (a *agentLink) fromAgent(line []byte) {
	if isBlank(line) {
		a.toEditor.put(line)
		return
	}
	m, err := acp.Parse(line)
	switch {
	case err != nil:
		a.unread("agent", line, err, a.toAgent, a.toEditor)
		return
	case m.IsResponse():
		a.opened(m)
	case m.Acts():
		a.judge(m)
		return
	case m.Withdraws() != "":
		a.mu.Lock()
		h := a.held[m.Withdraws()]
		a.mu.Unlock()
		if h != nil { // the editor knows nothing of it
			a.drop(h, "the agent wants no answer any more", h.msg.Cancelled())
			return
		}
	}
	a.toEditor.put(line)
}

func isBlank(line []byte) bool {
	return !slices.ContainsFunc(line, func(c byte) bool { return c != ' ' && c != '\t' && c != '\r' })
}

// opened takes note of the folder of a session that the agent has opened.
func (a *agentLink) opened(m acp.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if dir, ok := a.opening[m.Key()]; ok {
		delete(a.opening, m.Key())
		if id := m.Opened(); id != "" {
			a.folders[id] = dir
		}
	}
}

// heldOf are the undecided calls of a session.
func (a *agentLink) heldOf(session string) []*heldCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(a.held)), func(h *heldCall) bool { return h.msg.Session() != session })
}
