// Package briefing says what a held call would do, for the person who is to
// decide it.
//
// # What it is made from
//
// A [Briefing] is made once, when the call is held, from the call and from the
// facts that policy saw. What the agent says of its own call (the description
// of a command, the justification of an edit) is never in the summary and
// stands in a section of its own, [KindSaid]. It is the same data on every
// surface; nobody downstream has to understand a tool to show it.
//
// # Parts
//
// Summary is one line that says what happens ("Deletes ./build and everything
// in it"). Why lists what made policy ask: the rules and their reasons, then
// what is remarkable in the facts. Sections show the exact call: a command as
// it was written and the simple commands in it, an edit as a diff, SQL by
// statement, every other argument by name. Between them the sections hold every
// argument exactly once, an edited file by its title. The queue adds what the session did before
// ([KindBefore]).
//
// # What is missing is counted
//
// What a screen would hide or obey is written out ([holdgate.Visible]), and a
// line or section that is too long loses its middle, never its end, with the
// number of characters in its place. [Briefing.Whole] says whether a person who
// has read it has seen the whole call as it is; where it is false no surface
// offers to approve on the strength of the briefing. Where policy redacts a
// part of the call the facts are counted and not shown: they might say what it
// hides.
//
// The package does no I/O and never reads the files that a call names: what is
// in them has passed no redaction, and a briefing goes to disk and to channels.
package briefing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// A Briefing says in words what a person needs in order to decide. Every
// string in it is one line and safe to show.
type Briefing struct {
	Summary string `json:"summary"`
	// Undo says whether what the call does can be taken back, such as "cannot be
	// undone"; empty where the facts do not tell what it does.
	Undo string `json:"undo,omitempty"`
	// Effects are what the call does, the worst first; see [holdgate.Effect].
	Effects []holdgate.Effect `json:"effects,omitempty"`
	Why     []string          `json:"why,omitempty"` // why policy asks, the rule first
	Place   Place             `json:"place,omitzero"`
	// Sections show the call, in the order in which a person should read it.
	Sections []Section `json:"sections,omitempty"`
	// Details are the lines of Sections, for surfaces that know no sections;
	// those of the agent's own words say so.
	Details []string `json:"details,omitempty"`
	// Hidden counts what is not shown: values redacted and characters cut.
	Hidden int    `json:"hidden,omitempty"`
	Counts Counts `json:"counts,omitzero"`
	// Whole says that nothing of the call was cut, that its arguments could be
	// read, and that no character in it pretends to be something else. What
	// policy redacts is not missed.
	Whole bool `json:"whole"`
}

// A Place says where a call happens, and for what. Each is empty where it is not
// known.
type Place struct {
	Folder string `json:"folder,omitempty"`
	Branch string `json:"branch,omitempty"` // that is checked out there
	Host   string `json:"host,omitempty"`
	// Said is another folder, in which the agent says it is, and Program is its program by
	// its own word. Both come from its hook, and nobody has checked them.
	Said    string `json:"said,omitempty"`
	Program string `json:"program,omitempty"`
	// Person is who started the agent, where `holdgate run` did.
	Person string `json:"person,omitempty"`
	// Task is what the agent's user has asked it for, in their own words: the
	// beginning of the last message that they wrote, in quotes.
	Task string `json:"task,omitempty"`
}

// Counts say how much of a call a reader cannot know.
type Counts struct {
	Unresolved int `json:"unresolved,omitempty"` // words that are not known before the call runs
	Unbound    int `json:"unbound,omitempty"`    // files that it runs whose content nobody was shown
	Redacted   int `json:"redacted,omitempty"`   // values that policy hides
	Cut        int `json:"cut,omitempty"`        // characters that are left out
	Commands   int `json:"commands,omitempty"`   // simple commands that are not listed
}

// A Section is one part of the call.
type Section struct {
	Title string   `json:"title"`
	Kind  string   `json:"kind"`
	Lines []string `json:"lines"`
}

// The kinds of section.
const (
	KindCommand   = "command"   // a command line as it was written, or the simple commands in it
	KindDiff      = "diff"      // lines that begin with "+", "-" or " "
	KindSQL       = "sql"       // one statement a line
	KindArguments = "arguments" // everything else that the tool gets
	KindBefore    = "before"    // what the session did before, and what became of it
	KindSaid      = "agent_says"
)

