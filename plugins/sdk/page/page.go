// Package page draws a request for people who read text: on a terminal, in
// the command line, in any channel that can show lines. Everybody who sees a
// request sees the same page in the same order.
//
// # Order
//
// First stands what happens, how risky that is, whether it can be undone, who wants
// it, and how long there is; then the exact call; why policy asks, once; where it
// happens and for whom; what the page does not show; and, in a block of its own, what
// the agent says. What the session did before, and the names that other commands
// take, come last.
//
// Those two are no part of what is decided, and nobody needs to have read them to
// answer: their lines are marked [Line.More], and [Needed] counts the others. What
// the agent says is needed: mostly it stands among the call's arguments, and a call
// that was not shown whole is not approved.
//
// # What the page cannot be made to say
//
// Every text is free of characters that a terminal obeys. A line that does not
// fit goes on below with the same mark in front, so that nothing from inside a
// call can begin where a heading or a field of the page does.
//
// A page is a value: drawing does no I/O and knows no terminal.
package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// A Style says how a line is to look where there is colour. Nothing rests on
// it.
type Style int

// The styles.
const (
	Plain Style = iota
	Strong
	Alarm
	Added
	Removed
	Faint
)

// A Line is one line of a page: a mark or label, and a text.
type Line struct {
	Label string // of fixed width; what does not fit goes on below it
	Text  string
	Style Style // of the text
	SQL   bool  // it is SQL: where there is colour it has that of the language
	More  bool  // it is beside the question, which can be answered without it
}

// Marks that stand before every line of a call, and of what an agent says.
const (
	callMark  = "  | "
	agentMark = "  > "
	indent    = "  " // of headings: at the edge there is nothing but labels
	labelCols = 11
)

// newline is how a notice writes the end of a line; nothing else in a text is
// written so.
const newline = "⟨U+000A⟩"

// Of is the page of the request as it is at the given time.
func Of(n sdk.Notice, now time.Time) []Line {
	p := &drawing{}
	p.head(n, now)
	p.call(n)
	p.options(n)
	p.blank()
	p.why(n)
	p.asker(n)
	if missing := missing(n, true); missing != "" {
		p.blank()
		p.field("NOT SHOWN", missing, Alarm)
	}
	p.said(n)
	p.beside(func() {
		p.before(n)
		p.blank()
		p.names(n)
	})
	return p.lines
}

// Needed is how many of the lines of a page, from its top, a person must have seen
// to know what they answer.
func Needed(lines []Line) int {
	n := len(lines)
	for n > 0 && (lines[n-1].More || lines[n-1].Text == "") {
		n--
	}
	return n
}

type drawing struct{ lines []Line }

func (p *drawing) add(label, text string, s Style) {
	p.lines = append(p.lines, Line{Label: label, Text: Inert(text), Style: s})
}

func (p *drawing) blank() { p.add("", "", Plain) }

// beside draws what the question can be answered without.
func (p *drawing) beside(draw func()) {
	from := len(p.lines)
	draw()
	for i := range p.lines[from:] {
		p.lines[from+i].More = true
	}
}

// field adds a named line, unless it is empty.
func (p *drawing) field(name, text string, s Style) {
	if text != "" {
		p.add(fmt.Sprintf("%-*s", labelCols, name), text, s)
	}
}

// head is what a person reads first.
func (p *drawing) head(n sdk.Notice, now time.Time) {
	p.field("what", n.Summary, Strong)
	risk, style := n.Risk, Alarm
	switch risk {
	case "":
		risk = "unknown"
	case sdk.RiskLow, sdk.RiskMedium:
		style = Strong
	}
	if n.Undo != "" {
		risk += ", " + n.Undo
	}
	p.field("risk", risk, style)
	p.agent(n)
	if n.Ended() {
		p.field("status", status(n), Strong)
	} else {
		p.left(n, now)
	}
	if n.Quorum > 1 {
		progress := fmt.Sprintf("%d of %d", n.Votes, n.Quorum)
		if len(n.Approved) > 0 {
			progress += ": " + strings.Join(n.Approved, ", ")
		}
		p.field("approved", progress, Plain)
	}
	for _, w := range n.Warnings {
		p.field("WARNING", w, Alarm)
	}
	p.field("approve", n.Closed, Alarm)
}

// left says how long there is, and what silence does then.
func (p *drawing) left(n sdk.Notice, now time.Time) {
	silence, style := "it is denied", Plain
	if n.OnTimeout == sdk.Approve {
		silence, style = "it is APPROVED by itself", Alarm
	}
	left := "not limited"
	if !n.ExpiresAt.IsZero() {
		left = max(n.ExpiresAt.Sub(now), 0).Truncate(time.Second).String()
	}
	p.field("time left", left+", then "+silence, style)
}

