package effects

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// moves adds what becomes of files: moved, copied, linked, made executable.
func (w *work) moves(c command) {
	if !slices.Contains([]string{"mv", "cp", "ln", "chmod"}, c.Program) {
		return
	}
	names := slices.DeleteFunc(slices.Clone(c.Argv[1:]), func(word string) bool { return strings.HasPrefix(word, "-") })
	switch {
	case len(names) < 2:
	case c.finder > 0 && c.Program == "chmod":
		e := holdgate.Effect{Kind: holdgate.EffectWrite}
		w.rights(c, &e, names)
		w.add(c, weighsLittle, e)
	case c.Program == "chmod" && len(names) == 2:
		if at, ok := w.ours(names[1]); ok {
			w.tells(c, names[1])
			w.add(c, weighsLittle, holdgate.Effect{Kind: holdgate.EffectWrite, What: "rights", Where: at, Undoable: holdgate.UndoableYes, Because: "rights", Says: "Changes the rights of " + quoted(at) + " to " + quoted(names[0])})
		}
	case c.Program == "ln" && len(names) == 2:
		if to, ok := w.ours(names[1]); ok {
			w.tells(c, names[1])
			w.add(c, weighsLittle, holdgate.Effect{Kind: holdgate.EffectWrite, What: "file", Where: to, Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Makes " + quoted(to) + " a link to " + quoted(names[0])})
		}
	case c.Program == "mv" || c.Program == "cp":
		w.carries(c, names)
	}
}

// carries adds files that are moved or copied, from wherever to wherever.
func (w *work) carries(c command, names []string) {
	last := len(names) - 1
	access := map[string]string{"mv": "delete", "cp": "read"}[c.Program]
	var from []holdgate.Path
	for _, name := range names[:last] {
		p, ok := w.named(name, access)
		if !ok {
			return
		}
		from = append(from, p)
	}
	to, ok := w.named(names[last], "write")
	if !ok {
		return
	}
	places := make([]string, len(from))
	weight, holds := weighsLittle, ""
	for i, p := range from {
		places[i] = w.place(p)
		if p.Class != "" {
			weight, holds = weighsGrave-2, belongs[p.Class]
		}
	}
	e := holdgate.Effect{Kind: holdgate.EffectWrite, What: "file", Where: w.place(to), Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Copies " + listing(places)}
	if c.Program == "mv" {
		e.Where = strings.Join(append(places, w.place(to)), ", ")
		e.Undoable, e.Because, e.Says = holdgate.UndoableYes, "moved", "Moves "+listing(places)
	}
	if holds != "" {
		e.Says += ", " + holds + ","
	}
	e.Says += " to " + thing(w.place(to))
	_, there, note := w.files("write", []holdgate.Path{to})
	if holds == belongs["secret"] || to.Class != "" || !to.Inside && !scratch([]holdgate.Path{to}) { // something may have been there
		e.Undoable, e.Because = holdgate.UndoableUnknown, "outside"
	}
	w.tells(c, names...)
	w.add(c, max(weight, there), e, note)
}

// named is the path that a word of a command is, of this access if there is one.
func (w *work) named(word, access string) (found holdgate.Path, ok bool) {
	for _, p := range w.facts.Paths {
		if p.Path == word && (!ok || p.Access == access) {
			found, ok = p, true
		}
	}
	return found, ok
}

// ours is where a word of a command lies, if that is an ordinary file of the
// project.
func (w *work) ours(word string) (string, bool) {
	i := slices.IndexFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Path == word })
	if i < 0 || w.facts.Paths[i].Class != "" || !w.facts.Paths[i].Inside {
		return "", false
	}
	return w.place(w.facts.Paths[i]), true
}
