package briefing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// An edit is what a call does to one file, or to one place in it.
type edit struct {
	path  string // as written; empty where the arguments name none
	lines []string
	whole bool // the file's content is replaced: the lines are all there will be
	patch bool // a patch in a format of its own, shown as it was written
}

// Names that the tools of common agents give to the parts of an edit.
var (
	pathKeys  = []string{"file_path", "path", "filename", "filePath", "target_file", "notebook_path"}
	oldKeys   = []string{"old_string", "old_str", "oldString", "oldText", "old_text"}
	newKeys   = []string{"new_string", "new_str", "newString", "newText", "new_text"}
	wholeKeys = []string{"content", "file_text", "contents"}
)

// editsOf finds the edits in a tool's arguments, and returns the arguments that
// they do not show.
func editsOf(tool string, args []member) (edits []edit, rest []member) {
	path, _ := find(args, pathKeys...)
	if e, rest, ok := replacement(args); ok {
		e.path = path
		return []edit{e}, rest
	}
	if list, rest, ok := replacements(args); ok {
		for i := range list {
			list[i].path = path
		}
		return list, rest
	}
	if lines, rest, ok := patchText(args); ok {
		return []edit{{path: path, lines: lines, patch: true}}, rest
	}
	name := strings.ToLower(tool)
	if i := text(args, wholeKeys...); i >= 0 && path != "" && (strings.Contains(name, "write") || strings.Contains(name, "create") || strings.Contains(name, "edit")) {
		return []edit{{path: path, lines: diff("", args[i].text), whole: true}}, slices.Delete(slices.Clone(args), i, i+1)
	}
	return nil, args
}

// replacement reads an edit that names the text that goes and the text that
// comes.
func replacement(args []member) (edit, []member, bool) {
	o, n := text(args, oldKeys...), text(args, newKeys...)
	if o < 0 || n < 0 {
		return edit{}, args, false
	}
	e := edit{lines: diff(args[o].text, args[n].text)}
	_, rest := splitMembers(args, args[o].name, args[n].name)
	return e, rest, true
}

// replacements reads a list of such edits. It is shown as JSON where one of
// them has more to it than the two texts.
func replacements(args []member) ([]edit, []member, bool) {
	list, rest := splitMembers(args, "edits")
	if len(list) != 1 {
		return nil, args, false
	}
	items, ok := objects(list[0].raw)
	if !ok {
		return nil, args, false
	}
	var edits []edit
	for _, item := range items {
		e, more, ok := replacement(item)
		if !ok {
			return nil, args, false
		}
		for _, l := range listed(more) {
			e.lines = append(e.lines, "  ("+l+")")
		}
		edits = append(edits, e)
	}
	return edits, rest, len(edits) > 0
}

// patchText finds a patch that is itself the text of an argument.
func patchText(args []member) (lines []string, rest []member, ok bool) {
	for i, m := range args {
		named := m.name == "patch" || m.name == "diff" || m.name == "input"
		if named && m.isText && (strings.Contains(m.text, "*** Begin Patch") || strings.Contains(m.text, "\n@@") || strings.HasPrefix(m.text, "@@") || strings.HasPrefix(m.text, "--- ")) {
			return strings.Split(m.text, "\n"), slices.Delete(slices.Clone(args), i, i+1), true
		}
		if fields, isObject := members(m.raw); isObject && m.name == "operation" {
			if d := text(fields, "diff"); d >= 0 {
				_, others := splitMembers(fields, "diff")
				others = append(slices.Delete(slices.Clone(args), i, i+1), others...)
				return strings.Split(fields[d].text, "\n"), others, true
			}
		}
	}
	return nil, args, false
}

// text is the index of the first argument that is text and has one of the
// names, or -1.
func text(args []member, names ...string) int {
	return slices.IndexFunc(args, func(m member) bool { return m.isText && slices.Contains(names, m.name) })
}

// titleOf names an edit in a heading.
func (b *briefer) titleOf(e edit) string {
	switch {
	case e.path == "":
		return "change"
	case e.whole:
		return "all that will be in " + b.absolute(e.path)
	}
	return "change of " + b.absolute(e.path)
}

// counts returns how many lines go and come.
func (e edit) counts() (gone, come int) {
	for _, l := range e.lines {
		switch {
		case strings.HasPrefix(l, "-"):
			gone++
		case strings.HasPrefix(l, "+"):
			come++
		}
	}
	return gone, come
}

// diff shows every line of both texts, those that go with "-", those that come
// with "+", the others with " ".
func diff(before, after string) (lines []string) {
	at := 0
	for _, e := range udiff.Lines(before, after) {
		lines = append(lines, signed(" ", before[at:e.Start])...)
		lines = append(lines, signed("-", before[e.Start:e.End])...)
		lines = append(lines, signed("+", e.New)...)
		at = e.End
	}
	lines = append(lines, signed(" ", before[at:])...)
	switch {
	case unterminated(after) && (before == "" || !unterminated(before)):
		lines = append(lines, `\ the new text does not end its last line`)
	case unterminated(before) && after != "" && !unterminated(after):
		lines = append(lines, `\ the old text did not end its last line`)
	}
	return lines
}

// unterminated reports whether the last line of s goes on.
func unterminated(s string) bool { return s != "" && !strings.HasSuffix(s, "\n") }

func signed(sign, s string) (lines []string) {
	for l := range strings.Lines(s) {
		lines = append(lines, sign+strings.TrimSuffix(l, "\n"))
	}
	return lines
}

// changes shows what differs between two lists of arguments.
func changes(old, now []member) (lines []string) {
	for _, o := range old {
		i := slices.IndexFunc(now, func(n member) bool { return n.name == o.name })
		switch {
		case i < 0:
			lines = append(lines, "- "+o.name+": "+string(o.raw))
		case string(o.raw) == string(now[i].raw):
		case o.isText && now[i].isText:
			lines = append(lines, named(o.name, near(diff(o.text, now[i].text)))...)
		case o.isText != now[i].isText:
			lines = append(lines, "- "+o.name+": "+string(o.raw), "+ "+o.name+": "+string(now[i].raw))
		default:
			lines = append(lines, named(o.name, near(diff(o.json(), now[i].json())))...)
		}
	}
	for _, n := range now {
		if !slices.ContainsFunc(old, func(o member) bool { return n.name == o.name }) {
			lines = append(lines, "+ "+n.name+": "+string(n.raw))
		}
	}
	return lines
}

// named puts an argument's name into the lines that show how it changed.
func named(name string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[:1] + " " + name + ": " + l[1:]
	}
	return out
}

// near keeps the lines of a diff that changed, and one on either side.
func near(lines []string) (kept []string) {
	changed := func(i int) bool { return i >= 0 && i < len(lines) && !strings.HasPrefix(lines[i], " ") }
	skipped := 0
	for i, l := range lines {
		if !changed(i-1) && !changed(i) && !changed(i+1) {
			skipped++
			continue
		}
		if skipped > 0 {
			kept = append(kept, fmt.Sprintf(" (%d lines stay)", skipped))
			skipped = 0
		}
		kept = append(kept, l)
	}
	if skipped > 0 {
		kept = append(kept, fmt.Sprintf(" (%d lines stay)", skipped))
	}
	return kept
}
