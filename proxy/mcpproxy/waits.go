package mcpproxy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// An clientWait is a message of an MCP client's until it is sent on. Until then the
// client can take it back: what people are asked stays.
type clientWait struct {
	ctx    context.Context // ends when the client has left, or taken it back
	cancel context.CancelFunc

	mu              sync.Mutex
	sent, withdrawn bool
}

// withdraw takes the message back, and reports whether that was in time.
func (w *clientWait) withdraw() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent {
		return false
	}
	w.withdrawn = true
	w.cancel()
	return true
}

func (w *clientWait) isWithdrawn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.withdrawn
}

func (w *clientWait) isSent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// send reports whether the message may be sent on, and that it is.
func (w *clientWait) send() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = !w.withdrawn
	return w.sent
}

// A waitKey is under what a client says which request of its own it means. The
// session is empty where the protocol gave the client none.
type waitKey struct{ server, session, account, id string }

// clientWaits are the requests that came over HTTP and wait at the moment: what
// says that one is wanted no more comes over another connection.
type clientWaits struct {
	mu sync.Mutex
	by map[waitKey][]*clientWait
}

// enter remembers a wait until leave is called.
func (all *clientWaits) enter(k waitKey, w *clientWait) (leave func()) {
	if k.id == "" {
		return func() {}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.by == nil {
		all.by = map[waitKey][]*clientWait{}
	}
	all.by[k] = append(all.by[k], w)
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		rest := slices.DeleteFunc(all.by[k], func(other *clientWait) bool { return other == w })
		if all.by[k] = rest; len(rest) == 0 {
			delete(all.by, k)
		}
	}
}

// none reports whether nobody waits.
func (all *clientWaits) none() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.by) == 0
}

// withdraw ends the wait of a key, if there is exactly one.
func (all *clientWaits) withdraw(k waitKey) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.by[k]) != 1 {
		return false
	}
	return all.by[k][0].withdraw()
}

// waitKey is the key for a request of this client's with an id.
func (m *exchange) waitKey(id []byte) waitKey {
	k := waitKey{server: m.Target.URL.String(), session: m.R.Header.Get("Mcp-Session-Id"), account: m.Target.Caller.Agent.ID, id: mcp.IDKey(id)}
	if k.session == "" {
		k.account += " " + m.Credentials()
	}
	return k
}

// ownKey is the key under which the exchange waits. A batch has none, for it
// goes on whole or not at all; nor has what came over standard streams, which
// have one session each ([Session]).
func (m *exchange) ownKey() waitKey {
	if m.batch || m.Target.Door == route.DoorStdio || m.task != nil || !m.msgs[0].IsRequest() {
		return waitKey{}
	}
	return m.waitKey(m.msgs[0].ID)
}

// withdraws takes a message by which the client says that it wants no answer to
// a request of its own that waits for people (notifications/cancelled). The
// server has not seen that request, and hears nothing of the message either.
// Clients without a session cannot be told apart for sure: theirs goes on all
// the same. It reports whether the message has been answered.
func (m *exchange) withdraws() bool {
	if m.batch || m.Target.Door == route.DoorStdio {
		return false
	}
	id := m.msgs[0].Cancels()
	if id == nil {
		return false
	}
	k := m.waitKey(id)
	if !m.p.waiting.withdraw(k) || k.session == "" && m.posted == nil {
		return false
	}
	m.accepted()
	return true
}

// beginWait is the time in which the client can take the message back.
func (m *exchange) beginWait() (end func()) {
	if m.task != nil { // which can be cancelled by its own name
		return func() {}
	}
	m.wait = &clientWait{}
	m.wait.ctx, m.wait.cancel = context.WithCancel(m.R.Context())
	leave := m.p.waiting.enter(m.ownKey(), m.wait)
	return func() { leave(); m.wait.cancel() }
}

// accepted ends an answer that says nothing.
func (m *exchange) accepted() {
	if m.out == nil {
		m.W.WriteHeader(http.StatusAccepted)
	}
}

// sessionID names the client's session with the server; empty where it has none.
func (m *exchange) sessionID() string {
	for _, s := range []*sseSession{m.session, m.posted} {
		if s != nil {
			return s.endpoint.String()
		}
	}
	return m.R.Header.Get("Mcp-Session-Id")
}