// agent says who makes the call.
func (p *drawing) agent(n sdk.Notice) {
	agent, style := n.Agent.ID+" (asserted: its own word)", Plain
	if n.Agent.Proven {
		agent = n.Agent.ID + " (proven)"
	}
	switch n.Agent.Confinement {
	case "":
	case "unconfined":
		agent, style = agent+" UNCONFINED", Alarm
	default:
		agent += ", " + n.Agent.Confinement + " confinement"
	}
	for _, f := range n.Place {
		if f.Name == placeFor {
			agent += ", for " + f.Text
		}
	}
	p.field("agent", agent, style)
}

// placeFor names the fact that says for whom an agent works.
const placeFor = "for"

// asker says where the call happens and for whom, and what else is known of both.
func (p *drawing) asker(n sdk.Notice) {
	for _, f := range n.Place {
		if f.Name != placeFor {
			p.field(f.Name, f.Text, Plain)
		}
	}
	p.field("edited", n.Edited, Strong)
	for _, l := range n.People {
		p.field("people", l, Plain)
	}
	p.field("similar", n.Similar, Plain)
}

// names are what other commands take, and policy's words for the rest.
func (p *drawing) names(n sdk.Notice) {
	p.field("request", n.ID, Faint)
	if !n.Ended() {
		p.field("status", n.Status, Faint)
	}
	p.field("session", n.Session, Faint)
	p.field("door", n.Door, Faint)
	p.field("gate", n.Gate, Faint)
	what := "tool"
	if n.Call.Kind != "tool_call" && n.Call.Target != "" && n.Call.Kind != "" {
		what = map[string]string{"model_request": "model", "mcp_request": "mcp", "http_request": "http"}[n.Call.Kind]
	}
	p.field("server", n.Call.Server, Faint)
	p.field(what, n.Call.Target, Faint)
	p.field("digest", short(n.Digest), Faint)
}

func status(n sdk.Notice) string {
	o := n.Outcome
	if o == nil {
		return n.Status
	}
	s := fmt.Sprintf("%s by %s at %s", n.Status, o.By, o.At.Local().Format(time.DateTime))
	if o.Decision == "timeout" {
		s += ", for nobody answered in time"
	}
	for _, more := range []string{o.Reason, o.Instructions, o.Choice} {
		if more != "" {
			s += ": " + more
		}
	}
	return s
}

// why says why policy asks. The request's message is policy's, or the operator's
// who has configured a gate, and never the agent's; what of it the reasons say
// already is left out.
func (p *drawing) why(n sdk.Notice) {
	why := n.Why
	if len(why) == 0 && n.Rule != "" {
		why = []string{strings.TrimSuffix(n.Rule+": "+n.Reason, ": ")}
	}
	for i, w := range why {
		name := "why"
		if i > 0 {
			name = ""
		}
		p.add(fmt.Sprintf("%-*s", labelCols, name), w, Plain)
	}
	message := strings.TrimSpace(strings.TrimPrefix(n.Message, n.Reason))
	if told(n, why, message) {
		return
	}
	for i, l := range strings.Split(message, newline) {
		name := "asked"
		if i > 0 {
			name = ""
		}
		p.add(fmt.Sprintf("%-*s", labelCols, name), l, Plain)
	}
}

// about begins what the shipped pack's messages name.
const about = "It would touch: "

// told reports whether the reasons say all of a message, or, of what it names, the call.
func told(n sdk.Notice, why []string, message string) bool {
	message = strings.Join(strings.Fields(message), " ")
	shown := strings.Join(why, "\n")
	if strings.Contains(shown, message) {
		return true
	}
	before, names, ok := strings.Cut(message, about)
	if !ok || !strings.Contains(shown, strings.TrimSpace(before)) {
		return false
	}
	for _, s := range n.Sections {
		shown += "\n" + strings.Join(strings.Fields(strings.Join(s.Lines, " ")), " ")
	}
	shown += "\n" + strings.Join(n.Details, "\n")
	for _, name := range strings.Split(names, "; ") {
		if !strings.Contains(shown, name) {
			return false
		}
	}
	return true
}

// call shows the call itself.
func (p *drawing) call(n sdk.Notice) {
	if len(n.Sections) == 0 && len(n.Details) > 0 {
		p.section("call", callMark, sdk.Section{Lines: n.Details})
	}
	for _, s := range n.Sections {
		if s.Kind != sdk.KindSaid && s.Kind != kindBefore {
			p.section(s.Title, callMark, s)
		}
	}
}

// kindBefore is the kind of the sections that say what the session did before.
const kindBefore = "before"

func (p *drawing) before(n sdk.Notice) {
	for _, s := range n.Sections {
		if s.Kind == kindBefore {
			p.section(s.Title, callMark, s)
		}
	}
}

func (p *drawing) section(title, mark string, s sdk.Section) {
	p.blank()
	p.add(indent, title, Faint)
	for _, l := range s.Lines {
		style := Plain
		if s.Kind == "diff" && l != "" {
			style = map[byte]Style{'+': Added, '-': Removed}[l[0]]
		}
		p.add(mark, l, style)
		p.lines[len(p.lines)-1].SQL = s.Kind == "sql"
	}
}

