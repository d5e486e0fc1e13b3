package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/record"
)

// An always is a standing approval that is being made of the open request.
type always struct {
	kinds []record.MatchKind
	kind  int
	agent bool // of any session of the agent
	span  int
}

// spans are how long a standing approval may last, the second unless another is
// chosen, as on the page.
var spans = []time.Duration{time.Hour, 8 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// openAlways shows what approving the open request for good would cover.
func (m *model) openAlways() {
	a := m.ask
	switch why := a.closed(); {
	case !a.allows("remember") || a.r.Kind == holdgate.RequestChoice:
		m.note = "policy lets this call be approved for this time alone"
		return
	case why != "":
		m.note = "not approved: " + why
		return
	}
	w := &always{kinds: []record.MatchKind{record.MatchExact}, span: 1}
	if a.r.Call.Tool != nil && (a.r.Risk == holdgate.RiskLow || a.r.Risk == holdgate.RiskMedium) {
		w.kinds = append(w.kinds, record.MatchTool)
	}
	if a.r.Call.HTTP != "" {
		w.kinds = append(w.kinds, record.MatchEndpoint)
	}
	m.always, a.since = w, m.now()
}

// remember is what is asked for.
func (w *always) remember() *approvals.Remember {
	r := &approvals.Remember{Scope: record.ScopeSession, For: spans[w.span], Match: record.Match{Kind: w.kinds[w.kind]}}
	if w.agent {
		r.Scope = record.ScopeAgent
	}
	return r
}

// alwaysKey takes a key while it is chosen what stands from now on.
func (m *model) alwaysKey(k string) tea.Cmd {
	w, a := m.always, m.ask
	m.note = ""
	switch k {
	case "esc", "q":
		m.always = nil
		m.ask.since = m.now()
		return nil
	case "w":
		w.kind = (w.kind + 1) % len(w.kinds)
	case "o":
		if !a.r.Agent.Proven {
			m.note = "only a proven agent is approved in any session"
			return nil
		}
		w.agent = !w.agent
	case "t":
		w.span = (w.span + 1) % len(spans)
	case "enter":
		return m.approveAlways()
	default:
		return nil
	}
	a.since = m.now() // it would cover something else now
	return nil
}

// approveAlways approves, and has what is shown stand from now on.
func (m *model) approveAlways() tea.Cmd {
	a := m.ask
	if a.r.Status.Final() || a.sending || m.now().Sub(a.since) < minShown {
		return nil
	}
	keep := m.always.remember()
	if w := a.word(); w != "" {
		m.prompt = &prompt{label: fmt.Sprintf("to approve, type %s: ", quoted(w)), kind: promptApprove, word: w, remember: keep}
		return nil
	}
	m.always = nil
	return m.send(api.Decision{Decision: holdgate.AnswerApprove, Remember: keep})
}

// alwaysLines are the choices, and in words what they cover.
func (m *model) alwaysLines() (lines []string) {
	w, r := m.always, m.ask.r
	what := map[record.MatchKind]string{
		record.MatchExact: "exactly this call", record.MatchTool: "every call of the tool that reaches no further than this one", record.MatchEndpoint: "every request to this address",
	}[w.kinds[w.kind]]
	of := "this session"
	if w.agent {
		of = "any session of " + holdgate.Visible(r.Agent.ID)
	}
	for _, l := range []string{"Approve, and always from now on", "", "  w  what  " + what, "  o  of    " + of, "  t  for   " + record.Lasting(spans[w.span]), ""} {
		lines = append(lines, m.clip(l, ""))
	}
	return append(lines, m.paragraph(w.remember().Words(r))...)
}

// alwaysKeys says what the keys do.
func (m *model) alwaysKeys() string {
	if m.now().Sub(m.ask.since) < minShown {
		return "a moment ..."
	}
	return strings.Join([]string{"w o t change it", "Enter approves", "Esc goes back"}, "  ")
}
