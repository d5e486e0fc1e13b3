package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// maxTyped bounds what is typed, in characters.
const maxTyped = 4 << 10

// A prompt is a line that is being typed.
type prompt struct {
	label  string // safe to show
	kind   promptKind
	text   []rune
	word   string          // what must be typed in full; empty: anything
	option holdgate.Option // of promptChoose
	// remember is what stands from now on, of promptApprove; nil: nothing.
	remember *approvals.Remember
	// arguments are those of an edit, of promptApprove; empty: the call's own.
	arguments jsontext.Value
	agent     string // of promptIntervene, as is action
	action    agents.Action
}

// promptKind is what the line is for.
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

// releases reports whether the line lets the call go on.
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

// insert takes what was typed or pasted. The end of a line in it is a blank: it
// sends nothing.
func (p *prompt) insert(text string) {
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if !unicode.IsControl(r) && len(p.text) < maxTyped {
			p.text = append(p.text, r)
		}
	}
}

// line is the prompt in one line of the terminal, the end of what was typed in
// sight.
func (p *prompt) line(width int, colour bool) string {
	label, text := cut(p.label, width*2/3), holdgate.Visible(string(p.text))
	room := width - page.Cells(label) - 1
	for page.Cells(text) > room {
		_, text, _ = cutFirst(text)
	}
	cursor := "_"
	if colour {
		return sgrStrong + label + sgrOff + text + sgrReverse + " " + sgrOff
	}
	return label + text + cursor
}

// cutFirst takes the first character off.
func cutFirst(s string) (first rune, rest string, ok bool) {
	for i, r := range s {
		if i > 0 {
			return first, s[i:], true
		}
		first = r
	}
	return first, "", s != ""
}

// promptKey takes a key while a line is typed.
func (m *model) promptKey(k, text string) tea.Cmd {
	p := m.prompt
	m.note = ""
	switch k {
	case "esc":
		m.prompt = nil
	case "enter":
		return m.promptEnter()
	case "backspace":
		if len(p.text) > 0 {
			p.text = p.text[:len(p.text)-1]
		}
	case "ctrl+u":
		p.text = nil
	case "ctrl+w":
		s := strings.TrimRight(string(p.text), " ")
		p.text = []rune(s[:strings.LastIndex(s, " ")+1])
	default:
		p.insert(text)
	}
	return nil
}

// promptEnter takes the line that was typed.
func (m *model) promptEnter() tea.Cmd {
	p, line := m.prompt, strings.TrimSpace(string(m.prompt.text))
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
