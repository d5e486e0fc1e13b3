package web

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/stats"
)

// words are the functions of the templates. What an agent can have a word in goes
// through visible, but for what a briefing has made safe to show.
var words = template.FuncMap{
	"visible": visible,
	"lines":   visibleLines,
	"when":    func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
	"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"ago":     ago,
	"left":    func(now, t time.Time) string { return span(max(t.Sub(now), 0)) },
	"seconds": func(s float64) string { return span(time.Duration(s * float64(time.Second))) },
	"browser": browser,
	"short":   func(d holdgate.Digest) string { return d.Short() },
	"line":    lineClass,
	"query":   url.QueryEscape,
	"path":    url.PathEscape,
	"missing": missing,
	"own":     ownSections,
	"sections": func(b approvals.Briefing, kind string) []briefing.Section {
		return slices.DeleteFunc(slices.Clone(b.Sections), func(s briefing.Section) bool { return s.Kind != kind })
	},
	"question": question,
	"state": func(s any) string {
		if text := visible(s); text != "waiting_approval" {
			return text
		}
		return "waits for a person"
	},
	"who":     who,
	"asker":   asker,
	"door":    cameBy,
	"final":   func(undo string) bool { return undo == briefing.CannotBeUndone },
	"silence": silence,
	"can": func(list []string, way string) bool {
		return strings.Contains(","+strings.Join(list, ",")+",", ","+way+",")
	},
	"fraction": fraction,
	"join":     func(list []string, by string) string { return visible(strings.Join(list, by)) },
	"rowOf":    func(r row, now time.Time) map[string]any { return map[string]any{"Row": r, "Now": now} },
	"entriesOf": func(list []entryRow, now time.Time) map[string]any {
		return map[string]any{"List": list, "Now": now}
	},
	"diffClass": func(l string) string { return lineClass(briefing.Section{Kind: briefing.KindDiff}, l) },
	"rows":      func(s string) int { return min(strings.Count(s, "\n")+1, 20) },
	"most":      most,
	"isdiff":    func(s briefing.Section) bool { return s.Kind == briefing.KindDiff },
	"iscode":    func(s briefing.Section) bool { return s.Kind == briefing.KindCommand || s.Kind == briefing.KindSQL },
}

// browser names the browser and the system that a User-Agent header is of, as far as it is one
// of the usual ones; else it is the header.
func browser(agent string) string {
	name, system := "", ""
	for _, known := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if name == "" && strings.Contains(agent, known[0]) {
			name = known[1]
		}
	}
	for _, known := range [][2]string{{"Android", "Android"}, {"iPhone", "an iPhone"}, {"iPad", "an iPad"}, {"Windows", "Windows"}, {"Macintosh", "a Mac"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}} {
		if system == "" && strings.Contains(agent, known[0]) {
			system = known[1]
		}
	}
	switch {
	case agent == "":
		return "a browser"
	case name == "" || system == "" || strings.Contains(agent, "Headless"): // a program may drive it
		return visible(agent)
	}
	return name + " on " + system
}

// maxVisible is how much of a text a page shows where nothing says how much is left out, in bytes.
const maxVisible = 5000

// visible shows the beginning of any text, and everything that is in it.
func visible(v any) string {
	text, more := fmt.Sprint(v), ""
	if n := maxVisible; len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text, more = text[:n], "…"
	}
	return holdgate.Visible(text) + more
}

// visibleLines shows a text that may have lines.
func visibleLines(s string) []string {
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		lines = append(lines, holdgate.Visible(l))
	}
	return lines
}

// lineClass is the class of a line of a section.
func lineClass(s briefing.Section, l string) string {
	if s.Kind != briefing.KindDiff || l == "" {
		return ""
	}
	return map[byte]string{'+': "added", '-': "removed"}[l[0]]
}

// ago is how long something has been. A time that nobody wrote down is no time.
func ago(now, t time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "at a time that is not known"
	case d < 2*time.Second:
		return "now"
	default:
		return span(d) + " ago"
	}
}

// span is a length of time in its two greatest units.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// who names an agent and says how far the name can be trusted.
func who(a approvals.AgentRef) string {
	s := visible(a.ID) + " (its own word)"
	if a.Proven {
		s = visible(a.ID) + " (proven)"
	}
	switch a.Confinement {
	case "":
	case "unconfined":
		s += ", UNCONFINED"
	default:
		s += ", " + visible(a.Confinement) + " confinement"
	}
	return s
}

// asker says who asks, and how far that is proven.
func asker(r approvals.Request) string {
	name := visible(r.Agent.ID)
	switch program := r.Briefing.Place.Program; {
	case r.Agent.Proven:
		return who(r.Agent) + " asks."
	case program != "":
		name = program
	case r.Agent.ID == holdgate.AgentDefault:
		return "A program that gives no name asks."
	}
	return "A program that calls itself " + name + " asks. Nobody has proven which."
}

// cameBy says how a call came to Holdgate.
func cameBy(name string) string {
	words, ok := map[string]string{
		"base_url": "an answer of its model, which it asks through Holdgate", "forward": "Holdgate as its proxy", "transparent": "a connection that was led to Holdgate",
		"mcp": "an MCP server, which it asks through Holdgate", "stdio": "an MCP server that holdgate mcp started", "acp": "its editor, which it asks through Holdgate",
		"hook": "a hook, which it asks before it acts", "agents": "it asked Holdgate itself", "authzen": "a gateway that asks Holdgate", "ext_authz": "Envoy, which asks Holdgate",
	}[name]
	if !ok {
		return visible(name)
	}
	return words + " (" + name + ")"
}

// silence says what happens where nobody answers.
func silence(r approvals.Request) string {
	if r.OnTimeout == holdgate.TimeoutApprove.String() {
		return "it is APPROVED by itself"
	}
	return "it is denied"
}

// ownSections are those that show the call itself.
func ownSections(b approvals.Briefing) []briefing.Section {
	return slices.DeleteFunc(slices.Clone(b.Sections), func(s briefing.Section) bool { return s.Kind == briefing.KindSaid || s.Kind == briefing.KindBefore })
}

// question is the beginning of what an agent asks at a gate, in at most this many
// characters of one line, or nothing.
func question(r approvals.Request, most int) string {
	if r.Call.Gate == nil {
		return ""
	}
	text := []rune(strings.Join(strings.Fields(r.Call.Gate.Message), " "))
	if len(text) > most {
		return holdgate.Visible(string(text[:most-1])) + "…"
	}
	return holdgate.Visible(string(text))
}

// missing counts what of a call is not shown, one fact a line.
func missing(b approvals.Briefing) (list []string) {
	for _, m := range []struct {
		n         int
		one, many string
	}{
		{b.Counts.Redacted, "value is hidden by policy", "values are hidden by policy"},
		{b.Counts.Cut, "character is left out", "characters are left out"},
		{b.Counts.Commands, "command is not listed", "commands are not listed"},
		{b.Counts.Unresolved, "part of it is not known before it runs", "parts of it are not known before it runs"},
		{b.Counts.Unbound, "file is run whose content nobody was shown", "files are run whose content nobody was shown"},
	} {
		switch m.n {
		case 0:
		case 1:
			list = append(list, "1 "+m.one)
		default:
			list = append(list, fmt.Sprintf("%d %s", m.n, m.many))
		}
	}
	return list
}

// most is the greatest number of questions in a group, at least 1.
func most(list []stats.Group) int {
	n := 1
	for _, g := range list {
		n = max(n, g.Asked)
	}
	return n
}

// fraction is a share in percent.
func fraction(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%d %%", a*100/b)
}
