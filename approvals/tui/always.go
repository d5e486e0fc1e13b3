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
	scope record.Scope
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
	w := &always{kinds: []record.MatchKind{record.MatchExact}, scope: record.ScopeSession, span: 1}
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
	return &approvals.Remember{Scope: w.scope, For: spans[w.span], Match: record.Match{Kind: w.kinds[w.kind]}}
}

// widen takes the next scope that there can be, and back at the first says which there
// cannot.
func (w *always) widen(r approvals.Request) (note string) {
	switch {
	case w.scope == record.ScopeSession && r.Agent.Proven:
		w.scope = record.ScopeAgent
	case w.scope != record.ScopeTask && r.OfTask:
		w.scope = record.ScopeTask
	default:
		w.scope = record.ScopeSession
	}
	if w.scope != record.ScopeSession {
		return ""
	}
	var lacks []string
	if !r.Agent.Proven {
		lacks = append(lacks, "only a proven agent is approved in any session")
	}
	if !r.OfTask {
		lacks = append(lacks, "it is not known on which task it works")
	}
	return strings.Join(lacks, "; ")
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
		m.note = w.widen(a.r)
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
	of := map[record.Scope]string{
		record.ScopeTask: "this task, until its user says the next thing", record.ScopeSession: "this session", record.ScopeAgent: "any session of " + holdgate.Visible(r.Agent.ID),
	}[w.scope]
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
