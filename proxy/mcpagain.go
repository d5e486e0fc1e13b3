package proxy

import (
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// A stray is a call whose client left while it was held. One client was seen to
// lose patience, begin a session anew, and send the very message again, with
// the same id: in the new session's name it would be another call, and asked
// about and run twice. Within [strayFor] it is taken for what it is.
type stray struct {
	caller approvals.Caller
	at     time.Time
}

const (
	strayFor  = time.Hour
	maxStrays = 1024
)

// strayKey names the call of a client's message, with the message's id. It is
// empty where the message is none that a client would send again.
func (m *mcpExchange) strayKey() holdgate.Digest {
	if m.batch || m.task != nil || m.t.Door == route.DoorStdio || !m.msgs[0].IsRequest() || m.msgs[0].Method != "tools/call" {
		return ""
	}
	k, err := m.msgs[0].Key()
	if err != nil {
		return ""
	}
	return m.s.c.Digester.Fields("mcp again", m.t.Door, m.t.Caller.Agent.ID, m.t.URL.String(), m.credentials(), m.t.Client, mcp.IDKey(m.msgs[0].ID), string(k))
}

// astray remembers that the client has left the call.
func (m *mcpExchange) astray() {
	if k := m.strayKey(); k != "" {
		m.s.strays.Add(k, stray{m.t.Caller, time.Now()})
	}
}

// reclaim finds out whether the call is one that the client left in another
// session. It is then what it was there.
func (m *mcpExchange) reclaim() {
	if m.s.strays.Len() == 0 {
		return
	}
	k := m.strayKey()
	if st, ok := m.s.strays.Get(k); ok && k != "" {
		m.s.strays.Remove(k)
		if time.Since(st.at) < strayFor {
			m.t.Caller = st.caller
		}
	}
}
