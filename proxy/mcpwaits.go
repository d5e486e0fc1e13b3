package proxy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// An mcpWait is a message of an MCP client's until it is sent on. Until then the
// client can take it back: what people are asked stays.
type mcpWait struct {
	ctx    context.Context // ends when the client has left, or taken it back
	cancel context.CancelFunc

	mu              sync.Mutex
	sent, withdrawn bool
}

// withdraw takes the message back, and reports whether that was in time.
func (w *mcpWait) withdraw() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent {
		return false
	}
	w.withdrawn = true
	w.cancel()
	return true
}

func (w *mcpWait) isWithdrawn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.withdrawn
}

func (w *mcpWait) isSent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// send reports whether the message may be sent on, and that it is.
func (w *mcpWait) send() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = !w.withdrawn
	return w.sent
}

// A waitKey is under what a client says which request of its own it means. The
// session is empty where the protocol gave the client none.
type waitKey struct{ server, session, account, id string }

// mcpWaits are the requests that came over HTTP and wait at the moment: what
// says that one is wanted no more comes over another connection.
type mcpWaits struct {
	mu sync.Mutex
	by map[waitKey][]*mcpWait
}

// enter remembers a wait until leave is called.
func (all *mcpWaits) enter(k waitKey, w *mcpWait) (leave func()) {
	if k.id == "" {
		return func() {}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.by == nil {
		all.by = map[waitKey][]*mcpWait{}
	}
	all.by[k] = append(all.by[k], w)
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		rest := slices.DeleteFunc(all.by[k], func(other *mcpWait) bool { return other == w })
		if all.by[k] = rest; len(rest) == 0 {
			delete(all.by, k)
		}
	}
}

// withdraw ends the wait of a key, if there is exactly one.
func (all *mcpWaits) withdraw(k waitKey) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.by[k]) != 1 {
		return false
	}
	return all.by[k][0].withdraw()
}

// waitKey is the key for a request of this client's with an id.
func (m *mcpExchange) waitKey(id []byte) waitKey {
	k := waitKey{server: m.t.URL.String(), session: m.r.Header.Get("Mcp-Session-Id"), account: m.t.Caller.Agent.ID, id: mcp.IDKey(id)}
	if k.session == "" {
		k.account += " " + m.credentials()
	}
	return k
}

// ownKey is the key under which the exchange waits. A batch has none, for it
// goes on whole or not at all; nor has what came over standard streams, which
// have one session each ([stdioSession]).
func (m *mcpExchange) ownKey() waitKey {
	if m.batch || m.t.Door == route.DoorStdio || m.task != nil || !m.msgs[0].IsRequest() {
		return waitKey{}
	}
	return m.waitKey(m.msgs[0].ID)
}

// withdraws takes a message by which the client says that it wants no answer to
// a request of its own that waits for people (notifications/cancelled). The
// server has not seen that request, and hears nothing of the message either.
// Clients without a session cannot be told apart for sure: theirs goes on all
// the same. It reports whether the message has been answered.
func (m *mcpExchange) withdraws() bool {
	if m.batch || m.t.Door == route.DoorStdio {
		return false
	}
	id := m.msgs[0].Cancels()
	if id == nil {
		return false
	}
	k := m.waitKey(id)
	if !m.s.waiting.withdraw(k) || k.session == "" && m.posted == nil {
		return false
	}
	m.accepted()
	return true
}

// beginWait is the time in which the client can take the message back.
func (m *mcpExchange) beginWait() (end func()) {
	if m.task != nil { // which can be cancelled by its own name
		return func() {}
	}
	m.wait = &mcpWait{}
	m.wait.ctx, m.wait.cancel = context.WithCancel(m.r.Context())
	leave := m.s.waiting.enter(m.ownKey(), m.wait)
	return func() { leave(); m.wait.cancel() }
}

// accepted ends an answer that says nothing.
func (m *mcpExchange) accepted() {
	if m.out == nil {
		m.w.WriteHeader(http.StatusAccepted)
	}
}

// mcpSession names the client's session with the server; empty where it has none.
func (m *mcpExchange) mcpSession() string {
	for _, s := range []*sseSession{m.session, m.posted} {
		if s != nil {
			return s.endpoint.String()
		}
	}
	return m.r.Header.Get("Mcp-Session-Id")
}

// A clientKey is under what the name of an MCP client is known.
type clientKey struct{ server, session string }

// maxClients is how many sessions' clients are remembered.
const maxClients = 4096

// meet finds out what the client calls itself: it says so with the first
// message of a session, or with every message.
func (m *mcpExchange) meet() {
	session := m.mcpSession()
	for _, msg := range m.msgs {
		m.t.Pages = m.t.Pages || msg.OpensPages()
	}
	m.t.Pages = m.t.Pages || session != "" && m.s.opensPages.Contains(clientKey{m.t.Name, session})
	for _, msg := range m.msgs {
		if name := msg.ClientName(); name != "" {
			m.t.Client = holdgate.Bounded(name, 100)
			if m.posted != nil { // whose session is there before the first message
				m.met(session)
			}
			return
		}
	}
	if m.t.Client == "" && session != "" {
		m.t.Client, _ = m.s.clients.Get(clientKey{m.t.Name, session})
	}
}

// met remembers the client as that of a session.
func (m *mcpExchange) met(session string) {
	if session != "" && slices.ContainsFunc(m.msgs, func(msg mcp.Message) bool { return msg.ClientName() != "" }) {
		m.s.clients.Add(clientKey{m.t.Name, session}, m.t.Client)
		if m.t.Pages {
			m.s.opensPages.Add(clientKey{m.t.Name, session}, struct{}{})
		}
	}
}

// tell says what the exchange waits for in the signs of life that follow.
func (m *mcpExchange) tell(qs []*gate.Evaluation) {
	var open []*gate.Evaluation
	for _, q := range qs {
		if q.Open() {
			open = append(open, q)
		}
	}
	text := gate.PausedText(m.standing())
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
