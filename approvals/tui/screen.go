package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// frameLines are those around what a screen is about: the head, a rule, what was
// answered or is typed, and the keys.
const frameLines = 4

// Looks, as a terminal takes them (ECMA-48, SGR). Nothing rests on them.
const (
	sgrStrong  = "\x1b[1m"
	sgrAlarm   = "\x1b[1;31m"
	sgrWarn    = "\x1b[33m"
	sgrFaint   = "\x1b[2m"
	sgrReverse = "\x1b[7m"
	sgrOff     = "\x1b[0m"
)

// A style is a text and how it looks.
type style struct{ text, sgr string }

// screen is all of what is shown: as many lines as the terminal has, none wider.
func (m *model) screen() string {
	if m.width < minWidth || m.height < minHeight {
		return cut(fmt.Sprintf("too small: %dx%d", m.width, m.height), m.width)
	}
	head, body, keys := "", []string(nil), ""
	switch {
	case m.help:
		head, body, keys = "Keys", m.helpLines(), "any key goes back"
	case m.edit != nil:
		head, body, keys = m.askHead(), m.edit.shown(m.colour), m.editKeys()
	case m.always != nil:
		head, body, keys = m.askHead(), m.alwaysLines(), m.alwaysKeys()
	case m.ask != nil:
		head, body, keys = m.askHead(), m.ask.shown(m.colour), m.askKeys()
	case m.place == placeAgents:
		lines, at := m.agentLines()
		head, body, keys = m.agentsHead(), around(lines, at, m.bodyHeight()), "p pause  r resume  x stop  i redirect  Tab history  q back"
	case m.place == placeHistory:
		head, body, keys = m.historyHead(), m.historyLines(), "j k space b scroll  / find  r anew  Tab waiting  q back"
	default:
		lines, at := m.inboxLines()
		head, body, keys = m.inbox.head(), around(lines, at, m.bodyHeight()), "j k move  Enter opens  / find  Tab agents  ? keys  q quit"
	}
	last := style{keys, sgrFaint}
	if m.prompt != nil {
		if last.text = "Enter sends, Esc goes back"; m.prompt.lines {
			last.text = "Enter sends, Ctrl-J makes a new line, Esc goes back"
		}
		if m.note != "" {
			last = style{m.note, sgrWarn}
		}
	}
	talk := m.talk()
	rule := strings.Repeat("-", m.width)
	out := []string{m.headLine(head)}
	for i := range m.bodyHeight() - len(talk) + 1 {
		if i < len(body) {
			out = append(out, body[i])
		} else {
			out = append(out, "")
		}
	}
	out = append(append(out, m.clip(rule, sgrFaint)), talk...)
	return strings.Join(append(out, m.clip(last.text, last.sgr)), "\n")
}

// headLine is the first line.
func (m *model) headLine(text string) string {
	name := style{text: "HOLDGATE", sgr: sgrStrong}
	if m.lost != "" {
		return m.spread(m.paint(name)+"  ", style{text: text}, style{text: "Not connected: what you see may be old", sgr: sgrAlarm})
	}
	return m.spread(m.paint(name)+"  ", style{text: text}, style{})
}

// talk are the lines in which something is typed or told.
func (m *model) talk() []string {
	switch {
	case m.prompt != nil:
		return m.prompt.box(m.width, min(boxRows, m.bodyHeight()), m.colour)
	case m.note != "":
		return m.noteLines()
	case m.lost != "":
		return []string{m.clip(m.lost, sgrAlarm)}
	}
	return []string{""}
}

// noteRows is how many lines a note takes at most.
const noteRows = 4

// noteOn begins the further lines of a note.
const noteOn = "  : "

// noteLines are a note, between words. Those behind the first begin so that none can pass for
// a line of the page.
func (m *model) noteLines() (lines []string) {
	for i, l := range page.Wrap([]page.Line{{Text: m.note}}, m.width-1-len(noteOn)) {
		if i > 0 {
			l.Text = noteOn + l.Text
		}
		lines = append(lines, l.Text)
	}
	if most := max(min(noteRows, m.bodyHeight()/2), 1); len(lines) > most {
		lines = append(lines[:most-1], lines[most-1]+" …")
	}
	for i, l := range lines {
		lines[i] = m.clip(l, sgrWarn)
	}
	return lines
}

