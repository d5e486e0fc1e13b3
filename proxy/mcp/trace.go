package mcp

import "github.com/holdgate/holdgate/proxy/wire"

// What clients write into _meta of the trace that a request is of: MCP's names for the
// headers of W3C Trace Context.
const (
	metaParent = "traceparent"
	metaState  = "tracestate"
)

// Trace is what the message says of its trace; empty where it says nothing.
func (m Message) Trace() (parent, state string) {
	meta := m.param("_meta")
	return wire.TextIn(meta, metaParent), wire.TextIn(meta, metaState)
}

// WithTrace returns the body of a POST, which is the message and no batch, with another
// trace in its _meta. Without parameters it has no place for one, and stays as it is; so
// does one whose trace is that already. All other bytes stay.
func (m Message) WithTrace(body []byte, parent, state string) []byte {
	if said, _ := m.Trace(); said == parent || !m.IsRequest() {
		return body
	}
	traced := wire.RewriteMembers(body, func(f wire.Member) []byte {
		if string(f.Name) != "params" || wire.KindOf(f.Value) != "an object" {
			return f.Value
		}
		meta := wire.Find(f.Value, "_meta")
		if meta == nil {
			meta = []byte("{}")
		} else if wire.KindOf(meta) != "an object" {
			return f.Value
		}
		meta = setMember(meta, metaParent, wire.AppendText(nil, parent))
		if state != "" {
			meta = setMember(meta, metaState, wire.AppendText(nil, state))
		} else {
			meta = wire.RewriteMembers(meta, func(f wire.Member) []byte {
				if string(f.Name) == metaState { // it is of another trace
					return nil
				}
				return f.Value
			})
		}
		return setMember(f.Value, "_meta", meta)
	})
	if traced == nil {
		return body
	}
	return traced
}
