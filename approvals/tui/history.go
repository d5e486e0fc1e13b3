package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// maxHistory is how many entries of the log are shown, the newest first.
const maxHistory = 500

// A history is the latest of the audit log.
type history struct {
	entries []audit.Entry
	text    string // that entries must have; empty: all
	top     int
	loading bool
}

// A historyMsg is what the log says.
type historyMsg struct {
	text    string
	entries []audit.Entry
	err     error
}

// openHistory shows the log, or what of it has a text.
func (m *model) openHistory(text string) tea.Cmd {
	m.place, m.history = placeHistory, history{text: text, loading: true}
	api, ctx := m.api, m.ctx
	return func() tea.Msg {
		list, err := api.Newest(ctx, audit.Query{Text: text}, 0, maxHistory)
		return historyMsg{text, list, err}
	}
}

func (m *model) readHistory(msg historyMsg) {
	if msg.text != m.history.text {
		return // somebody has asked for another since
	}
	if m.history.loading = false; msg.err != nil {
		m.note = holdgate.Visible(msg.err.Error())
		return
	}
	m.history.entries = msg.entries
}

func (m *model) historyKey(k string) tea.Cmd {
	h, most := &m.history, max(len(m.history.entries)-m.bodyHeight(), 0)
	m.note = ""
	switch k {
	case "j", "down":
		h.top = min(h.top+1, most)
	case "k", "up":
		h.top = max(h.top-1, 0)
	case "space", "pgdown":
		h.top = min(h.top+m.bodyHeight(), most)
	case "b", "pgup":
		h.top = max(h.top-m.bodyHeight(), 0)
	case "/":
		m.prompt = &prompt{label: "show only what has: ", kind: promptHistory, textInput: of(h.text)}
	case "r":
		return m.openHistory(h.text)
	}
	return nil
}

func (m *model) historyHead() string {
	switch h := m.history; {
	case h.loading:
		return "History ..."
	case h.text != "":
		return fmt.Sprintf("History: the latest %d with %s", len(h.entries), quoted(h.text))
	default:
		return fmt.Sprintf("History: the latest %d", len(h.entries))
	}
}

func (m *model) historyLines() (lines []string) {
	h := m.history
	for _, e := range h.entries[min(h.top, len(h.entries)):min(h.top+m.bodyHeight(), len(h.entries))] {
		lines = append(lines, m.clip("  "+e.Time.Local().Format("15:04:05")+"  "+entryText(e), entrySGR(e)))
	}
	return lines
}

// entryText says in one line what an entry of the log records.
func entryText(e audit.Entry) string {
	what, why := string(e.Type), ""
	switch {
	case e.Outcome != nil:
		what += " " + string(e.Outcome.Decision)
		why = "by " + e.Outcome.By
		if e.Outcome.Reason != "" {
			why += ": " + e.Outcome.Reason
		}
	case e.Decision != nil:
		what, why = e.Decision.Action.String(), e.Decision.Rule
	}
	parts := []string{fmt.Sprintf("%-14s", holdgate.Visible(what))}
	if e.Call != nil {
		parts = append(parts, holdgate.Visible(e.Call.Agent)+":", callName(*e.Call))
	}
	if why == "" {
		why = e.Note
	}
	if why != "" {
		parts = append(parts, holdgate.Visible(holdgate.Bounded(why, 300)))
	}
	if len(e.Input) > 0 {
		parts = append(parts, input(e))
	}
	return strings.Join(parts, " ")
}

// callName names a call.
func callName(c audit.Call) string { return holdgate.Visible(holdgate.Bounded(c.Name(), 300)) }

// input is the beginning of what a call was given, as the log keeps it.
func input(e audit.Entry) string { return holdgate.Visible(holdgate.Bounded(string(e.Input), 300)) }

// entrySGR is how an entry looks.
func entrySGR(e audit.Entry) string {
	switch {
	case e.Decision != nil && e.Decision.Action == holdgate.Deny:
		return sgrAlarm
	case e.Decision != nil && e.Decision.Action == holdgate.Hold:
		return sgrWarn
	case e.Outcome != nil:
		return sgrStrong
	}
	return ""
}