// covered reports whether a note hides the last lines of what is shown.
func (m *model) covered() bool { return m.prompt == nil && m.note != "" && len(m.noteLines()) > 1 }

// around are as many lines as there is room for, with line at and the one below it
// among them.
func around(lines []string, at, room int) []string {
	if len(lines) <= room {
		return lines
	}
	top := min(max(at-room/2, 0), len(lines)-room)
	return lines[top : top+room]
}

// clip is one line of a text that is safe to show.
func (m *model) clip(text, sgr string) string { return m.paint(style{cut(text, m.width), sgr}) }

// spread is a line with a text behind what leads it, and another at its end. The
// lead may have been painted.
func (m *model) spread(lead string, text, end style) string {
	room := m.width - page.Cells(bare(lead))
	if end.text != "" {
		room -= page.Cells(end.text) + 2
	}
	text.text = cut(text.text, room)
	line := lead + m.paint(text)
	if end.text == "" {
		return line
	}
	return line + strings.Repeat(" ", max(room-page.Cells(text.text), 0)+2) + m.paint(end)
}

func (m *model) paint(s style) string {
	if !m.colour || s.sgr == "" || s.text == "" {
		return s.text
	}
	return s.sgr + s.text + sgrOff
}

// bare is a line of ours without its looks.
func bare(s string) string {
	for _, sgr := range []string{sgrStrong, sgrAlarm, sgrWarn, sgrFaint, sgrReverse, sgrOff} {
		s = strings.ReplaceAll(s, sgr, "")
	}
	return s
}

// paragraph is a text in lines between words.
func (m *model) paragraph(text string) (lines []string) {
	for _, l := range page.Wrap([]page.Line{{Text: text}}, m.width-1) {
		lines = append(lines, l.Text)
	}
	return lines
}

// cut is a text without what does not fit into so many cells, nor what a terminal
// would obey: nothing here rests on who made it safe before.
func cut(s string, room int) string {
	s = page.Inert(s)
	if page.Cells(s) <= room {
		return s
	}
	n := 2 // of the mark
	for i, r := range s {
		if n += page.Cells(string(r)); n > room {
			return s[:i] + "…"
		}
	}
	return s
}

// left is a length of time as a countdown says it: in two units where little is
// left.
func left(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 3600:
		return fmt.Sprintf("%d min", s/60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d days", s/86400)
}

// ago is how long something has been.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	return left(d) + " ago"
}

// known is s, or a word for what is not known.
func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return holdgate.Visible(s)
}

// riskSGR is how a risk looks.
func riskSGR(r holdgate.Risk) string {
	switch r {
	case holdgate.RiskLow:
		return ""
	case holdgate.RiskMedium:
		return sgrWarn
	}
	return sgrAlarm
}

// helpLines are the keys.
func (m *model) helpLines() []string {
	var lines []string
	for _, k := range [][2]string{
		{"j k, arrows", "move; in a request, scroll"},
		{"Enter", "open a request, or a row of requests that are alike"},
		{"space b", "a screen on, a screen back"},
		{"y a", "approve; what is of high risk wants a typed word"},
		{"A", "approve, and always from now on: shows what that covers first"},
		{"e", "edit the arguments in $EDITOR; shows the change before it goes"},
		{"n d", "deny, with a reason for the agent"},
		{"s", "steer: tell the agent what to do instead"},
		{"1 to 9", "choose an option, where a request has some"},
		{"c", "claim: say that you look at it, or no longer; silence waits"},
		{"z", "put off: it is not shown to you for a time; nothing is decided"},
		{"f", "show the whole call, where the page leaves some of it out"},
		{"/", "show only what has a text; Esc shows all again"},
		{"Tab", "what waits, agents, history"},
		{"p r x i", "at agents: pause, resume, stop, redirect the chosen one"},
		{"q Esc", "go back; q in the inbox leaves, Ctrl-C leaves everywhere"},
		{"", ""},
		{"", "Answers are taken once a request has stood unchanged for"},
		{"", "0.7 seconds, and approvals once it has been shown to its end."},
	} {
		lines = append(lines, m.clip(strings.TrimRight(fmt.Sprintf("  %-12s %s", k[0], k[1]), " "), ""))
	}
	return lines
}