// TitleRuns begins the title of the section that lists the simple commands of a call.
const TitleRuns = "what runs"

// titleSaid is the title of a section of the agent's own words that has no name.
const titleSaid = "the agent says"

// Flatten returns the sections' lines for a reader who knows no sections.
func Flatten(sections []Section) []string {
	var lines []string
	for _, s := range sections {
		switch s.Kind {
		case KindSaid:
			if s.Title != titleSaid {
				lines = append(lines, titleSaid+": "+s.Title+":")
			}
			for _, l := range s.Lines {
				lines = append(lines, titleSaid+": "+l)
			}
		case KindArguments:
			lines = append(lines, s.Lines...)
		default:
			if len(s.Lines) == 1 {
				lines = append(lines, s.Title+": "+s.Lines[0])
				continue
			}
			lines = append(lines, s.Title+":")
			for _, l := range s.Lines {
				lines = append(lines, "  "+l)
			}
		}
	}
	return lines
}

// Make briefs on a call that no longer has the values which the decision
// redacts; redacted is how many those were.
func Make(c holdgate.Call, redacted int, d holdgate.Decision) Briefing {
	return newBriefer(redacted, d).call(c).finish()
}

// Edited briefs on a call that a person changed, as [Make] does, and begins
// with what they changed. Before and after no longer have the values which the
// decision redacts.
func Edited(before, after holdgate.Call, editor string, redacted int, d holdgate.Decision) Briefing {
	b := newBriefer(redacted, d)
	if before.Tool != nil && after.Tool != nil {
		old, ok := members(before.Tool.Arguments)
		now, also := members(after.Tool.Arguments)
		if ok && also {
			b.section("changed by "+editor+" from what the agent asked for", KindDiff, changes(old, now))
		}
	}
	return b.call(after).finish()
}

// A briefer gathers a briefing.
type briefer struct {
	b     Briefing
	facts *holdgate.Facts // nil where there are none to use
	show  []string        // what the rule wants people to see besides the call
}

func newBriefer(redacted int, d holdgate.Decision) *briefer {
	b := &briefer{show: d.Hold.Show, b: Briefing{Hidden: redacted, Counts: Counts{Redacted: redacted}, Whole: true}}
	hidden := redacted > 0 && (d.Hides() || len(d.Redact) == 0) ||
		slices.ContainsFunc(d.Redact, func(p string) bool { return p != holdgate.RedactCredentials && !strings.HasPrefix(p, "/tool/") })
	if d.Facts != nil && !hidden {
		b.facts = d.Facts
	}
	b.why(d)
	b.effects()
	return b
}

// call adds what the call would do.
func (b *briefer) call(c holdgate.Call) *briefer {
	b.byRun(c.Agent)
	switch {
	case c.Result != nil:
		b.result(c)
	case c.Tool != nil:
		b.tool(c.Tool)
		b.definition(c.Tool.Learned)
	case c.Model != nil:
		b.model(c.Model)
	case c.MCP != nil:
		b.summary(asksServer(c.MCP))
	case c.HTTP != nil:
		if b.facts != nil && len(b.facts.Effects) > 0 {
			b.summary(worst(b.facts.Effects, ""))
		} else {
			b.summary(c.HTTP.Method + " " + c.HTTP.Host + c.HTTP.Path)
		}
		b.request(c.HTTP)
	case c.Gate != nil:
		b.gate(c.Gate)
	default:
		b.summary(string(c.Kind))
	}
	return b
}

// request shows what of an HTTP request does not fit its summary.
func (b *briefer) request(h *holdgate.HTTP) {
	var lines []string
	if h.Upgrade != "" {
		lines = append(lines, "becomes a WebSocket: what goes over it is not seen")
	}
	if h.Operation != "" {
		lines = append(lines, "operation: "+h.Operation)
	}
	if h.Query != "" {
		lines = append(lines, "query: "+h.Query)
	}
	if h.MethodOverride != "" {
		lines = append(lines, "asks the server to take it for "+h.MethodOverride)
	}
	if len(h.Unresolved) > 0 {
		lines = append(lines, "could be read in two ways: "+strings.Join(h.Unresolved, ", "))
	}
	if len(lines) > 0 {
		b.section("request", KindArguments, lines)
	}
	b.body(h.Body)
}