// What stands around the agent's own words, at the edge where nothing of theirs can.
const (
	beginSaid = "-- the agent says: its word, not checked --"
	endSaid   = "-- end of what the agent says --"
)

// said shows what an agent says of itself, under the names that it has for it.
func (p *drawing) said(n sdk.Notice) {
	began := false
	for _, s := range n.Sections {
		if s.Kind != sdk.KindSaid {
			continue
		}
		if !began {
			began = true
			p.blank()
			p.add("", beginSaid, Faint)
		}
		below := ""
		if s.Title != "" && s.Title != sdk.TitleSaid {
			p.add(agentMark, s.Title+":", Faint)
			below = "  "
		}
		for _, l := range s.Lines {
			p.add(agentMark, below+l, Faint)
		}
	}
	if began {
		p.add("", endSaid, Faint)
	}
}

func (p *drawing) options(n sdk.Notice) {
	if len(n.Options) == 0 {
		return
	}
	p.blank()
	p.add(indent, "options", Faint)
	for i, o := range n.Options {
		effect := ""
		if o.Effect != "" {
			effect = " (" + o.Effect + ")"
		}
		if o.Other {
			effect = " (your own text, with --other)"
		}
		p.add(fmt.Sprintf("%3d. ", i+1), fmt.Sprintf("%-10s %s%s", o.ID, o.Label, effect), Plain)
	}
}

// Missing says what of the call a reader does not see, or nothing.
func Missing(n sdk.Notice) string { return missing(n, false) }

// missing says so too. Where the reasons are shown, they name what is known only
// once the call runs.
func missing(n sdk.Notice, reasons bool) string {
	c := n.Counts
	if reasons && len(n.Why) > 0 {
		c.Unresolved, c.Unbound = 0, 0
	}
	var parts []string
	for _, m := range []struct {
		n         int
		one, many string
	}{
		{c.Redacted, "value hidden by policy", "values hidden by policy"},
		{c.Cut, "character more", "characters more"},
		{c.Commands, "command not listed", "commands not listed"},
		{c.Unresolved, "word not known before it runs", "words not known before it runs"},
		{c.Unbound, "file whose content nobody was shown", "files whose content nobody was shown"},
	} {
		switch m.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+m.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", m.n, m.many))
		}
	}
	if len(parts) == 0 && n.Hidden > 0 {
		parts = append(parts, fmt.Sprintf("%d values or characters", n.Hidden))
	}
	if !n.Whole {
		parts = append(parts, "NOT THE WHOLE CALL AS IT IS: see holdgate show "+n.ID+" --full")
	}
	return strings.Join(parts, ", ")
}

// Word is what a person must type in full to approve: nothing special where
// the risk is low or medium and all is shown; where it is critical the name of what
// the request is about as well: its target, else its gate, else itself.
func Word(n sdk.Notice) string {
	switch n.Risk {
	case sdk.RiskLow, sdk.RiskMedium:
		if n.Hidden == 0 && n.Whole {
			return ""
		}
	case sdk.RiskCritical:
		return "approve " + Inert(cmp.Or(n.Call.Target, n.Gate, n.ID))
	}
	return "approve"
}

// short is the form of a digest that people compare by eye.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// Inert replaces what a terminal would obey. Holdgate has written it out
// already; nothing here rests on that.
func Inert(s string) string {
	if !strings.ContainsFunc(s, obeyed) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if obeyed(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// Text is the page as text of the given width in cells; 0 is any width.
func Text(lines []Line, width int, colour bool) string {
	var b strings.Builder
	for _, l := range Wrap(lines, width) {
		b.WriteString(l.String(colour) + "\n")
	}
	return b.String()
}

// Code reports whether the line is of the call itself, as it was written. Every
// other line is prose.
func (l Line) Code() bool { return l.Label == callMark }

// Heading reports whether the line is the name of the lines below it.
func (l Line) Heading() bool { return l.Label == indent }

// Said reports whether the line is the agent's own word.
func (l Line) Said() bool { return l.Label == agentMark }

// Frames reports whether the line stands around the agent's own words: to be left out
// where a place marks those as what they are.
func (l Line) Frames() bool { return l.Label == "" && (l.Text == beginSaid || l.Text == endSaid) }

// Wrap breaks lines that are wider than a screen. What goes on below keeps the
// mark of its line, or the space of its label, and never begins at the edge. Prose
// is broken between words, where it has any.
func Wrap(lines []Line, width int) (wrapped []Line) {
	for _, l := range lines {
		if width <= 0 || Cells(l.Label)+Cells(l.Text) <= width {
			wrapped = append(wrapped, l)
			continue
		}
		below := l.Label
		if below != callMark && below != agentMark {
			below = strings.Repeat(" ", max(Cells(l.Label), 2))
		}
		label := l.Label
		for part := range chunks(l.Text, max(width-Cells(below), 2), !l.Code()) {
			wrapped = append(wrapped, Line{Label: label, Text: part, Style: l.Style, SQL: l.SQL, More: l.More})
			label = below
		}
	}
	return wrapped
}
