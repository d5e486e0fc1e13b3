package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A prompt is a text that is being typed.
type prompt struct {
	textInput

	label  string // safe to show
	kind   promptKind
	word   string          // what must be typed in full; empty: anything
	option holdgate.Option // of promptChoose
	// remember is what stands from now on, of promptApprove; nil: nothing.
	remember *approvals.Remember
	// arguments are those of an edit, of promptApprove; empty: the call's own.
	arguments jsontext.Value
	agent     string // of promptIntervene, as is action
	action    agents.Action
}

// promptKind is what the text is for.
type promptKind int

const (
	promptFilter promptKind = iota
	promptApprove
	promptDeny
	promptSteer
	promptChoose
	promptDefer
	promptHistory
	promptIntervene
)

// releases reports whether the text lets the call go on.
func (p *prompt) releases() bool {
	switch p.kind {
	case promptApprove:
		return true
	case promptChoose:
		return !p.option.Other && (p.option.Effect == "" || p.option.Effect == holdgate.EffectApprove)
	case promptFilter, promptDeny, promptSteer, promptDefer, promptHistory, promptIntervene:
	}
	return false
}

// box is the prompt in lines of the terminal: one, with the part of the text that
// the cursor is in; or, where the text may have several, the label and those around
// the cursor.
func (p *prompt) box(width, rows int, colour bool) (box []string) {
	strong := func(s string) string {
		if colour {
			return sgrStrong + s + sgrOff
		}
		return s
	}
	if !p.lines {
		label := cut(p.label, width*2/3)
		lines, at := p.shown(max(width-page.Cells(label)-1, 2))
		return []string{strong(label) + paint(lines[at], colour)}
	}
	lines, at := p.shown(width - 5)
	from := min(max(at-rows+2, 0), max(len(lines)-rows+1, 0))
	box = append(box, strong(cut(p.label, width)))
	for _, l := range lines[from:min(from+max(rows-1, 1), len(lines))] {
		box = append(box, "  | "+paint(l, colour))
	}
	return box
}

// boxRows is how many lines a prompt has room for.
const boxRows = 6

// promptKey takes a key while a text is typed.
func (m *model) promptKey(k, text string) tea.Cmd {
	p := m.prompt
	m.note = ""
	switch {
	case k == "esc":
		m.prompt = nil
	case k == "enter":
		return m.promptEnter()
	case p.key(k):
	default:
		p.insert(text)
	}
	return nil
}

// promptEnter takes the text that was typed.
func (m *model) promptEnter() tea.Cmd {
	p, line := m.prompt, strings.TrimSpace(m.prompt.String())
	switch p.kind {
	case promptFilter:
		m.prompt, m.inbox.filter = nil, line
		m.inbox.arrange(m.now())
		return nil
	case promptHistory:
		m.prompt = nil
		return m.openHistory(line)
	case promptIntervene:
		m.prompt = nil
		return m.intervene(p, line)
	case promptApprove, promptDeny, promptSteer, promptChoose, promptDefer:
	}
	if m.ask == nil || m.ask.sending || m.now().Sub(m.ask.since) < minShown {
		return nil
	}
	if p.word != "" && line != p.word {
		m.prompt, m.note = nil, "nothing was decided: it was not typed in full"
		return nil
	}
	switch p.kind {
	case promptApprove:
		if len(p.arguments) > 0 {
			return m.send(api.Decision{Decision: holdgate.AnswerEdit, Arguments: []byte(p.arguments)})
		}
		return m.send(api.Decision{Decision: holdgate.AnswerApprove, Remember: p.remember})
	case promptDeny:
		return m.send(api.Decision{Decision: holdgate.AnswerDeny, Reason: line})
	case promptSteer:
		if line == "" {
			m.prompt = nil
			return nil
		}
		return m.send(api.Decision{Decision: holdgate.AnswerSteer, Instructions: line})
	case promptChoose:
		d := api.Decision{Decision: holdgate.AnswerChoose, Choice: p.option.ID}
		if p.option.Other {
			d.Instructions = line
		}
		return m.send(d)
	case promptDefer:
		return m.putOff(line)
	case promptFilter, promptHistory, promptIntervene:
	}
	return nil
}
