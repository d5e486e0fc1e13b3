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
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
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
	p.field(leftLabel, left+", then "+silence, style)
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
		switch f.Name {
		case placeProgram:
			agent += ", says it is " + f.Text
		case placeFor:
			agent += ", for " + f.Text
		}
	}
	p.field("agent", agent, style)
}

// Facts that stand beside the agent: for whom it works, and its program by its own word.
const (
	placeFor     = "for"
	placeProgram = "program"
)

// asker says where the call happens and for whom, and what else is known of both.
func (p *drawing) asker(n sdk.Notice) {
	for _, f := range n.Place {
		if f.Name != placeFor && f.Name != placeProgram {
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
