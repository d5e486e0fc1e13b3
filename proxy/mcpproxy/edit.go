package mcpproxy

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
)

// splice puts the arguments that people edited into the body, and into the
// headers that mirror them. A call for which that cannot be done is refused. An
// answer to the server that is refused becomes an error.
func (m *exchange) splice(qs []*gate.Evaluation) {
	defer m.spliceAnswers(qs)
	var arguments [][]byte
	var header http.Header
	m.each(qs, func(i int, q *gate.Evaluation) {
		if !q.Released() || q.Verdict().Arguments == nil {
			return
		}
		if header == nil {
			header = m.R.Header.Clone()
		}
		if err := mcp.MirrorArguments(header, m.asked(i), q.Verdict().Arguments); err != nil {
			m.p.c.Logger.WarnContext(m.R.Context(), "refusing an edited call", "tool", q.Call.Tool.Name, "err", err)
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
	m.Body = mcp.WithArguments(m.Body, m.batch, arguments)
	r := *m.R
	r.Header = header
	m.R = &r
}

// takeNotes keeps what approvers said until the results come by.
func (m *relay) takeNotes(qs []*gate.Evaluation) {
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
