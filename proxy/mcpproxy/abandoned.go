package mcpproxy

import (
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// An abandonedCall is a call whose client left while it was held. One client was seen to
// lose patience, begin a session anew, and send the very message again, with
// the same id: in the new session's name it would be another call, and asked
// about and run twice. Within [abandonedFor] it is taken for what it is.
type abandonedCall struct {
	caller approvals.Caller
	at     time.Time
}

const (
	abandonedFor = time.Hour
	maxAbandoned = 1024
)

// abandonedKey names the call of a client's message, with the message's id. It is
// empty where the message is none that a client would send again.
func (m *exchange) abandonedKey() holdgate.Digest {
	if m.batch || m.task != nil || m.Target.Door == route.DoorStdio || !m.msgs[0].IsRequest() || m.msgs[0].Method != "tools/call" {
		return ""
	}
	k, err := m.msgs[0].Key()
	if err != nil {
		return ""
	}
	return m.p.c.Digester.Fields("mcp again", m.Target.Door, m.Target.Caller.Agent.ID, m.Target.URL.String(), m.Credentials(), m.Target.Client, mcp.IDKey(m.msgs[0].ID), string(k))
}

// abandon remembers that the client has left the call.
func (m *exchange) abandon() {
	if k := m.abandonedKey(); k != "" {
		m.p.abandoned.Add(k, abandonedCall{m.Target.Caller, time.Now()})
	}
}

// reclaim finds out whether the call is one that the client left in another
// session. It is then what it was there.
func (m *exchange) reclaim() {
	if m.p.abandoned.Len() == 0 {
		return
	}
	k := m.abandonedKey()
	if st, ok := m.p.abandoned.Get(k); ok && k != "" {
		m.p.abandoned.Remove(k)
		if time.Since(st.at) < abandonedFor {
			m.Target.Caller = st.caller
		}
	}
}
