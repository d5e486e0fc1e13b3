package proxy

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// splice puts the arguments that people edited into the body, and into the
// headers that mirror them. A call for which that cannot be done is refused. An
// answer to the server that is refused becomes an error.
func (m *mcpExchange) splice(qs []*gate.Evaluation) {
	defer m.spliceAnswers(qs)
	var arguments [][]byte
	var header http.Header
	m.each(qs, func(i int, q *gate.Evaluation) {
		if !q.Released() || q.Verdict().Arguments == nil {
			return
		}
		if header == nil {
			header = m.r.Header.Clone()
		}
		if err := mcp.MirrorArguments(header, m.asked(i), q.Verdict().Arguments); err != nil {
			m.s.c.Logger.Warn("refusing an edited call", "tool", q.Call.Tool.Name, "err", err)
			q.Refuse(gate.NoticeUneditable(q.Call, err))
			return
		}
		if arguments == nil {
			arguments = make([][]byte, len(m.msgs))
		}
		arguments[i] = q.Verdict().Arguments
	})
	if arguments == nil {
		return
	}
	m.body = mcp.WithArguments(m.body, m.batch, arguments)
	r := *m.r
	r.Header = header
	m.r = &r
}

// asked returns the arguments of message i as the agent sent them.
func (m *mcpExchange) asked(i int) []byte {
	if args := wire.Find(m.msgs[i].Params, "arguments"); args != nil {
		return args
	}
	return []byte("{}")
}

// each calls fn for each message that there is a question about.
func (m *mcpExchange) each(qs []*gate.Evaluation, fn func(i int, q *gate.Evaluation)) {
	for n, i := range m.at {
		fn(i, qs[n])
	}
}

// takeNotes keeps what approvers said until the results come by.
func (m *mcpExchange) takeNotes(qs []*gate.Evaluation) {
	m.notes = mcp.Notes{}
	m.each(qs, func(i int, q *gate.Evaluation) {
		if q.Released() && q.Verdict().Note != "" && m.msgs[i].IsRequest() {
			m.notes.Add(m.msgs[i], q.Verdict().Note)
		}
	})
	if m.posted != nil {
		m.posted.note(m.notes)
	}
}
