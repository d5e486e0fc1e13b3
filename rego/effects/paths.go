package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// paths adds what is read, written and deleted, alike ones together.
func (w *work) paths() {
	type kind struct {
		access, class string
		inside, self  bool
		as, on        string
	}
	var kinds []kind
	named := make(map[kind][]holdgate.Path)
	for _, p := range w.facts.Paths {
		if !p.Self && w.isTold(p.Path) || strings.HasPrefix(p.Clean, "/dev/") && p.Class != "" && p.Access != "delete" && slices.Contains(streams, p.Clean) {
			continue
		}
		if w.replaced(p) && p.Access == "delete" {
			continue
		}
		by := w.by(p)
		k := kind{p.Access, p.Class, p.Inside, p.Self, by.As, by.On}
		if named[k] == nil {
			kinds = append(kinds, k)
		}
		named[k] = append(named[k], p)
	}
	for _, k := range kinds {
		list := named[k]
		e, weight, note := w.files(k.access, list)
		w.add(command{Command: holdgate.Command{As: k.as, On: k.on}}, weight, e, note)
	}
}

// replaced reports whether the call writes a folder over what is there, as "unzip -o"
// does: the facts have it as written and as deleted.
func (w *work) replaced(p holdgate.Path) bool {
	has := func(access string) bool {
		return slices.ContainsFunc(w.facts.Paths, func(o holdgate.Path) bool { return o.Clean == p.Clean && o.Access == access })
	}
	return !w.facts.Impact.Recursive && has("write") && has("delete") && !slices.ContainsFunc(w.commands, func(c command) bool {
		return c.Class == "delete" || c.Program == "mv" || c.clears()
	}) && len(w.commands) > 0
}

// streams are files to which nothing happens.
var streams = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/urandom", "/dev/random"}

// by is the command that names a path, where one does.
func (w *work) by(p holdgate.Path) (by command) {
	for _, c := range w.commands {
		if (c.As != "" || c.On != "") && slices.ContainsFunc(c.Argv, func(word string) bool { return word == p.Path || strings.HasSuffix(word, "="+p.Path) }) {
			return c
		}
	}
	if !p.Inside && !path.IsAbs(p.Path) && !strings.HasPrefix(p.Path, "~") { // of a shell on another machine
		for _, c := range w.commands {
			if c.On != "" {
				return c
			}
		}
	}
	return by
}

// belongs says what a class of paths is.
var belongs = map[string]string{
	"secret":      "which holds secrets",
	"persistence": "which runs later by itself",
	"system":      "which belongs to the system",
}

// files is what is done to files of one kind, and what there is to know of them.
func (w *work) files(access string, list []holdgate.Path) (e holdgate.Effect, weight int, note string) {
	var names []string
	seen := make(map[string]bool)
	for _, p := range list {
		if n := w.place(p); !seen[n] {
			seen[n], names = true, append(names, n)
		}
	}
	e = holdgate.Effect{What: "file", Where: strings.Join(names, ", "), Undoable: holdgate.UndoableUnknown, Because: "git"}
	switch p := list[0]; access {
	case "delete":
		weight = w.deleted(&e, names, list)
		return e, weight, belongs[p.Class]
	case "write":
		e.Kind, e.Says, weight, note = holdgate.EffectWrite, "Writes "+listing(names), weighsLittle, belongs[p.Class]
		if found := w.search(); found != "" && len(list) == 1 && p.Path == "*" {
			e.Says = "Changes what " + found + " lists"
		}
		if slices.ContainsFunc(list, w.replaced) {
			e.Says = "Overwrites files in " + listing(names)
		}
		switch {
		case p.Self:
			weight, note = weighsMost-1, "by which Holdgate decides"
		case p.Class == "persistence":
			weight, e.Harm = weighsGrave+8, harmsLater
		case p.Class != "":
			weight = weighsGrave - 4
		case scratch(list):
			weight = weighsLeast + 2
		case !p.Inside:
			weight, note = weighsSome+3, "outside of the session's folder"
		}
		if !p.Inside {
			e.Because = "outside"
		}
	default:
		e.Kind, e.Says, weight, note = holdgate.EffectRead, "Reads "+listing(names), weighsLeast, belongs[p.Class]
		e.Undoable, e.Because = holdgate.UndoableYes, ""
		if p.Class == "secret" {
			e.Undoable, e.Because, weight = holdgate.UndoableNo, "seen", weighsGrave-2
		}
		if p.Class == "" && !p.Inside {
			weight += 4
		}
	}
	return e, weight, note
}

