package record

import (
	"path"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// longTarget is how long a text may be that a person types, in bytes.
const longTarget = 60

// Target names in a few words what the call is about, for a person to type: a folder, a
// branch, a table, what the worst of its effects is on, or another of the same kind whose
// name is known; else the program that it runs with what that is to do, its tool with the
// server, its gate, or the request itself. A tool's name alone says nothing: most calls of an
// agent have the same.
func (r Request) Target() string {
	tool := r.Call.Tool
	for _, e := range r.Briefing.Effects {
		if e.Kind != r.Briefing.Effects[0].Kind || e.Kind == holdgate.EffectRun {
			break // a lesser one may be harmless, and one that runs is told with what it is to do
		}
		if word := affected(e); word != "" && (tool == nil || word != tool.Name) {
			return word
		}
	}
	if tool != nil {
		if words := r.runs(); words != "" && words != tool.Name {
			return words
		}
		if words := holdgate.Visible(tool.Server + " " + tool.Name); tool.Server != "" && len(words) <= longTarget {
			return words
		}
	}
	if gate := holdgate.Visible(r.Gate); tool == nil && gate != "" && len(gate) <= longTarget {
		return gate
	}
	return r.ID
}

// affected is the one word that names what an effect is on, or nothing where it has none
// that can be typed.
func affected(e holdgate.Effect) string {
	word, _, _ := strings.Cut(e.Where, ", ")
	if e.What != "file" && e.What != "folder" { // "deployment api namespace=web"
		words := strings.Fields(word)
		word = ""
		for _, w := range words {
			if !strings.Contains(w, "=") {
				word = w
			}
		}
	}
	if word != strings.TrimSpace(word) || len(word) > longTarget || strings.ContainsAny(word, "⟨…") {
		return ""
	}
	return holdgate.Visible(word)
}

// plainWord is a word that stands for itself in a shell.
var plainWord = regexp.MustCompile(`^[\pL\pN_./@%+:,~-]+$`)

// runs is the most dangerous program of the call with its first operand, such as "terraform
// apply", or nothing where the briefing does not name it in plain words.
func (r Request) runs() string {
	words := strings.Fields(worstCommand(r.Briefing))
	if len(words) == 0 || !plainWord.MatchString(words[0]) {
		return ""
	}
	program := path.Base(words[0])
	for _, w := range words[1:] {
		if text := program + " " + w; !strings.HasPrefix(w, "-") && plainWord.MatchString(w) && len(text) <= longTarget {
			return holdgate.Visible(text)
		}
	}
	return holdgate.Visible(program)
}

// worstCommand is the first of the simple commands that a briefing lists, or the one that
// was written where it is a single one.
func worstCommand(b briefing.Briefing) string {
	written := ""
	for _, s := range b.Sections {
		switch {
		case s.Kind != briefing.KindCommand || len(s.Lines) == 0:
		case strings.HasPrefix(s.Title, briefing.TitleRuns):
			command, _, _ := strings.Cut(s.Lines[0], "   [") // what is noted of it
			return command
		case len(s.Lines) == 1 && !strings.ContainsAny(s.Lines[0], ";&|<>()$`\\'\"{}*?!#\n"):
			written = s.Lines[0]
		}
	}
	return written
}
