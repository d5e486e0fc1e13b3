package tui

import (
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	agentsEvery = 2 * time.Second // between two looks at what agents do
	liveEntries = 200             // of the log, for what each agent did last
)

// agentList is what agents do now.
type agentList struct {
	all    approvals.AgentStatus // of all agents at once
	list   []agents.Agent
	latest map[string]audit.Entry // of each agent
	at     string                 // the agent that is chosen
	asked  time.Time
}

// An agentsMsg is what agents do now.
type agentsMsg struct {
	agentList
	err error
}

// openAgents shows what agents do.
func (m *model) openAgents() tea.Cmd {
	m.place = placeAgents
	return m.askAgents()
}

// askAgents asks what agents do now.
func (m *model) askAgents() tea.Cmd {
	m.agents.asked = m.now()
	client, ctx := m.api, m.ctx
	return func() tea.Msg {
		l := agentList{latest: map[string]audit.Entry{}}
		var err1, err2, err3 error
		var entries []audit.Entry
		l.list, err1 = client.Agents(ctx)
		l.all, err2 = client.AgentStatus(ctx, agents.Everybody)
		entries, err3 = client.Newest(ctx, audit.Query{Type: audit.TypeDecision}, 0, liveEntries)
		for _, e := range entries {
			if e.Call == nil {
				continue
			}
			if _, known := l.latest[e.Call.Agent]; !known {
				l.latest[e.Call.Agent] = e
			}
		}
		return agentsMsg{l, errors.Join(err1, err2, err3)}
	}
}

// keepAgents asks again while agents are shown.
func (m *model) keepAgents() tea.Cmd {
	if m.place != placeAgents || m.now().Sub(m.agents.asked) < agentsEvery {
		return nil
	}
	return m.askAgents()
}

func (m *model) readAgents(msg agentsMsg) {
	if msg.err != nil {
		m.note = holdgate.Visible(msg.err.Error())
		return
	}
	msg.at, msg.asked = m.agents.at, m.agents.asked
	m.agents = msg.agentList
	if m.agents.index() < 0 && len(m.agents.list) > 0 {
		m.agents.at = m.agents.list[0].ID
	}
}

func (l *agentList) index() int {
	return slices.IndexFunc(l.list, func(a agents.Agent) bool { return a.ID == l.at })
}

func (m *model) agentsKey(k string) tea.Cmd {
	l := &m.agents
	m.note = ""
	i := l.index()
	if i < 0 {
		return nil
	}
	switch k {
	case "j", "down":
		l.at = l.list[min(i+1, len(l.list)-1)].ID
	case "k", "up":
		l.at = l.list[max(i-1, 0)].ID
	case "p":
		m.intervening(agents.Pause, "why (Enter for no reason): ")
	case "r":
		m.intervening(agents.Resume, "Enter, or Esc: ")
	case "x":
		m.intervening(agents.Stop, "why (Enter for no reason): ")
	case "i":
		m.intervening(agents.Redirect, "what to do from now on: ")
	}
	return nil
}

// intervening has an intervention confirmed. It is of the agent that was chosen,
// whatever comes meanwhile.
func (m *model) intervening(a agents.Action, ask string) {
	m.prompt = &prompt{label: fmt.Sprintf("%s %s: %s", a, holdgate.Visible(m.agents.at), ask), kind: promptIntervene, agent: m.agents.at, action: a, textInput: textInput{lines: a == agents.Redirect}}
}

// An intervenedMsg is what became of an intervention.
type intervenedMsg struct {
	agent string
	s     approvals.AgentStatus
	err   error
}

// intervene does what was confirmed.
func (m *model) intervene(p *prompt, words string) tea.Cmd {
	in := api.Intervention{Action: p.action, Reason: words}
	if p.action == agents.Redirect {
		if words == "" {
			return nil
		}
		in.Reason, in.Instruction = "", words
	}
	client, ctx := m.api, m.ctx
	return func() tea.Msg {
		s, err := client.Intervene(ctx, p.agent, in)
		return intervenedMsg{p.agent, s, err}
	}
}

func (m *model) intervened(msg intervenedMsg) tea.Cmd {
	if msg.err != nil {
		m.note = "nothing was changed: " + holdgate.Visible(msg.err.Error())
		return nil
	}
	m.note = holdgate.Visible(fmt.Sprintf("%s is %s", msg.agent, msg.s))
	return m.askAgents()
}

func (m *model) agentsHead() string {
	s := "1 agent"
	if n := len(m.agents.list); n != 1 {
		s = fmt.Sprintf("%d agents", n)
	}
	if m.agents.all.State != "" && !m.agents.all.Running() {
		s += ", all are " + holdgate.Visible(m.agents.all.String())
	}
	return s
}

// agentLines are two lines for each agent: how it stands, and what it did last.
func (m *model) agentLines() (lines []string, at int) {
	if len(m.agents.list) == 0 {
		return m.paragraph("No agent was seen yet. Start one with: holdgate run -- claude"), 0
	}
	now := m.now()
	for _, a := range m.agents.list {
		mark := "  "
		if a.ID == m.agents.at {
			mark, at = "> ", len(lines)
		}
		who := holdgate.Visible(a.ID)
		if a.Proven {
			who += " (proven)"
		} else {
			who += " (its own word)"
		}
		if a.Confinement != "" {
			who += ", " + holdgate.Visible(a.Confinement)
		}
		state := style{text: holdgate.Visible(a.Status.String())}
		if !a.Status.Running() {
			state.sgr = sgrAlarm
		}
		last := "nothing yet"
		if e, ok := m.agents.latest[a.ID]; ok && e.Decision != nil {
			last = fmt.Sprintf("%s, %s: %s %s", ago(now.Sub(e.Time)), e.Decision.Action, callName(*e.Call), input(e))
		}
		if used := a.Usage.String(); used != "" {
			last += " · " + holdgate.Visible(used)
		}
		if a.Pending > 0 {
			last = fmt.Sprintf("%d waiting · %s", a.Pending, last)
		}
		lines = append(lines, m.spread(mark, style{text: who, sgr: sgrStrong}, state), m.clip("    "+last, sgrFaint))
	}
	return lines, at
}
