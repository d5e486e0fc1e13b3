package mcpproxy

import (
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// said is what a POST says: one message, or a batch; none of a GET.
type said struct {
	msgs  []mcp.Message
	batch bool
	at    []int // the message that each question is about
}

// asked returns the arguments of message i as the agent sent them.
func (m *said) asked(i int) []byte {
	if args := wire.Find(m.msgs[i].Params, "arguments"); args != nil {
		return args
	}
	return []byte("{}")
}

// each calls fn for each message that there is a question about.
func (m *said) each(qs []*gate.Evaluation, fn func(i int, q *gate.Evaluation)) {
	for n, i := range m.at {
		fn(i, qs[n])
	}
}

// firstID is the id to answer under where nothing better is known, or nil.
func (m *said) firstID() []byte {
	if len(m.msgs) == 0 {
		return nil
	}
	return m.msgs[0].ID
}

// revision26 reports whether the client speaks a revision without requests of the
// server's.
func (m *said) revision26() bool { return m.msgs[0].TaskRevision() == mcp.Task26 }

// refusals answers each request of the body. Where one of a batch is refused
// none is sent on.
func (m *said) refusals(qs []*gate.Evaluation) [][]byte {
	why := make(map[int]string)
	m.each(qs, func(i int, q *gate.Evaluation) {
		if !q.Released() && why[i] == "" {
			why[i] = q.Verdict().Notice
		}
	})
	var out [][]byte
	for i, msg := range m.msgs {
		if !msg.IsRequest() {
			continue
		}
		text, refused := why[i]
		if !refused {
			text = wire.Mark + "This request was not sent on, because another one of its batch was refused."
		}
		out = append(out, msg.Refusal(text))
	}
	return out
}

func (m *said) refuseAll(text string) [][]byte {
	var out [][]byte
	for _, msg := range m.msgs {
		if msg.IsRequest() {
			out = append(out, msg.Refusal(text))
		}
	}
	return out
}