// deleted completes the effect of a deletion, and weighs it.
func (w *work) deleted(e *holdgate.Effect, names []string, list []holdgate.Path) (weight int) {
	e.Kind, e.Says, weight = holdgate.EffectDelete, "Deletes "+listing(names), weighsSome-1
	if w.facts.Impact.Recursive {
		e.What, weight = "folder", weighsGrave+2
		e.Says += map[bool]string{true: " and everything in it", false: " and everything in them"}[len(names) == 1]
	}
	if found := w.search(); found != "" && len(names) == 1 && !w.removes(list[0]) {
		e.Says = "Deletes files in " + names[0] + " and below: " + found
		if root, what, named := strings.Cut(names[0], "/**/"); named {
			if root == "." {
				root = "the session's folder"
			}
			e.Says = "Deletes " + what + " in " + root + " and below: " + found
		}
	}
	if len(list) == 1 && slices.ContainsFunc(w.commands, func(c command) bool { return c.clears() && slices.Contains(c.Argv, list[0].Path) }) {
		e.Says = "Deletes what is in " + names[0] + " and not where it is copied from"
	}
	if c := w.shreds(list[0]); c != "" {
		e.Says = does(c) + strings.TrimPrefix(e.Says, "Deletes")
		e.Undoable, e.Because, weight = holdgate.UndoableNo, "overwritten", weighsGrave+1
	}
	if len(names) == 1 && names[0] == "." {
		e.Says = "Deletes the session's folder and everything in it"
		if !w.removes(list[0]) {
			e.Says = strings.TrimSuffix("Deletes files in the session's folder and below: "+w.search(), ": ")
		}
	}
	if !list[0].Inside || slices.Contains(names, ".") {
		e.Undoable, e.Because = holdgate.UndoableNo, "outside"
		weight += 24
	}
	if scratch(list) {
		weight = weighsLittle
	}
	return weight
}

// shreds is the word of a program for a deletion of a path after which nothing brings it
// back.
func (w *work) shreds(p holdgate.Path) string {
	for _, c := range w.commands {
		if slices.Contains([]string{"shred", "srm", "wipe"}, c.Program) && slices.Contains(c.Argv, p.Path) {
			return "shred"
		}
	}
	return ""
}

// removes reports whether a command names what it removes.
func (w *work) removes(p holdgate.Path) bool {
	return slices.ContainsFunc(w.commands, func(c command) bool {
		return strings.HasPrefix(c.Program, "rm") && slices.Contains(c.Argv, p.Path)
	})
}

// search is the command that finds what is deleted or changed.
func (w *work) search() string {
	for _, c := range w.commands {
		if searches[c.Program] {
			return c.searched()
		}
	}
	return ""
}

// scratch reports whether all lie where things are not kept: the session's own folder is
// kept wherever it lies.
func scratch(list []holdgate.Path) bool {
	return !slices.ContainsFunc(list, func(p holdgate.Path) bool {
		return p.Inside || !strings.HasPrefix(p.Clean+"/", "/tmp/") && !strings.HasPrefix(p.Clean+"/", "/var/tmp/") && !strings.HasPrefix(p.Clean+"/", "/private/tmp/")
	})
}

// place is a path as a person reads it: from the session's folder where it lies
// inside, else from the root.
func (w *work) place(p holdgate.Path) string {
	if rel, ok := w.within(p.Clean); ok && p.Inside {
		return rel
	}
	return dotted(p.Clean)
}

// within is a place from the session's folder, where it lies inside of it.
func (w *work) within(clean string) (string, bool) {
	dir := w.facts.Dir
	if dir == "" || !path.IsAbs(clean) {
		return "", false
	}
	rel, ok := strings.CutPrefix(clean, strings.TrimSuffix(dir, "/"))
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	return dotted(strings.TrimPrefix(rel, "/")), true
}

// dotted marks a path that begins where the call does.
func dotted(p string) string {
	switch {
	case p == "":
		return "."
	case p == ".", strings.ContainsAny(p[:1], "/~.$"):
		return p
	}
	return "./" + p
}