// body shows what a request carries, long lines in parts.
func (b *briefer) body(body *holdgate.HTTPBody) {
	if body == nil {
		return
	}
	title := fmt.Sprintf("body: %d bytes of %s", body.Size, cmp.Or(body.Type, "no named type"))
	if body.Concealed {
		b.b.Counts.Redacted++
		b.b.Hidden++
	}
	var lines []string
	if body.Text != "" {
		for line := range strings.SplitSeq(body.Text, "\n") {
			lines = append(lines, parts(line)...)
		}
	}
	b.whole(title, KindArguments, lines)
	if body.Rest > 0 {
		b.b.Counts.Cut += body.Rest
		rest := fmt.Sprintf("%d characters or bytes", body.Rest)
		if body.SHA256 != "" {
			rest += "; SHA-256 of the whole body: " + body.SHA256
		}
		b.section("not shown of the body", KindArguments, []string{rest})
	}
}

// parts are a line in parts of maxLine characters, so that none of it is left out.
func parts(line string) (list []string) {
	for {
		head, _ := cut(line, maxLine, maxLine, 0)
		list = append(list, head)
		if line = line[len(head):]; line == "" {
			return list
		}
	}
}

func (b *briefer) model(m *holdgate.Model) {
	b.summary(asksModel(m))
	var lines []string
	for _, s := range m.ServerTools {
		lines = append(lines, "runs at the provider: "+joined(s.Type, s.Name, s.URL))
	}
	lines = append(lines, filled("tools offered: ", m.Tools)...)
	b.section("request", KindArguments, lines)
}

// filled lists names in lines that are shown whole, each behind the words that say
// what they are.
func filled(words string, names []string) (lines []string) {
	for _, n := range names {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+len(", ")+len(n) <= maxLine {
			lines[last] += ", " + n
			continue
		}
		lines = append(lines, words+n)
	}
	return lines
}

func (b *briefer) tool(t *holdgate.Tool) {
	b.learned(t)
	args, ok := members(t.Arguments)
	if !ok {
		b.b.Whole = false // no two readers need agree on what it is
		if t.Arguments == nil {
			b.summary(t.Name + ": the arguments are no JSON object")
			b.section("what came in their place", KindArguments, strings.Split(t.ArgumentsRaw, "\n"))
			return
		}
		b.summary(t.Name)
		b.section("arguments", KindArguments, strings.Split(string(t.Arguments), "\n"))
		return
	}
	edits, rest := editsOf(t.Name, args)
	b.summary(b.summarise(t, args, edits))
	commands, rest := splitMembers(rest, commandKeys...)
	var said []member
	if len(commands) > 0 {
		said, rest = splitMembers(rest, append(saidKeys, "description")...)
	} else if len(edits) > 0 {
		said, rest = splitMembers(rest, saidKeys...)
	}
	for _, m := range commands {
		b.section(m.name, KindCommand, m.lines())
	}
	b.commands(commands)
	for _, e := range edits {
		b.section(b.titleOf(e), KindDiff, e.lines)
		rest = slices.DeleteFunc(rest, func(m member) bool { // the title says it
			return m.isText && m.text == e.path && slices.Contains(pathKeys, m.name)
		})
	}
	b.sql()
	b.section("arguments", KindArguments, listed(rest))
	b.section(titleSaid, KindSaid, listed(said))
}

// Arguments in which agents explain themselves. A description explains only
// where it stands beside a command; elsewhere it is what is written.
var saidKeys = []string{"justification", "explanation", "rationale", "reasoning"}

func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// finish counts what is hidden.
func (b *briefer) finish() Briefing {
	b.shows()
	b.b.Hidden += b.b.Counts.Cut
	b.b.Whole = b.b.Whole && b.b.Counts.Cut == 0 && b.b.Counts.Commands == 0
	b.b.Details = Flatten(b.b.Sections)
	return b.b
}