// A clientKey is under what the name of an MCP client is known.
type clientKey struct{ server, session string }

// maxClients is how many sessions' clients are remembered.
const maxClients = 4096

// meet finds out what the client calls itself: it says so with the first
// message of a session, or with every message.
func (m *exchange) meet() {
	session := m.sessionID()
	for _, msg := range m.msgs {
		m.Target.Pages = m.Target.Pages || msg.OpensPages()
	}
	m.Target.Pages = m.Target.Pages || session != "" && m.p.pages.opens.Contains(clientKey{m.Target.Name, session})
	for _, msg := range m.msgs {
		if name := msg.ClientName(); name != "" {
			m.Target.Client = holdgate.Bounded(name, 100)
			if m.posted != nil { // whose session is there before the first message
				m.met(session)
			}
			return
		}
	}
	if m.Target.Client == "" && session != "" {
		m.Target.Client, _ = m.p.clients.Get(clientKey{m.Target.Name, session})
	}
}

// met remembers the client as that of a session.
func (m *exchange) met(session string) {
	if session != "" && slices.ContainsFunc(m.msgs, func(msg mcp.Message) bool { return msg.ClientName() != "" }) {
		m.p.clients.Add(clientKey{m.Target.Name, session}, m.Target.Client)
		if m.Target.Pages {
			m.p.pages.opens.Add(clientKey{m.Target.Name, session}, struct{}{})
		}
	}
}

// waits says that people are asked, and how the client waits for them. Of a task that was
// said when it was handed over.
func (m *exchange) waits(qs []*gate.Evaluation) {
	m.open = qs
	if m.task == nil {
		m.x.Waits(m.rung(), qs...)
	}
}

// rung is how the client waits.
func (m *exchange) rung() gate.Rung {
	switch {
	case m.task != nil:
		return gate.RungTask
	case m.out != nil || m.posted != nil || m.msgs == nil: // the last listens to what the server says
		return gate.RungStream
	}
	return gate.RungLine
}

// tell says what the exchange waits for in the signs of life that follow.
func (m *exchange) tell(qs []*gate.Evaluation) {
	var open []*gate.Evaluation
	for _, q := range qs {
		if q.Undecided() {
			open = append(open, q)
		}
	}
	text := gate.PausedText(m.AgentStatus())
	switch {
	case len(open) == 1:
		text = "request " + open[0].Request().ID + " waits for " + whoIsAsked(open[0].Request()) + " to decide"
	case len(open) > 1:
		text = gate.Requests(open) + " wait for people to decide"
	}
	m.asks.Store(&text)
}

// whoIsAsked names those who may decide a request.
func whoIsAsked(r approvals.Request) string {
	var who []string
	for _, user := range r.Approvers.Users {
		who = append(who, holdgate.OneLine(user, 100))
	}
	for _, role := range r.Approvers.Roles {
		who = append(who, "the role "+holdgate.OneLine(role, 100))
	}
	text := "a person"
	if len(who) > 0 {
		text = strings.Join(who, " or ")
	}
	if r.Kind == holdgate.RequestApproval && r.Approvers.Quorum > 1 {
		if len(who) == 0 {
			return fmt.Sprintf("%d people", r.Approvers.Quorum)
		}
		return fmt.Sprintf("%d people (%s)", r.Approvers.Quorum, text)
	}
	return text
}

// budget is how long this client may be kept waiting. One that asks for the result
// of a task is to be kept until there is one, and of a task nobody waits for the
// call.
func (m *exchange) budget() time.Duration {
	if m.task != nil || !m.batch && len(m.msgs) == 1 && m.msgs[0].Method == "tasks/result" {
		return mcp.Endless
	}
	return m.p.budgetFor(m.Target.Client, m.Target.Door, m.msgs)
}

// budgetFor is how long an MCP client may be kept waiting for the results of
// these messages.
func (p *Proxy) budgetFor(client, door string, msgs []mcp.Message) time.Duration {
	progress := !slices.ContainsFunc(msgs, func(m mcp.Message) bool { return m.IsRequest() && m.ProgressToken() == nil })
	if progress && slices.ContainsFunc(p.c.Options.ProgressClients, func(name string) bool { return name == client }) {
		return mcp.Endless
	}
	if d, known := mcp.Patience(client, door == route.DoorStdio, progress); known {
		return d
	}
	return p.c.Options.Patience
}
