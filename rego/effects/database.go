package effects

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// database adds a client whose statements are not read.
func (w *work) database(c command) {
	if len(w.facts.SQL) > 0 {
		if !slices.ContainsFunc(w.facts.SQL, func(s holdgate.Statement) bool { e, _ := statement(s); return !e.Plain() }) {
			w.tells(c, c.Argv...)
		}
		return
	}
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "database", Where: c.database(), Undoable: holdgate.UndoableUnknown, Because: "database"}
	if w.documents(c, e) || w.fed(c, e) {
		return
	}
	a := c.act()
	by := " (" + line(c.Argv) + ")"
	clears := destroys(a.verb)
	if what, noun := c.onBase(); what != "" && len(c.Subcommand) == 0 {
		a.verb, a.nouns = what, noun
		if strings.HasPrefix(noun, "the ") { // options with a value come before it
			a.operands = a.operands[max(0, len(a.operands)-1):]
		}
	}
	switch {
	case strings.HasPrefix(a.verb, "flush"):
		e.Kind, e.Undoable, e.Says = holdgate.EffectDelete, holdgate.UndoableNo, "Deletes everything in the database"+by
		w.add(c, weighsLost+1, e)
	case destroys(a.verb), a.verb == "roll back":
		e.Kind, e.Undoable = holdgate.EffectDelete, holdgate.UndoableNo
		e.Says = spaced(does(a.verb), a.nouns, line(a.operands)) + " in a database" + by
		if strings.HasPrefix(a.nouns, "the ") {
			e.Says = spaced(does(a.verb), a.nouns, line(a.operands)) + by
		}
		if a.nouns == "" && len(a.operands) == 0 || a.nouns == "db" || a.nouns == "migrate" || a.verb == "downgrade" || a.verb == "roll back" {
			e.Says = does(a.verb) + " a database" + by
		}
		w.add(c, weighsLost, e)
	case strings.Contains(c.Program, "dump"), strings.HasSuffix(c.Program, "export"):
		w.add(c, weighsSome-1, holdgate.Effect{Kind: holdgate.EffectRead, What: "database", Where: c.database(), Undoable: holdgate.UndoableYes, Says: "Copies out what is in a database" + by})
	case a.verb != "" && readVerbs[a.verb]:
		w.add(c, weighsLeast, holdgate.Effect{Kind: holdgate.EffectRead, What: "database", Where: c.database(), Undoable: holdgate.UndoableYes, Says: "Reads from a database" + by})
	case a.verb != "" && a.nouns != "" && len(c.Subcommand) == 0:
		e.Says = spaced(does(a.verb), a.nouns, line(a.operands)) + by
		weight := weighsGrave
		if clears { // "pg_restore --clean"
			e.Undoable, weight = holdgate.UndoableNo, weighsLost
			e.Says += ", and deletes first what is there"
		}
		w.add(c, weight, e)
	case len(c.Subcommand) > 0:
		e.Says = "Changes a database: " + line(c.Argv)
		w.add(c, weighsGrave, e)
	default:
		e.Says = "Talks to a database, and what it says there is not in the call: " + line(c.Argv)
		w.add(c, weighsSome, e)
	}
}

// onBase takes the name of a program apart that is what it does to a database: "dropdb",
// "createuser", "pg_restore".
func (c command) onBase() (verb, noun string) {
	for ending, what := range map[string]string{"db": "the database", "user": "the user"} {
		if verb, ok := strings.CutSuffix(c.Program, ending); ok && isVerb(verb) {
			return verb, what
		}
	}
	for _, word := range words(c.bare()) {
		for _, verb := range []string{word, strings.TrimPrefix(word, "mongo"), strings.TrimPrefix(word, "mysql")} {
			if isVerb(verb) && !readVerbs[verb] && len(c.Operands) > 0 {
				return verb, "a database:"
			}
		}
	}
	return "", ""
}

// fed adds what a client reads its statements from: a file of which nobody was
// shown what is in it.
func (w *work) fed(c command, e holdgate.Effect) bool {
	var from []string
	for _, p := range w.facts.Paths {
		if p.Access == "read" && (slices.Contains(c.Unbound, p.Path) || c.Stdin == "file" && !c.names(p.Path)) {
			from = append(from, w.place(p))
			w.tells(c, p.Path)
		}
	}
	if len(from) == 0 || len(c.Subcommand) > 0 || strings.Contains(c.Program, "dump") {
		return false
	}
	e.Says = "Runs " + listing(from)
	if db := c.base(); db != "" {
		e.Says += " in the database " + quoted(db)
	}
	w.add(c, weighsGrave-2, e, "and nobody was shown what is in it")
	return true
}

// base is the database that a client names, in an option or by itself.
func (c command) base() string {
	if db := c.database(); db != "" {
		return db
	}
	if len(c.Operands) == 1 && !strings.ContainsAny(c.Operands[0], "$ /") {
		return c.Operands[0]
	}
	return ""
}

// Calls of a database of documents, in the language of its shell.
var (
	onCollection = lazyregexp.New(`\bdb\.(?:getCollection\(['"]([^'"]+)['"]\)|([A-Za-z_][\w.]*))\.([a-z]\w*)\(\s*(\{\s*\})?`)
	onDatabase   = lazyregexp.New(`\bdb\.([a-z]\w*)\(`)
)

// documents adds what code for the shell of a database of documents does.
func (w *work) documents(c command, e holdgate.Effect) bool {
	if !strings.HasPrefix(c.Program, "mongo") {
		return false
	}
	code := ""
	for i, word := range c.Argv {
		if i > 0 && c.Argv[i-1] == "--eval" {
			code = word
		} else if v, ok := strings.CutPrefix(word, "--eval="); ok {
			code = v
		}
	}
	by := ": " + quoted(short(code, 80))
	weight := 0
	said := func(at int, kind holdgate.EffectKind, undo holdgate.Undoable, says string) {
		if at > weight {
			weight, e.Kind, e.Undoable, e.Says = at, kind, undo, says+by
		}
	}
	for _, m := range onDatabase.FindAllStringSubmatch(code, -1) {
		if own := words(m[1]); isVerb(own[0]) && destroys(own[0]) {
			said(weighsLost+2, holdgate.EffectDelete, holdgate.UndoableNo, does(own[0])+" the whole database")
		}
	}
	for _, m := range onCollection.FindAllStringSubmatch(code, -1) {
		all, own := m[1]+m[2], words(m[3])
		switch which := map[bool]string{true: "every document", false: "documents"}[m[4] != "" && strings.Contains(m[3], "Many")]; {
		case own[0] == "drop":
			said(weighsLost+2, holdgate.EffectDelete, holdgate.UndoableNo, "Drops the collection "+quoted(all))
		case destroys(own[0]):
			said(weighsLost, holdgate.EffectDelete, holdgate.UndoableNo, does(own[0])+" "+which+" of "+quoted(all))
		case isVerb(own[0]) && !readVerbs[own[0]]:
			said(weighsGrave, holdgate.EffectChange, holdgate.UndoableNo, does(own[0])+" "+which+" in "+quoted(all))
		default:
			said(weighsLeast, holdgate.EffectRead, holdgate.UndoableYes, "Reads from "+quoted(all))
		}
	}
	switch {
	case weight > 0:
	case code == "":
		return false
	default:
		weight, e.Says = weighsSome+5, "Runs code in a database"+by
	}
	w.add(c, weight, e)
	return true
}
