package desktop

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// Marks before every line of a call, and of what an agent says.
const (
	callMark  = "| "
	agentMark = "> "
)

// maxLabel bounds a button's label, in characters.
const maxLabel = 30

// title says in Holdgate's own words how dangerous a request is, how long there
// is and what silence does; or what has become of it.
func title(n sdk.Notice, now time.Time) string {
	if o := n.Outcome; n.Ended() {
		s := strings.ToUpper(n.Status)
		if o != nil && o.Decision == "timeout" {
			return s + ": nobody answered in time"
		}
		if o != nil && o.By != "" {
			s += " by " + o.By
		}
		return inert(s)
	}
	risk := "UNKNOWN"
	switch n.Risk {
	case sdk.RiskLow, sdk.RiskMedium, sdk.RiskHigh, sdk.RiskCritical:
		risk = strings.ToUpper(n.Risk)
	}
	if n.ExpiresAt.IsZero() {
		return risk + " RISK"
	}
	silence := "denied"
	if n.OnTimeout == sdk.Approve {
		silence = "APPROVED by itself"
	}
	left := n.Left(now).Truncate(time.Second)
	if left > 2*time.Minute {
		left = left.Truncate(time.Minute)
	}
	return fmt.Sprintf("%s RISK: %s left, until %s, then %s", risk, span(left), n.ExpiresAt.Local().Format("15:04:05"), silence)
}

// span is a time as people say it: without the units that are nothing.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// body is what stands below the title, in so many lines, and whether all of the
// call is in it.
func body(n sdk.Notice, lines, columns int) (_ []string, whole bool) {
	p := &paper{columns: columns}
	p.head(n)
	p.part()
	p.call(n)
	p.part()
	p.rest(n)
	head, call, rest := p.parts[0], p.parts[1], p.parts[2]
	if all := len(head) + len(call); all <= lines {
		room := lines - all
		if len(rest) > room {
			rest = append(rest[:max(room-1, 0):max(room-1, 0)], fmt.Sprintf("(%d lines more: holdgate show %s)", len(rest)-max(room-1, 0), n.ID))[:room]
		}
		return append(append(head, call...), rest...), true
	}
	gap := "holdgate show " + n.ID + " --full"
	if len(head) >= lines {
		return append(head[:lines-1:lines-1], "Not all is shown here: "+gap), false
	}
	shown := lines - len(head) - 1
	return append(append(head, call[:shown]...), fmt.Sprintf("%d lines more of it: %s", len(call)-shown, gap)), false
}

// paper gathers lines that are no wider than a desktop shows them.
type paper struct {
	columns int
	lines   []string
	parts   [][]string
}

// part ends a part. The last one is always there.
func (p *paper) part() {
	p.parts = append(p.parts, p.lines)
	p.lines = nil
}

// line adds a text, with the mark before each line that it takes.
func (p *paper) line(mark, text string) {
	for _, l := range page.Wrap([]page.Line{{Label: mark, Text: inert(text)}}, p.columns) {
		p.lines = append(p.lines, l.Label+l.Text)
	}
}

// field adds a text unless it is empty.
func (p *paper) field(name, text string) {
	if text != "" {
		p.line("", name+text)
	}
}

// head is what comes before the call.
func (p *paper) head(n sdk.Notice) {
	p.field("", n.Summary)
	agent := n.Agent.ID + " (its own word)"
	if n.Agent.Proven {
		agent = n.Agent.ID + " (proven)"
	}
	switch n.Agent.Confinement {
	case "":
	case "unconfined":
		agent += ", UNCONFINED"
	default:
		agent += ", " + n.Agent.Confinement + " confinement"
	}
	for _, f := range n.Place {
		if f.Name == "for" {
			agent += ", for " + f.Text
		}
	}
	if undo, _, _ := strings.Cut(n.Undo, ":"); undo != "" { // there is no room for why
		agent = undo + "; " + agent
	}
	p.line("", agent)
	p.field("NOT SHOWN: ", page.Missing(n))
	for _, w := range n.Warnings {
		p.field("WARNING: ", w)
	}
	p.field("EDITED: ", n.Edited)
	if n.Quorum > 1 {
		p.field(fmt.Sprintf("%d of %d have approved ", n.Votes, n.Quorum), strings.Join(n.Approved, ", ")+" ")
	}
	if n.Waiting > 0 {
		p.field("", page.MoreWait(n.Waiting))
	}
}

// call is the call itself, and what can be chosen.
func (p *paper) call(n sdk.Notice) {
	sections := n.Sections
	if len(sections) == 0 {
		sections = []sdk.Section{{Lines: n.Details}}
	}
	for _, s := range sections {
		if s.Kind == sdk.KindSaid || s.Kind == "before" { // those stand below
			continue
		}
		if len(sections) > 1 && s.Title != "" && s.Kind != "command" {
			p.line(callMark, s.Title+":")
		}
		for _, l := range s.Lines {
			p.line(callMark, l)
		}
	}
	for i, o := range n.Options {
		effect := ""
		if o.Effect != "" {
			effect = " (" + o.Effect + ")"
		}
		p.line(fmt.Sprintf("%d. ", i+1), o.Label+effect)
	}
}

// rest is what is shown where there is room.
func (p *paper) rest(n sdk.Notice) {
	for _, w := range n.Why {
		p.field("why: ", w)
	}
	for _, f := range n.Place {
		if f.Name != "for" {
			p.field(f.Name+": ", f.Text)
		}
	}
	p.field("", n.Closed)
	if n.Message != "" && n.Message != n.Reason {
		p.field("policy says: ", n.Message)
	}
	for _, s := range n.Sections {
		switch s.Kind {
		case sdk.KindSaid:
			p.said(s)
		case "before":
			p.line("", s.Title+":")
			for _, l := range s.Lines {
				p.line(callMark, l)
			}
		}
	}
	what := n.Call.Target
	if n.Call.Server != "" {
		what += " of " + n.Call.Server
	}
	p.line("", strings.Join([]string{what, n.Door, n.Digest[:min(len(n.Digest), 12)]}, ", "))
	p.part()
}

func (p *paper) said(s sdk.Section) {
	what := sdk.TitleSaid
	if s.Title != "" && s.Title != what {
		what += ", under " + s.Title
	}
	p.line("", what+", and nobody has checked:")
	for _, l := range s.Lines {
		p.line(agentMark, l)
	}
}

// escape is a body as the desktop is to show it. One that reads no markup may
// leave out what looks like a tag, so that sign is written out.
func escape(lines []string, markup bool) string {
	s := strings.Join(lines, "\n")
	if markup {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	}
	return strings.ReplaceAll(s, "<", "⟨U+003C⟩")
}

// short is a text of at most so many characters.
func short(s string, limit int) string {
	r := []rune(inert(s))
	if len(r) <= limit {
		return string(r)
	}
	return string(r[:limit-1]) + "…"
}

// inert replaces what a screen would obey. Holdgate has written it out
// already; nothing here rests on that.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
